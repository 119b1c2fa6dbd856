"""Facts of cases that a judge names in the place of those that words gave, and questions that it makes stand alone."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from evaluator.answers import ANSWER_COLUMNS, DeploymentTables, LoggedAnswer, answers, with_late_contexts
from evaluator.ground_truth.judged_facts import Good, JudgedFacts, extractor_of, judged_facts
from evaluator.judges.exchange import TRANSIENT, JudgeError, Spend
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import TEXT, Prompt, object_of
from evaluator.metrics.language.numbers import missing_numbers, numbers_in
from lake.queries.answer_rows import IS_ANSWER
from lake.queries.ground_truth.case_sources import source_rows
from lake.queries.ground_truth.case_versions import EVALUATOR, next_version, read_cases
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.case_vocabulary import CaseStatus
from lake.tables.pass_transaction import PassTransaction

if TYPE_CHECKING:
    from evaluator.judges.blocking_client import BoundJudge

logger = logging.getLogger(__name__)

_STANDALONE = Prompt.read("standalone_question", object_of(question=TEXT))
_MOST_MESSAGES, _MOST_CHARACTERS, _LONGEST_QUESTION = 10, 2_000, 500
_STANDS = "its question was a follow-up: the judge wrote it so that it stands by itself"
_UNSUPPORTED = (
    "judge {judge} finds nothing in the contexts that supports the answer; accept the case if it is right all the same"
)
_NAMED = "{count} facts named by judge {judge}; {dropped} of its citations stood nowhere and were dropped"


@dataclass
class Extraction:
    """What came of asking for facts: cases with new facts, those without and why, facts, dropped citations, spend.

    `unsupported` are the cases that went stale: the judge finds nothing in the contexts that supports their answer.
    """

    cases: int = 0
    unsupported: int = 0
    facts: int = 0
    dropped: int = 0
    left: Counter[str] = field(default_factory=Counter)
    spend: Spend = field(default_factory=Spend)


NO_ANSWER_LEFT = "its answer is no longer in the log, or others have its id"
NO_CONTEXTS = "its answer has no contexts"
NO_FACTS = "the judge named no fact that stands in its contexts"


class NewFacts:
    """Asks about the proposed cases whose facts a judge has not named, some a pass, each once in a process.

    A case about which it says nothing of use keeps the facts that the words of its answer gave. One whose answer it
    finds without support goes stale.
    """

    def __init__(self, most: int = 20) -> None:
        self._most = most
        self._tried: set[tuple[str, str]] = set()
        self._seen: dict[str, int | None] = {}

    def extract(self, tables: DeploymentTables, judge: BoundJudge, now: datetime) -> Extraction:
        """Ask about the cases of a deployment. Raises LostRaceError where another has just changed the table."""
        version = tables.truth.version()
        if version is None or self._seen.get(tables.deployment) == version:
            return Extraction()
        name, transaction = tables.deployment, PassTransaction(tables.truth)
        new = [one for one in lacking(read_cases(tables.truth), judge) if (name, one["case_id"]) not in self._tried]
        if not new:
            self._seen[name] = version
            return Extraction()
        some = new[: self._most]
        made = _extracted(tables, transaction, judge, some, EVALUATOR, now)
        # What a judge may say later is asked again: only these do not count as tried.
        if not made.left.keys() & {str(reason) for reason in TRANSIENT}:
            self._tried |= {(name, one["case_id"]) for one in some}
        if made.left:
            text = "no facts of %d cases of deployment %r by judge %r: %s; they keep those of their words"
            reasons = ", ".join(f"{count} {reason}" for reason, count in made.left.items())
            logger.warning(text, made.left.total(), name, judge.name, reasons, extra={"deployment": name})
        return made


def lacking(cases: Iterable[Mapping[str, Any]], judge: BoundJudge) -> list[Mapping[str, Any]]:
    """Return the proposed cases made of answers whose facts this judge, by this prompt, has not named."""
    extractor = extractor_of(judge)
    return [
        case
        for case in cases
        if case["status"] == CaseStatus.PROPOSED
        and case["updated_by"] == EVALUATOR
        and case["source_response_id"] is not None
        and case["extractor"] != extractor
    ]


def extract_facts(
    tables: DeploymentTables, judge: BoundJudge, cases: Sequence[Mapping[str, Any]], who: str, now: datetime
) -> Extraction:
    """Ask a judge for the facts of these cases, and write their next versions in one commit.

    Where a question needs its conversation, the judge is asked for one that stands by itself first; if it gives none,
    the case stays with its conversation. A case goes stale where the judge says that nothing supports its answer, and
    keeps its facts where none of those that it names stands in the contexts. Nothing that was paid is paid
    again where this is cut off: replies are kept.

    Raises LostRaceError where another has just changed the table; the cases are then as they were.
    """
    transaction = PassTransaction(tables.truth)
    current = {case["case_id"]: case for case in read_cases(tables.truth)}
    wanted = [current[case["case_id"]] for case in cases if case["case_id"] in current]
    return _extracted(tables, transaction, judge, wanted, who, now)


def _extracted(
    tables: DeploymentTables,
    transaction: PassTransaction,
    judge: BoundJudge,
    cases: Sequence[Mapping[str, Any]],
    who: str,
    now: datetime,
) -> Extraction:
    """Do what `extract_facts` says, with cases that were read after the transaction began."""
    made = Extraction()
    sources = _sources(tables, cases)
    asked: list[tuple[Mapping[str, Any], LoggedAnswer]] = []
    for case in cases:
        source = sources.get(case["case_id"])
        if source is None or not source.contexts:
            made.left[NO_ANSWER_LEFT if source is None else NO_CONTEXTS] += 1
            continue
        asked.append((case, source))
    follow_ups = [case for case, _ in asked if case["conversation_hash"] is not None]
    alone, made.spend = standalone_questions(tables, judge, follow_ups)
    asked = [(_standing(case, alone), answer) for case, answer in asked]
    good = [Good(one["question"], one["answer"], answer.contexts or ()) for one, answer in asked]
    rows = []
    for (case, answer), found in zip(asked, judged_facts(judge, good) if good else (), strict=True):
        made.spend += found.spend
        made.dropped += found.dropped
        made.cases += bool(found.facts)
        made.facts += len(found.facts)
        made.unsupported += found.is_unsupported
        if not found.facts and not found.is_unsupported:
            made.left[str(found.reason or NO_FACTS)] += 1
            if case["case_id"] not in alone:
                continue
        columns = _columns(answer, found, judge)
        rows.append(next_version(case, columns | _note_of(case, alone, columns), who, now))
    if rows:
        transaction.append(GROUND_TRUTH.rows(rows))
    return made


def _standing(case: Mapping[str, Any], alone: Mapping[str, str]) -> Mapping[str, Any]:
    """Return a case with its question as the judge wrote it, if it did."""
    question = alone.get(case["case_id"])
    return case if question is None else {**case, "question": question, "conversation_hash": None}


def _note_of(case: Mapping[str, Any], alone: Mapping[str, str], columns: Mapping[str, Any]) -> dict[str, str]:
    notes = [_STANDS] if case["case_id"] in alone else []
    return {"note": "; ".join([*notes, *([columns["note"]] if columns else [])])}


def _columns(source: LoggedAnswer, found: JudgedFacts, judge: BoundJudge) -> dict[str, Any]:
    """Return the columns that change: the facts, or that there are none; no column where the judge did not say."""
    if found.is_unsupported:
        return {"status": CaseStatus.STALE, "note": _UNSUPPORTED.format(judge=judge.name)}
    if not found.facts:
        return {}
    contexts, ids = source.contexts or [], source.context_ids or []
    places = sorted({fact.chunk for fact in found.facts})
    chunk_of = {place: chunk for chunk, place in enumerate(places)}
    return {
        "facts": [fact.text for fact in found.facts],
        "citations": [
            {"statement": fact.statement, "chunk": chunk_of[fact.chunk], "start": fact.start, "end": fact.end}
            for fact in found.facts
        ],
        "context": [contexts[place] for place in places],
        "context_ids": [ids[place] if place < len(ids) else None for place in places],
        "extractor": extractor_of(judge),
        "note": _NAMED.format(count=len(found.facts), judge=judge.name, dropped=found.dropped),
    }


def _sources(tables: DeploymentTables, cases: Sequence[Mapping[str, Any]]) -> dict[str, LoggedAnswer]:
    """Read the answers that cases were made of, with contexts that came late, by `case_id`."""
    rows = source_rows(tables.logs, cases)
    if not rows:
        return {}
    events = sorted({row["event_id"] for row in rows.values()})
    days = pa.array({row["date"] for row in rows.values()}, pa.date32())
    where = IS_ANSWER & ds.field("date").isin(days) & ds.field("event_id").isin(events)
    found = {
        answer.event_id: answer
        for some in answers(tables.logs.read(ANSWER_COLUMNS, where))
        for answer in with_late_contexts(tables, some)
    }
    return {case_id: found[row["event_id"]] for case_id, row in rows.items() if row["event_id"] in found}


def standalone_questions(
    tables: DeploymentTables, judge: BoundJudge, cases: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, str], Spend]:
    """Ask a judge for the questions of these cases, and return them by `case_id`, with what it took.

    The judge sees the last ten messages before the question. A question with a number that nobody said is dropped; so
    is one of more than 500 characters.
    """
    sources = source_rows(tables.logs, cases, ["request_body"])
    bodies = {case_id: row["request_body"] for case_id, row in sources.items()}
    asked = [(case, earlier) for case in cases if (earlier := _messages_before(bodies.get(case["case_id"])))]
    requests = (
        _STANDALONE.request(fenced("message", *earlier), fenced("question", case["question"]))
        for case, earlier in asked
    )
    found, spend = dict[str, str](), Spend()
    for (case, earlier), reply in zip(asked, judge.ask_all(requests) if asked else (), strict=True):
        spend += reply.spend
        question = "" if isinstance(reply, JudgeError) else " ".join(reply.parsed["question"].split())
        said = [number for text in (*earlier, case["question"]) for number in numbers_in(text)]
        if question and len(question) <= _LONGEST_QUESTION and not missing_numbers(numbers_in(question), said):
            found[case["case_id"]] = question
    return found, spend


def _messages_before(body: str | None) -> list[str]:
    """Return the texts of the messages before the last one; none where they cannot be read."""
    try:
        messages = json.loads(body or "{}").get("messages") or []
        texts = [(one["role"], one["content"]) for one in messages[:-1]]
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return []
    said = [f"{role}: {text[:_MOST_CHARACTERS]}" for role, text in texts if isinstance(text, str) and text.strip()]
    return said[-_MOST_MESSAGES:]
