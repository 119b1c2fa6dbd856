"""The class that made the others fall, and when it is named."""

from datetime import UTC, datetime, timedelta
from math import nan

import numpy as np
import pytest

from monitor.detect.regression import Detector, Observation, RegressionSettings
from monitor.detect.regression.observations import Observations
from monitor.detect.regression.segments.others import is_of, names_with_worst_class
from monitor.detect.regression.segments.partition import BEYOND, SegmentPartition

START = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
PARTITION = SegmentPartition(("language",), ((("language", "en"),),))


def conversations(**values: list[float]) -> Observations:
    """Values by language, at one time."""
    return Observations.of(
        [
            Observation(START, value, 1.0, (("language", BEYOND if language == "beyond" else language),))
            for language, of_it in values.items()
            for value in of_it
        ]
    )


@pytest.mark.parametrize(
    ("found", "mean_before", "last"),
    [
        (conversations(en=[0.1] * 90, uk=[0.2] * 6, pl=[0.8] * 9), 0.8, "other, mostly language uk"),
        (conversations(en=[0.1] * 90, uk=[0.2] * 4), 0.8, "other"),
        (conversations(uk=[0.5] * 20, pl=[0.5] * 20, fr=[0.5] * 20), 0.8, "other"),
        (conversations(uk=[0.9] * 20, pl=[0.9] * 9), 0.8, "other"),
        (conversations(beyond=[0.1] * 20), 0.8, "other"),
        (conversations(uk=[0.9] * 20, pl=[0.1] * 9), nan, "other, mostly language uk"),
        (conversations(en=[0.1] * 20), 0.8, "other"),
    ],
    ids=["lost most", "too few", "all alike", "none lost", "too many values", "no mean before", "no others"],
)
def test_the_class_that_lost_most_is_named(found: Observations, mean_before: float, last: str) -> None:
    names = names_with_worst_class(PARTITION, found, mean_before)
    assert names == ("language en", last)
    assert is_of(last, "other")
    assert not is_of(last, "language en")


def test_traffic_that_nothing_divides_has_no_class_to_name() -> None:
    """Then all of it is the others, and a class of it would be without a word."""
    assert names_with_worst_class(SegmentPartition(), conversations(uk=[0.1] * 20), 0.8) == ("other",)


@pytest.mark.parametrize("seed", range(3))
def test_a_fall_of_a_class_that_is_too_small_for_a_segment_names_it(seed: int) -> None:
    """Five languages have 4.8 % each, and one of them falls by .5: the alert says which."""
    random = np.random.default_rng(seed)
    languages = np.array(["en", "de", "fr", "es", "uk", "pl", "cs", "it", "pt"])
    shares = np.array([0.19] * 4 + [0.048] * 5)
    means = np.array([0.9, 0.8, 0.7, 0.6] + [0.75] * 5)
    settings = RegressionSettings(false_alarm_every=300 * HOUR, reference_observations=200, reference_time=0 * HOUR)
    detector, fallen = Detector(settings), means - np.where(languages == "uk", 0.5, 0.0)
    for hour in range(600):
        of_hour = fallen if hour >= 100 else means
        drawn = random.choice(len(languages), 20, p=shares)
        found = detector.update(
            [
                Observation(START + hour * HOUR, float(random.beta(4 * mean, 4 - 4 * mean)), 1.0, (("language", name),))
                for name, mean in zip(languages[drawn], of_hour[drawn], strict=True)
            ]
        )
        if found:
            break
    assert found
    assert found.most_worsened
    assert found.most_worsened.name in ("language uk", "other, mostly language uk")
