"""Cases of the first version, which took any question as it was sent: they get the one that was meant, or go stale."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pyarrow.dataset as ds

from evaluator.answers import DeploymentTables
from evaluator.ground_truth.facts import EXTRACTOR
from lake.queries.answer_rows import CASE_QUESTION_COLUMNS, case_question
from lake.queries.ground_truth.case_sources import source_rows
from lake.queries.ground_truth.case_versions import EVALUATOR, newest_versions, next_version
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.case_vocabulary import USABLE_STATUS, CaseStatus
from lake.tables.pass_transaction import PassTransaction

TOOK_ANY_QUESTION = "sentences/1"
"""`ground_truth.extractor` of cases whose question may be a follow-up."""

_GONE = "its answer is no longer in the log, or others have its id: whether its question stood by itself is unknown"
_UNKNOWN = "its question continues a conversation that is not known"
_RENEWED = "its question was a follow-up: it has the question that was meant, or is compared in its conversation alone"
_CHECKED = "its question stands by itself"


def renew_old_cases(tables: DeploymentTables, now: datetime) -> int:
    """Write a new version of each usable case of the first version, in one commit; return how many are stale now.

    A case keeps its id and its facts. Raises LostRaceError where another evaluator has just changed the table.
    """
    transaction = PassTransaction(tables.truth)
    rows = newest_versions(tables.truth.read(["case_id", "version", "extractor", "status"])).to_pylist()
    old = [row["case_id"] for row in rows if row["extractor"] == TOOK_ANY_QUESTION and row["status"] in USABLE_STATUS]
    if not old:
        return 0
    cases = newest_versions(tables.truth.read(where=ds.field("case_id").isin(old))).to_pylist()
    asked = source_rows(tables.logs, cases, CASE_QUESTION_COLUMNS)
    renewed = [next_version(case, _changes(case, asked.get(case["case_id"])), EVALUATOR, now) for case in cases]
    transaction.append(GROUND_TRUTH.rows(renewed))
    return sum(case["status"] == CaseStatus.STALE for case in renewed)


def _changes(case: Mapping[str, Any], source: Mapping[str, Any] | None) -> dict[str, Any]:
    if case["source_response_id"] is not None and source is None and case["status"] != CaseStatus.ACCEPTED:
        return {"status": CaseStatus.STALE, "note": _GONE}
    # A person has put the question of a case in other words, or written the case.
    if source is None or case["question"] != source["question"]:
        return {"extractor": EXTRACTOR, "note": _CHECKED}
    meant = case_question(source)
    if meant is None:
        return {"status": CaseStatus.STALE, "note": _UNKNOWN}
    is_same = meant.text == case["question"] and meant.conversation_hash is None
    note = _CHECKED if is_same else _RENEWED
    question = {"question": meant.text, "conversation_hash": meant.conversation_hash}
    return {**question, "source_date": source["date"], "extractor": EXTRACTOR, "note": note}
