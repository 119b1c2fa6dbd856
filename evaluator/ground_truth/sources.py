"""The answer that a case was made of, among several that have the id by which the case names it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from evaluator.answers import identity

AnswerT = TypeVar("AnswerT")


def case_id_of(deployment: str | None, event_id: str) -> str:
    """Give the id of the case that a pass makes of an answer."""
    return identity(deployment or "", event_id)


def source_of(
    case: Mapping[str, Any], answers: Sequence[AnswerT], event_id_of: Callable[[AnswerT], str]
) -> AnswerT | None:
    """Choose the answer that a case (`case_id`, `deployment`) was made of; None where there are none.

    It is the one whose case has this id, else the first of them.
    """
    own = [one for one in answers if case_id_of(case["deployment"], event_id_of(one)) == case["case_id"]]
    return next(iter(own or answers), None)
