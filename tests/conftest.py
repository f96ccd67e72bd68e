import pytest
from hypothesis import HealthCheck, settings

from frames import MAKERS

slow_is_fine = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
settings.register_profile("kohort", deadline=None, max_examples=40, suppress_health_check=slow_is_fine)
settings.register_profile("deep", deadline=None, max_examples=500, suppress_health_check=slow_is_fine)
settings.register_profile("stress", deadline=None, max_examples=8, suppress_health_check=slow_is_fine)
settings.load_profile("kohort")


@pytest.fixture(params=MAKERS.values(), ids=MAKERS)
def native_frame(request):
    """Makes a dataframe of each kind from a mapping of lists."""
    return request.param
