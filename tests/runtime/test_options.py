import pytest

from headrace.core.errors import ConfigError
from headrace.runtime.options import Options


@pytest.mark.parametrize("value", [0, -1, 1.5, "many", True])
@pytest.mark.parametrize("name", ["max_batch", "rate"])
def test_limits_must_be_whole_and_positive(name, value):
    with pytest.raises(ConfigError, match=f"{name} must be a whole number above 0"):
        Options(**{name: value})


def test_a_rate_makes_one_batch_a_second():
    assert (Options().per_batch, Options().trigger) == (500_000, {"processingTime": "0 seconds"})
    limited = Options(rate=100)
    assert (limited.per_batch, limited.trigger) == (100, {"processingTime": "1 second"})
    assert Options(rate=100, max_batch=30).per_batch == 30
