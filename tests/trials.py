"""How large a trial is: a few cases in `make test`, all of them in `make test-all`."""

import os

from hypothesis import settings

QUICK = "KOHORT_QUICK_TESTS"


def trials(few, all_of_them):
    """One of two sizes; `conftest.py` says in the environment which tests are run."""
    return few if os.environ.get(QUICK) else all_of_them


few_examples = settings(max_examples=trials(4, settings().max_examples))
"""For random cases that are costly to try."""
