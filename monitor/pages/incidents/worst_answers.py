"""The worst answers since an onset that are shown: of refusals, other bad answers, and well scored wrong ones, some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz import utils

from lake.queries.answer_filter import AnswerFilter
from lake.queries.answer_search import find_answers
from lake.queries.failures import REFUSAL_CHARACTERS
from lake.queries.metric_scores import metric_scores, texts_of_answers
from lake.queries.ratings import AnswerRating
from lake.queries.worst_answers.compared_answers import first_rows
from lake.spec.case_vocabulary import CASE_PASSED
from lake.spec.schemas import deployment_of
from lake.spec.texts.refusals import refusal_in
from lake.tables.lake import Lake

WORST, LOOKED_AT = 10, 300
"""Answers that are shown, and those among which they are looked for."""
CHARACTERS = 300
"""Characters of a question that are compared."""
_ENOUGH = 20_000


@dataclass(frozen=True)
class WrongAnswers:
    """Ids of answers that are wrong, whatever their score: people disliked them, or they failed their case.

    With those that people disliked comes the newest comment, empty where there is none.
    """

    disliked: Mapping[str, str] = field(default_factory=dict)
    failing: frozenset[str] = frozenset()

    @property
    def ids(self) -> frozenset[str]:
        """All of them."""
        return self.failing.union(self.disliked)


@dataclass(frozen=True)
class WorstAnswers:
    """Rows of `metric_scores` that are shown, and ids: of those that refuse, and of those that are wrong.

    `good` are the ids of those with scores that are no worse than the reference; empty where that is not known.
    """

    rows: pa.Table
    refusing: frozenset[str]
    wrong: WrongAnswers
    good: frozenset[str] = frozenset()


def read_wrong(lake: Lake, name: str, since: datetime, until: datetime, version_of_cases: str | None) -> WrongAnswers:
    """Read which answers of a time are wrong; of those that people disliked the latest 50."""
    deployment = deployment_of(name)
    disliked = find_answers(lake, AnswerFilter(deployment, since, until, rating=AnswerRating.DISLIKED)).rows
    failing: list[str] = []
    if version_of_cases is not None:
        rows = metric_scores(lake, deployment, CASE_PASSED, version_of_cases, since, until, _ENOUGH)
        failing = rows.filter(pc.equal(rows["value"], 0.0))["event_id"].to_pylist()
    return WrongAnswers({one.event_id: next(iter(one.comments), "") for one in disliked}, frozenset(failing))


def worst_of_each_kind(
    lake: Lake, name: str, rows: pa.Table, reference: float | None, wrong: WrongAnswers, *, lowest: bool
) -> WorstAnswers:
    """Choose among rows of `metric_scores`: in turn one that is worse than the reference and no refusal, a refusal
    that is worse, and one that is wrong although its score is good; where these are too few, the worst of the rest.

    Each question comes once, with the worst of its answers of a kind; one without a question is like no other.
    """
    rows = _candidates(rows, reference, wrong, lowest=lowest)
    texts = texts_of_answers(lake, deployment_of(name), rows, ("question", "answer"), REFUSAL_CHARACTERS)
    ids = rows["event_id"].to_pylist()
    refusing = frozenset(one for one in ids if refusal_in(texts.get(one, {}).get("answer") or "") is not None)
    is_worse = _is_worse(rows["value"], reference, lowest=lowest).to_pylist() if reference is not None else None
    kinds: tuple[dict[str, int], ...] = ({}, {}, {}, {})
    for place, one in enumerate(ids):
        is_bad = is_worse is None or is_worse[place]
        kind = (1 if one in refusing else 0) if is_bad else 2 if one in wrong.ids else 3
        question = utils.default_process((texts.get(one, {}).get("question") or "")[:CHARACTERS])
        kinds[kind].setdefault(question or f"\0{place}", place)
    in_turn = chain.from_iterable(zip_longest(*(kind.items() for kind in kinds[:3])))
    chosen: dict[str, int] = {}
    for question, place in [*(one for one in in_turn if one is not None), *kinds[3].items()]:
        chosen.setdefault(question, place)
    shown = rows.take(pa.array(list(chosen.values())[:WORST], pa.int64()))
    good = frozenset(one for one, worse in zip(ids, is_worse or [True] * len(ids), strict=True) if not worse)
    return WorstAnswers(shown, refusing, wrong, good)


def _candidates(rows: pa.Table, reference: float | None, wrong: WrongAnswers, *, lowest: bool) -> pa.Table:
    """Return the worst rows, of more that are worse than a reference some of each rank, and the wrong ones.

    The worst come first. Else many refusals, which all have the worst score, would leave no place for anything else.
    """
    ranked = first_rows(rows, rows.num_rows, lowest=lowest)
    places = np.arange(min(LOOKED_AT, ranked.num_rows))
    if ranked.num_rows > LOOKED_AT and reference is not None:
        bad = int(pc.sum(_is_worse(ranked["value"], reference, lowest=lowest)).as_py() or 0)
        half = LOOKED_AT // 2
        more = np.linspace(half, max(bad, LOOKED_AT) - 1, LOOKED_AT - half).astype(int)
        places = np.concatenate([places[:half], more])
    is_wrong = pc.is_in(ranked["event_id"], pa.array(sorted(wrong.ids), pa.string()))
    found = np.flatnonzero(np.asarray(is_wrong))[:LOOKED_AT]
    return ranked.take(pa.array(np.union1d(places, found), pa.int64()))


def _is_worse(values: Any, reference: float, *, lowest: bool) -> Any:
    return pc.less(values, reference) if lowest else pc.greater(values, reference)
