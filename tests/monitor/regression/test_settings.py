from datetime import timedelta
from math import exp

import pytest
from pydantic import ValidationError

from monitor.regression import RegressionSettings


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
