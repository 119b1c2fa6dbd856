"""What changed around an onset, found among ordinary variation."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from monitor.detect.causes import AnswerFeatures, FoundChange, OnsetInterval, changes_around, words_of
from monitor.detect.causes.features import SPECS, Feature
from monitor.detect.causes.logged_answer import FeatureKey, Value

ONSET = datetime(2026, 11, 18, 9, 30, tzinfo=UTC)
AROUND = OnsetInterval(ONSET, ONSET - timedelta(hours=1), ONSET + timedelta(hours=1))
UNTIL = ONSET + timedelta(hours=20)
Values = Callable[[np.random.Generator, datetime], dict[FeatureKey, Value]]


def _answers(values: Values, seed: int = 0, days: int = 7) -> list[AnswerFeatures]:
    """Twenty an hour, two a conversation."""
    generator = np.random.default_rng(seed)
    begin = ONSET - timedelta(days=days, hours=2)
    times = [begin + timedelta(minutes=3 * n) for n in range(int((UNTIL - begin) / timedelta(minutes=3)))]
    return [AnswerFeatures(at, f"chat-{n // 2}", f"event-{n:06}", values(generator, at)) for n, at in enumerate(times)]


def _found(values: Values, seed: int = 0, days: int = 7) -> tuple[FoundChange, ...]:
    return changes_around(_answers(values, seed, days), AROUND, UNTIL)


def _latency(generator: np.random.Generator, at: datetime) -> dict[FeatureKey, Value]:
    """Ordinary: slower at noon and on some days."""
    of_day = 0.1 * np.sin(7.0 * at.toordinal())
    of_hour = 0.5 * np.sin(2 * np.pi * at.hour / 24)
    return {(Feature.LATENCY, ""): float(generator.lognormal(8 + of_day + of_hour, 0.5))}


def test_a_changed_model_is_named_with_its_time() -> None:
    def values(generator: np.random.Generator, at: datetime) -> dict[FeatureKey, Value]:
        return _latency(generator, at) | {(Feature.MODEL, "gpt"): "gpt-4o" if at < ONSET else "gpt-5"}

    (change,) = _found(values)
    assert (change.feature, change.subject, change.value_before, change.value) == (
        Feature.MODEL, "gpt", "gpt-4o", "gpt-5",
    )  # fmt: skip
    assert change.earliest <= ONSET <= change.latest
    assert change.earliest < change.at <= change.latest
    assert abs(change.at - ONSET) <= timedelta(minutes=3)
    assert words_of([change], ONSET) == "at 2026-11-18 09:30 UTC (at the onset): model of gpt gpt-4o to gpt-5"


def test_rhythms_of_days_and_differences_between_days_are_no_change() -> None:
    assert [_found(_latency, seed) for seed in range(10)] == [()] * 10


def test_dates_names_and_contexts_within_a_system_prompt_are_no_change() -> None:
    """A line that differs each day, each answer or each user, beside two that stay."""

    def values(generator: np.random.Generator, at: datetime) -> dict[FeatureKey, Value]:
        lines = ("rule", f"day {at.date()}", f"user {generator.integers(20)}", f"chunk {generator.integers(10**9)}")
        return {(Feature.SYSTEM_PROMPT, "gpt"): lines}

    assert _found(values) == ()


def test_a_line_of_such_a_system_prompt_that_changes_is_found() -> None:
    def values(generator: np.random.Generator, at: datetime) -> dict[FeatureKey, Value]:
        rule = "rule" if at < ONSET else "other rule"
        lines = (rule, f"day {at.date()}", f"user {generator.integers(20)}", f"chunk {generator.integers(10**9)}")
        return {(Feature.SYSTEM_PROMPT, "gpt"): lines}

    (change,) = _found(values)
    assert change.feature is Feature.SYSTEM_PROMPT
    assert change.earliest <= ONSET <= change.latest
    assert change.answer_before is not None
    assert change.answer_after is not None


def test_a_change_two_days_before_the_onset_is_not_its_cause() -> None:
    def values(generator: np.random.Generator, at: datetime) -> dict[FeatureKey, Value]:
        return {(Feature.MODEL, "gpt"): "gpt-4o" if at < ONSET - timedelta(days=2) else "gpt-5"}

    assert _found(values) == ()


@pytest.mark.parametrize(("hours", "told"), [(3, 1), (12, 0)])
def test_a_change_that_is_far_from_the_onset_is_not_told(hours: int, told: int) -> None:
    def values(generator: np.random.Generator, at: datetime) -> dict[FeatureKey, Value]:
        return {(Feature.MODEL, "gpt"): "gpt-4o" if at < ONSET - timedelta(hours=hours) else "gpt-5"}

    assert len(_found(values)) == told


def test_a_cause_stands_before_what_follows_from_it() -> None:
    """Fewer chunks are fewer tokens, and answers come sooner."""

    def values(generator: np.random.Generator, at: datetime) -> dict[FeatureKey, Value]:
        chunks = float(generator.integers(6, 10) if at < ONSET else generator.integers(2, 4))
        latency = float(generator.lognormal(6 + 0.2 * chunks, 0.2))
        tokens = 200 * chunks + float(generator.normal(0, 30))
        return {(Feature.CHUNKS, ""): chunks, (Feature.LATENCY, ""): latency, (Feature.PROMPT_TOKENS, ""): tokens}

    assert [change.feature for change in _found(values)] == [Feature.CHUNKS, Feature.LATENCY, Feature.PROMPT_TOKENS]


def test_answers_of_one_conversation_count_once() -> None:
    """A single long conversation in another language is no change of the traffic's languages."""

    def values(generator: np.random.Generator, at: datetime) -> dict[FeatureKey, Value]:
        return {(Feature.LANGUAGE, ""): "uk" if generator.random() < 0.05 else "en"}

    answers = _answers(values)
    chat = [
        AnswerFeatures(ONSET + timedelta(minutes=2 * n), "long", f"long-{n}", {(Feature.LANGUAGE, ""): "uk"})
        for n in range(500)
    ]
    assert changes_around([*answers, *chat], AROUND, UNTIL) == ()
    many = [AnswerFeatures(one.at, one.event_id, one.event_id, one.values) for one in chat]
    assert [change.value for change in changes_around([*answers, *many], AROUND, UNTIL)] == ["uk"]


def test_one_day_before_is_enough_for_a_clear_change() -> None:
    def values(generator: np.random.Generator, at: datetime) -> dict[FeatureKey, Value]:
        return {(Feature.MODEL, "gpt"): "gpt-4o" if at < ONSET else "gpt-5"}

    assert len(_found(values, days=1)) == 1


@pytest.mark.parametrize("answers", [[], [AnswerFeatures(ONSET, "a", "a", {(Feature.MODEL, ""): "x"})]])
def test_too_little_names_nothing(answers: list[AnswerFeatures]) -> None:
    assert changes_around(answers, AROUND, UNTIL) == ()


def test_the_order_in_which_answers_are_read_does_not_matter() -> None:
    def values(generator: np.random.Generator, at: datetime) -> dict[FeatureKey, Value]:
        return {(Feature.MODEL, "gpt"): "gpt-4o" if at < ONSET else "gpt-5"} | _latency(generator, at)

    answers = _answers(values)
    assert changes_around(answers[::-1], AROUND, UNTIL) == changes_around(answers, AROUND, UNTIL)


def test_features_are_listed_from_the_likeliest_cause_on_with_weights_of_at_most_one() -> None:
    """A later one of two alike is said first only where it is much clearer."""
    weights = [spec.weight for spec in SPECS.values()]
    assert weights == sorted(weights, reverse=True)
    assert all(0 < weight <= 1 for weight in weights)
    assert SPECS.keys() == set(Feature)
