import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings

slow_is_fine = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
settings.register_profile("kohort", deadline=None, max_examples=40, suppress_health_check=slow_is_fine)
settings.register_profile("deep", deadline=None, max_examples=500, suppress_health_check=slow_is_fine)
settings.load_profile("kohort")


def _to_pandas(columns):
    return pd.DataFrame({name: pd.Series(values) for name, values in columns.items()})


@pytest.fixture(params=[_to_pandas, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def native_frame(request):
    """Makes a dataframe of each kind from a mapping of lists."""
    return request.param


def as_lists(frame):
    """Any kind of dataframe as a mapping of lists; NaN and other missing values are None."""
    table = frame.to_arrow() if isinstance(frame, pl.DataFrame) else frame
    table = pa.Table.from_pandas(table, preserve_index=False) if isinstance(table, pd.DataFrame) else table
    return table.to_pydict()
