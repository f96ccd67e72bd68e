"""Errors of Spark, told without what they may quote. No Spark is started here."""

from __future__ import annotations

import pytest

from kohort.errors import InfeasibleError, InputError

pyspark_errors = pytest.importorskip("pyspark.errors", reason="pyspark is not installed")

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[PATH_NOT_FOUND] Path does not exist: file:/x", "no such path"),
        (
            "org.apache.hadoop.security.AccessControlException: Permission denied: user=secret",
            "permission denied",
        ),
        ("java.io.IOException: File file:/x/part-0 does not exist", "no such path"),
        ("KeyError: 'Field \"secret\" does not exist in schema'", "could not read the table \\("),
        ("java.lang.OutOfMemoryError: Java heap space", "out of memory"),
        ("ExecutorLostFailure (executor 1 exited caused by one of the running tasks)", "executors were lost"),
        ("[CAST_INVALID_INPUT] The value 'secret' cannot be cast", "could not read the table"),
    ],
)
def test_only_the_kind_of_an_error_is_told(text, words):
    from kohort.tables.spark_session import spark_failures

    with pytest.raises(InputError, match=words) as told, spark_failures("read the table"):
        raise pyspark_errors.PySparkException(text)
    assert "secret" not in str(told.value)
    assert "Nothing was written" in str(told.value)


def test_an_error_of_a_worker_is_raised_here():
    from kohort.tables.spark_session import spark_failures

    text = "Traceback ...\nkohort.errors.InfeasibleError: k = 5 is impossible.\n\tat org.apache"
    with pytest.raises(InfeasibleError, match="k = 5 is impossible"), spark_failures("solve"):
        raise pyspark_errors.PySparkException(text)
