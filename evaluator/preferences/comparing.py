"""Logged answers to the same questions, compared by a judge; what it says is kept, and not asked for again."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from evaluator.judge_binding import is_own_model
from evaluator.judges.exchange import NOT_FOR_GOOD, Spend
from evaluator.preferences.judging import Preference, TwoAnswers, preferences, version_of
from evaluator.preferences.logged_answers import DrawnPair, drawn_pairs, texts_of
from lake.delta_log.change import LostRaceError
from lake.queries.preferences import LoggedAnswers, Preferences, kept_preferences
from lake.spec.preference_tables import PREFERENCES
from lake.tables.lake import Lake
from lake.tables.pass_transaction import PassTransaction
from lake.tables.table import Table

if TYPE_CHECKING:
    from evaluator.judges.blocking_client import BoundJudge


@dataclass(frozen=True)
class ComparedAnswers:
    """What came of a comparison of logged answers.

    `questions` have an answer on both sides; of these `pairs` were drawn. `known` of the pairs were compared before by
    the same judge. `own_model` counts the answers that are left out as they are of the judge's own model.
    `without_reply` counts, by reason, the pairs of which nothing is kept: they are asked about again the next time.
    `preferences` are of the other pairs, None where there are none. `cost` is in the currency of the judge's prices.
    """

    questions: int
    pairs: int
    known: int
    own_model: int
    without_reply: Mapping[str, int]
    preferences: Preferences | None
    calls: int
    cost: float


def compare_answers(
    lake: Lake, earlier: LoggedAnswers, later: LoggedAnswers, judge: BoundJudge, most: int
) -> ComparedAnswers:
    """Ask a judge which answers it prefers, of at most so many pairs, and keep what it says in one commit.

    Raises LostRaceError where another comparison, or an erasure, has written meanwhile: then nothing is kept. Replies
    of the judge are in the file of its calls, so the next try does not pay for them again.
    """
    table = _made(lake.table(PREFERENCES, later.deployment))
    # Begun before the answers are read: what is erased meanwhile is not written.
    transaction = PassTransaction(table)
    version = version_of(judge.settings)
    drawn = drawn_pairs(
        lake, earlier, later, most, lambda model, deployment: is_own_model(judge.settings, model, deployment)
    )
    rows = kept_preferences(lake, earlier, later)
    known = {_ids(row): row["value"] for row in rows if row["judge_version"] == version}
    before = [known[key] for one in drawn.pairs if (key := (one.earlier.event_id, one.later.event_id)) in known]
    new = [one for one in drawn.pairs if (one.earlier.event_id, one.later.event_id) not in known]
    pairs, texts = _with_texts(lake, earlier, later, new)
    said = list(zip(pairs, preferences(judge, texts), strict=True))
    kept = [(pair, one) for pair, one in said if one.reason not in NOT_FOR_GOOD]
    if kept:
        of_all = {
            "deployment": later.deployment,
            "earlier_deployment": earlier.deployment,
            "judge": judge.name,
            "judge_version": version,
            "judged_at": datetime.now(UTC),
        }
        transaction.append(PREFERENCES.rows([of_all | _row(pair, one, version) for pair, one in kept]))
    spend = sum((one.spend for _, one in said), Spend())
    return ComparedAnswers(
        drawn.questions,
        len(before) + len(pairs),
        len(before),
        drawn.own_model,
        Counter(str(one.reason) for _, one in said if one.reason in NOT_FOR_GOOD),
        Preferences.of([*before, *(one.value for _, one in kept)]),
        spend.calls,
        spend.cost,
    )


def _made(table: Table) -> Table:
    """Make the table where there is none: an erasure tells writers of what is there alone."""
    if table.version() is None:
        # Another comparison may make it at the same time.
        with suppress(LostRaceError):
            PassTransaction(table).append(PREFERENCES.schema.empty_table())
    return table


def _with_texts(
    lake: Lake, earlier: LoggedAnswers, later: LoggedAnswers, pairs: Sequence[DrawnPair]
) -> tuple[list[DrawnPair], list[TwoAnswers]]:
    """Return the pairs that still have both texts, and these."""
    old = texts_of(lake, earlier, [one.earlier for one in pairs])
    new = texts_of(lake, later, [one.later for one in pairs])
    found = [one for one in pairs if one.earlier.event_id in old and one.later.event_id in new]
    texts = ((old[one.earlier.event_id], new[one.later.event_id]) for one in found)
    # No reference answer: it may be made of one of the two.
    return found, [TwoAnswers(question, "", before, after) for (_, before), (question, after) in texts]


def _ids(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["earlier_event_id"], row["event_id"]


def _row(pair: DrawnPair, said: Preference, version: str) -> dict[str, Any]:
    earlier, later = pair.earlier, pair.later
    key = " ".join((earlier.event_id, later.event_id, version))
    return {
        "preference_id": hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32],
        "event_id": later.event_id,
        "date": later.date,
        "chat_id": later.chat_id,
        "earlier_event_id": earlier.event_id,
        "earlier_date": earlier.date,
        "earlier_chat_id": earlier.chat_id,
        "question_key": pair.question_key,
        "value": said.value,
        "reason": said.reason,
        "cost": said.spend.cost,
    }
