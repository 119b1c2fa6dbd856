from datetime import timedelta
from math import exp

import pytest
from pydantic import ValidationError

from monitor.detect.limits import LimitSettings
from monitor.detect.regression import RegressionSettings


def test_threshold_is_the_number_of_batches_between_false_alarms() -> None:
    """An alarm of a stream with hourly batches needs as much evidence as a month has hours."""
    assert exp(RegressionSettings().log_threshold) == pytest.approx(720)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"batch": timedelta(days=40)}, "longer than batch"),
        ({"tolerance": 1.0}, "tolerance"),
        ({"reference_observations": 1}, "reference_observations"),
        ({"tolerence": 0.1}, "tolerence"),
    ],
)
def test_a_setting_that_cannot_be_kept_is_named(given: dict[str, object], named: str) -> None:
    """A setting that makes no sense, or that does not exist, is an error with its name."""
    with pytest.raises(ValidationError, match=named):
        RegressionSettings.model_validate(given)


@pytest.mark.parametrize(
    "given", ["15m", "0.25h", "900s", "900", 900, 900.0, "PT15M", "00:15:00", timedelta(minutes=15)]
)
def test_a_length_of_time_is_written_as_elsewhere(given: object) -> None:
    """Units, seconds, as text too, and ISO 8601 are the same; in limits too."""
    assert RegressionSettings.model_validate({"batch": given, "grace": given}).batch == timedelta(minutes=15)
    assert LimitSettings.model_validate({"window": given}).window == timedelta(minutes=15)


def test_a_length_of_time_that_cannot_be_is_named() -> None:
    """Bounds hold for what is written with a unit, and a unit that there is not is an error."""
    for given in ("0s", "15x"):
        with pytest.raises(ValidationError, match="batch"):
            RegressionSettings.model_validate({"batch": given})
    with pytest.raises(ValidationError, match="window"):
        LimitSettings.model_validate({"window": "30s"})
