"""Cases that answers are compared with: which one, and how it was found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lake.queries.answer_rows import CaseQuestion
from lake.queries.ground_truth.cases import Case, CaseBook
from lake.spec.case_vocabulary import CaseStatus, ReferenceMatch
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.table import Table

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
LEAVE = "How many days of leave do I have?"


@dataclass(frozen=True)
class Asked:
    """An answer that is compared."""

    question: str = LEAVE
    conversation: str | None = None
    documents: tuple[str, ...] = ("a", "b")
    event_id: str = "e"
    response_id: str | None = "r"
    response_ids: tuple[str, ...] = ()
    requested_at: datetime = NOON

    @property
    def case_question(self) -> CaseQuestion:
        return CaseQuestion(self.question, self.conversation)


CASE = Case("c", CaseQuestion(LEAVE), frozenset("ab"), (), "30", None, 0.5, CaseStatus.PROPOSED)


@pytest.fixture
def logs(tmp_path: Path) -> Table:
    """The log with one answer, asked for at noon."""
    table = Lake(str(tmp_path)).table(PARSED_LOGS, "hr")
    row = {"event_id": "source", "response_id": "r-source", "requested_at": NOON, "date": NOON.date()}
    table.append(PARSED_LOGS.rows([row | {"kind": "chat_completion", "is_entry": True, "status": 200, "answer": "30"}]))
    return table


def found(logs: Table, answer: Asked, *cases: Case) -> tuple[str, str] | None:
    """The case and the kind of match."""
    pairs = CaseBook(cases, logs).earlier([answer])
    return (pairs[0][1].case.case_id, pairs[0][1].match) if pairs else None


def test_a_case_is_found_by_its_text_or_else_by_another_spelling(logs: Table) -> None:
    """The same text comes first, whatever the other case is worth."""
    other = replace(CASE, case_id="d", question=CaseQuestion(LEAVE.upper()), status=CaseStatus.ACCEPTED)
    assert found(logs, Asked(), CASE) == ("c", ReferenceMatch.EXACT)
    assert found(logs, Asked(LEAVE.lower()), CASE) == ("c", ReferenceMatch.NORMALISED)
    assert found(logs, Asked(), other, CASE) == ("c", ReferenceMatch.EXACT)
    assert found(logs, Asked(), other) == ("d", ReferenceMatch.NORMALISED)


@pytest.mark.parametrize(
    "asked", [Asked("Who?"), Asked("?!"), Asked(documents=("a",)), Asked(conversation="h")], ids=repr
)
def test_another_question_or_conversation_or_set_of_documents_is_another_case(logs: Table, asked: Asked) -> None:
    """So is a question without a word."""
    assert found(logs, asked, CASE, replace(CASE, question=CaseQuestion("!!"))) is None


def test_of_several_cases_an_accepted_one_comes_first_then_the_most_confident(logs: Table) -> None:
    sure, accepted = replace(CASE, case_id="d", confidence=0.9), replace(CASE, case_id="e", status=CaseStatus.ACCEPTED)
    assert found(logs, Asked(), CASE, sure, accepted) == ("e", ReferenceMatch.EXACT)
    assert found(logs, Asked(), CASE, sure) == ("d", ReferenceMatch.EXACT)


@pytest.mark.parametrize("name", ["source", "r-source"])
def test_a_case_counts_for_answers_that_were_asked_for_after_its_own(logs: Table, name: str) -> None:
    """Its own answer is never compared with it; one that is no longer in the log is earlier than any."""
    case = replace(CASE, source_response_id=name)
    assert found(logs, Asked(requested_at=NOON + timedelta(seconds=1)), case) == ("c", ReferenceMatch.EXACT)
    assert found(logs, Asked(requested_at=NOON - timedelta(seconds=1)), case) is None
    later = Asked(requested_at=NOON + timedelta(seconds=1))
    assert found(logs, replace(later, event_id="source"), case) is None
    assert found(logs, replace(later, response_id=name), case) is not None, "another answer with its id"
    gone = replace(CASE, source_response_id="gone")
    assert found(logs, Asked(), gone) == ("c", ReferenceMatch.EXACT)
    for own in ({"event_id": "gone"}, {"response_id": "gone"}, {"response_ids": ("gone",)}):
        assert found(logs, replace(later, **own), gone) is None
