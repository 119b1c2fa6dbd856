"""Signals that come after a case was made of their answer: they may withdraw it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lake.queries.case_versions import EVALUATOR
from lake.spec.case_vocabulary import CaseStatus

_DOUBTED = "signals speak against this answer: they now come to {folded:.2f}"
_WITHDRAWN = "withdrawn: the signals of its answer now come to {folded:.2f}, and {least:g} is needed"
_BACK = "proposed again: the signals of its answer now come to {folded:.2f}"


def changes_by_signals(
    cases: Iterable[Mapping[str, Any]], folded: Mapping[str, float], least: float
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give by case_id the columns that change for what the signals of the cases' answers now come to.

    `folded` is that by case_id, `least` what a proposed case needs. A proposed case with less is rejected, and proposed
    again where its signals come to enough again. What a person accepted stays, and gets a note where its signals come
    to less than 0; what a person rejected stays as it is.
    """
    for case in cases:
        now = folded.get(case["case_id"])
        if now is not None and (columns := _columns(case, now, least)):
            yield case["case_id"], columns


def _columns(case: Mapping[str, Any], folded: float, least: float) -> dict[str, Any]:
    is_withdrawn = case["status"] == CaseStatus.REJECTED and case["status_by"] == EVALUATOR
    if case["status"] == CaseStatus.PROPOSED and folded < least:
        return {"status": CaseStatus.REJECTED, "note": _WITHDRAWN.format(folded=folded, least=least)}
    if is_withdrawn and folded >= least:
        return {"status": CaseStatus.PROPOSED, "note": _BACK.format(folded=folded)}
    # Its last version is the evaluator's where this has been said, and the person's again once they have decided.
    if case["status"] == CaseStatus.ACCEPTED and folded < 0 and case["updated_by"] != EVALUATOR:
        return {"note": _DOUBTED.format(folded=folded)}
    return {}
