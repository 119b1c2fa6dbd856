"""Findings of judges about a whole turn or conversation, read from `scores.details`: goals, intents, topics, turns.

Details may be of any version or writer: what does not have the expected form counts as absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from lake.queries.answer_details import AnswerScore
from monitor.pages.answers.findings import ScoredAnswer, by_judge, count_of, latest, list_of, text_of


class OutcomeKind(StrEnum):
    """What a line is about."""

    GOAL = "goal"
    INTENT = "intent"
    TOPIC = "topic"
    TURNS = "turns"


@dataclass(frozen=True)
class Outcome:
    """A goal, an intent, a topic or some turns, and what the judge found of it in words."""

    kind: OutcomeKind
    verdict: str
    is_bad: bool
    text: str


@dataclass(frozen=True)
class Outcomes:
    """What one judge found; what several metrics share once."""

    score: AnswerScore
    judge: str | None
    title: str
    lines: tuple[Outcome, ...]


def outcomes_in(answer: ScoredAnswer) -> list[Outcomes]:
    """Return what judges found of the turn that the answer ends, and of its conversation."""
    found: list[Outcomes] = []
    for score in latest(answer):
        for judge, details in by_judge(score):
            for title, lines in _found(score, details):
                if lines and not any((one.judge, one.lines) == (judge, lines) for one in found):
                    found.append(Outcomes(score, judge, title, lines))
    return found


def _found(score: AnswerScore, details: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Outcome, ...]]]:
    yield "What the person wanted", tuple(_goal(score, details))
    yield "Topics", tuple(_topics(details))
    yield "The conversation", tuple(_conversation(details))


def _goal(score: AnswerScore, details: Mapping[str, Any]) -> Iterator[Outcome]:
    goal, end_state, reason = (text_of(details.get(name)) for name in ("goal", "end_state", "reason"))
    # Of one judge of several it is that one's value.
    value = details.get("value", score.value)
    if goal is None or not isinstance(value, int | float):
        return
    is_reached = value >= 0.5
    ended = f" At the end: {end_state}" if end_state else ""
    because = f" ({reason})" if reason else ""
    yield Outcome(
        OutcomeKind.GOAL, "reached" if is_reached else "not reached", not is_reached, f"{goal}{ended}{because}"
    )


def _topics(details: Mapping[str, Any]) -> Iterator[Outcome]:
    for one in list_of(details.get("topics")):
        given = one if isinstance(one, Mapping) else {}
        topic, allowed, answered = text_of(given.get("topic")), given.get("allowed"), given.get("answered")
        if topic is None or not isinstance(allowed, bool) or not isinstance(answered, bool):
            continue
        if allowed:
            verdict = "answered" if answered else "its own, and not answered"
        else:
            verdict = "not its own, and answered" if answered else "not its own, and not answered"
        yield Outcome(OutcomeKind.TOPIC, verdict, allowed is not answered, topic)


def _conversation(details: Mapping[str, Any]) -> Iterator[Outcome]:
    for one in list_of(details.get("intents")):
        given = one if isinstance(one, Mapping) else {}
        intent, met = text_of(given.get("intent")), given.get("met")
        if intent is not None and isinstance(met, bool):
            yield Outcome(OutcomeKind.INTENT, "met" if met else "not met", not met, intent)
    turns, left_out = count_of(details.get("turns")), count_of(details.get("left_out"))
    for name, verdict in (("forgot", "forgot what was said"), ("repeats", "repeated itself")):
        numbers = [number for one in list_of(details.get(name)) if (number := count_of(one)) is not None]
        if numbers and turns:
            text = f"{_turns(numbers)} of {turns}{f'; {left_out} turns were not read' if left_out else ''}"
            yield Outcome(OutcomeKind.TURNS, verdict, is_bad=True, text=text)


def _turns(numbers: Sequence[int]) -> str:
    return f"turn{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
