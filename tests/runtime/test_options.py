from datetime import timedelta

import pytest

from headrace.core.errors import ConfigError
from headrace.runtime.options import Options


@pytest.mark.parametrize("value", [0, -1, 1.5, "many", True])
@pytest.mark.parametrize("name", ["max_batch", "rate"])
def test_limits_must_be_whole_and_positive(name, value):
    with pytest.raises(ConfigError, match=f"{name} must be a whole number above 0"):
        Options(**{name: value})


def test_a_rate_makes_one_batch_a_second():
    assert (Options().per_batch, Options().trigger) == (500_000, {"processingTime": "0 milliseconds"})
    limited = Options(rate=100)
    assert (limited.per_batch, limited.trigger) == (100, {"processingTime": "1000 milliseconds"})
    assert Options(rate=100, max_batch=30).per_batch == 30


def test_batches_that_may_wait_are_as_much_larger():
    assert Options(every="10 seconds").trigger == {"processingTime": "10000 milliseconds"}
    both = Options(rate=100, every="10 seconds")
    assert (both.per_batch, both.trigger) == (1_000, {"processingTime": "10000 milliseconds"})
    assert Options(rate=100, every="50 ms").per_batch == 100


@pytest.mark.parametrize("every", ["-1 second", timedelta(seconds=-1), "2 days", 5, "soon"])
def test_a_time_between_batches_that_makes_no_sense_is_refused(every):
    with pytest.raises(ConfigError, match=r"every must be|is not a time span"):
        Options(every=every)
