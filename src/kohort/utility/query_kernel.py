"""COUNT queries over distinct rows: the inner loop of the query error."""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel


@kernel
def answer_counts(shares, start, columns, values, counts):
    """The expected answer of each query: the sum over rows of their count and the shares of their values.

    Query q looks at the columns columns[q] (-1: none); value v of its j-th column satisfies it with the
    share shares[start[q, j] + v]. O(queries * rows * columns), less where a share is 0.
    """
    answers = np.zeros(len(columns))
    for q in range(len(columns)):
        total = 0.0
        for row in range(len(values)):
            share = float(counts[row])
            for j in range(columns.shape[1]):
                column = columns[q, j]
                if column >= 0:
                    share *= shares[start[q, j] + values[row, column]]
                    if share == 0.0:
                        break
            total += share
        answers[q] = total
    return answers
