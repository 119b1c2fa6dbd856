"""Actions of people on cases: accept, reject, edit, undo, and make a case of an answer."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from starlette.exceptions import HTTPException

from lake.queries.answer_details import read_answer
from lake.queries.answer_lookup import own_id
from lake.queries.answer_rows import case_question, context_ids, context_texts
from lake.queries.ground_truth.case_versions import (
    CaseChangedError,
    case_history,
    change_case,
    change_cases,
    write_cases,
)
from lake.queries.ground_truth.cases import citations_of, statements_of
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.case_vocabulary import CaseStatus
from lake.spec.schemas import deployment_of
from lake.spec.service_vocabulary import AuditAction
from lake.spec.tool_calls import call_line, call_of_line, expected_calls
from monitor.access.reader import Reader
from monitor.pages.answers.addresses import AnswerPlace, no_answer
from monitor.pages.answers.fact_places import places_of
from monitor.pages.ground_truth.queue import surest
from monitor.service.monitor import Monitor

NOBODY = "somebody on the pages"
"""`ground_truth.updated_by` of who acts where the pages need no access."""
MOST_CHARACTERS = 20_000
BY_PERSON = "person/1"
"""`ground_truth.extractor` of a case that a person made of an answer."""

_UNPROCESSABLE, _NOT_FOUND, _CONFLICT = 422, 404, 409
_SHOWN = 80
_TOGETHER = "together "
_UNDONE = ("question", "conversation_hash", "documents", "facts", "citations", "answer", "context", "context_ids",
           "tool_calls", "extractor", "status")  # fmt: skip


class CaseActions:
    """Writes next versions of cases, each of the version that the page showed, and notes in the audit log who did."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor

    def decide(self, reader: Reader, name: str, fields: Mapping[str, str]) -> None:
        """Accept or reject a case; raises HTTPException."""
        status = fields.get("status", "")
        if status not in (CaseStatus.ACCEPTED, CaseStatus.REJECTED):
            raise HTTPException(_UNPROCESSABLE, "A case is accepted or rejected: choose one")
        note = _note(fields)
        self._change(reader, name, fields, {"status": CaseStatus(status)} | ({"note": note} if note else {}))

    def accept_surest(self, reader: Reader, name: str, fields: Mapping[str, str]) -> str:
        """Accept the proposed cases from a confidence on, in one commit, and return the id that takes them back.

        Cases that another one contradicts, and doubted ones, are left out. Raises HTTPException, with 409 where their
        number is no longer the one that was confirmed.
        """
        least, deployment, now = least_confidence(fields.get("least", "")), deployment_of(name), self._monitor.now()
        if least is None or deployment is None:
            raise HTTPException(_UNPROCESSABLE, "A confidence is a number from 0 to 1")
        together = hashlib.sha256(f"{name} {reader.who} {now.isoformat()}".encode()).hexdigest()[:12]
        note = f"accepted together with all of confidence {least:g} or more ({_TOGETHER}{together})"

        def change(cases: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
            found = surest(list(cases.values()), least)
            if str(len(found)) != fields.get("count"):
                raise HTTPException(_CONFLICT, f"Nothing was changed: there are {len(found)} such cases. Look again")
            return {one["case_id"]: {"status": CaseStatus.ACCEPTED, "note": note} for one in found}

        made = change_cases(self._monitor.lake, deployment, change, reader.who or NOBODY, now)
        detail = f"accepted {len(made)} cases of confidence {least:g} or more, {_TOGETHER}{together}"
        self._monitor.audit.note(reader.who, AuditAction.CHANGE_CASE, name, detail=detail)
        return together

    def undo_together(self, reader: Reader, name: str, fields: Mapping[str, str]) -> None:
        """Make those proposed again that were accepted together, but those that have changed since."""
        mark, deployment = f"({_TOGETHER}{fields.get('together', '')})", deployment_of(name)
        columns = {"status": CaseStatus.PROPOSED, "note": f"taken back {mark}"}

        def change(cases: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
            newest = [one for one in cases.values() if one["status"] == CaseStatus.ACCEPTED]
            return {one["case_id"]: columns for one in newest if (one["note"] or "").endswith(mark)}

        if deployment is None or not fields.get("together"):
            raise _no_case()
        made = change_cases(self._monitor.lake, deployment, change, reader.who or NOBODY, self._monitor.now())
        detail = f"made {len(made)} cases proposed again, {_TOGETHER}{fields['together']}"
        self._monitor.audit.note(reader.who, AuditAction.CHANGE_CASE, name, detail=detail)

    def edit(self, reader: Reader, name: str, fields: Mapping[str, str]) -> None:
        """Change question, answer, facts and calls of tools (one a line each).

        Raises HTTPException where a value cannot be used.
        """
        case = self._history(name, fields)[0]
        question, answer = (_sent(fields, one) for one in ("question", "answer"))
        if not question or not answer:
            raise HTTPException(_UNPROCESSABLE, "A case has a question and an answer: neither may be empty")
        if max(map(len, (question, answer, fields.get("facts", ""), fields.get("tool_calls", "")))) > MOST_CHARACTERS:
            raise HTTPException(_UNPROCESSABLE, f"A text has at most {MOST_CHARACTERS:,} characters")
        # The form has one fact a line: a fact of several lines came from the case, and is kept as it is.
        known = {fact_line(fact): fact for fact in case["facts"] or ()}
        lines = [fact_line(line) for line in fields.get("facts", "").splitlines()]
        facts = [known.get(line, line) for line in lines if line]
        columns = self._changed(case, question, answer, facts) | _changed_calls(case, fields.get("tool_calls"))
        note = _note(fields)
        if columns:
            self._change(reader, name, fields, columns | ({"note": note} if note else {}))

    def undo(self, reader: Reader, name: str, fields: Mapping[str, str]) -> None:
        """Make the version before the newest one the next version; raises HTTPException."""
        newest, *earlier = self._history(name, fields)
        if not earlier:
            raise HTTPException(_UNPROCESSABLE, "This is the first version of the case: there is nothing to undo")
        before = earlier[0]
        note = f"version {newest['version']} was taken back: as in version {before['version']}"
        self._change(reader, name, fields, {column: before[column] for column in _UNDONE} | {"note": note})

    def make(self, reader: Reader, place: AnswerPlace) -> str:
        """Make an accepted case of an answer, once; return its id. Raises HTTPException where it cannot be one."""
        lake, deployment, now = self._monitor.lake, deployment_of(place.name), self._monitor.now()
        details = read_answer(lake, deployment, place.date, place.event_id)
        if details is None or deployment is None:
            raise no_answer()
        row = details.row
        asked = case_question(row)
        if asked is None or not (row["answer"] or "").strip():
            raise HTTPException(_UNPROCESSABLE, "An answer without a known question or text cannot be a case")
        case_id = hashlib.sha256(f"{BY_PERSON} {place.event_id}".encode()).hexdigest()[:32]
        source_id = own_id(lake, row)
        made = _case_of(row, asked, case_id, source_id, place, reader.who or NOBODY, now)

        def new(cases: Mapping[str, Mapping[str, Any]]) -> Sequence[dict[str, Any]]:
            return [] if case_id in cases else [made]

        if write_cases(lake, deployment, new):
            self._monitor.audit.note(reader.who, AuditAction.CHANGE_CASE, place.name, place.event_id, f"made {case_id}")
        return case_id

    def _changed(self, case: Mapping[str, Any], question: str, answer: str, facts: Sequence[str]) -> dict[str, Any]:
        contexts = list(case["context"] or ())
        new = [fact for fact in facts if fact not in (case["facts"] or ())]
        # A case without contexts has nothing to look in; its facts must be something that can be looked for.
        for fact, found in zip(new, places_of(new, contexts or new), strict=True):
            if found is None:
                said = fact if len(fact) <= _SHOWN else f"{fact[:_SHOWN]}…"
                raise HTTPException(
                    _UNPROCESSABLE, f"“{said}” stands in no context of the case: copy a fact from one of them"
                )
        columns: dict[str, Any] = {}
        if question != _plain(case["question"]):
            # A question in other words stands by itself, without its conversation.
            columns |= {"question": question, "conversation_hash": None}
        if answer != _plain(case["answer"]):
            columns["answer"] = answer
        if list(facts) != list(case["facts"] or ()):
            citations = citations_of(facts, contexts, statements_of(case), places_of)
            columns |= {"facts": list(facts), "citations": citations}
        return columns

    def _history(self, name: str, fields: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
        history = case_history(self._monitor.lake.table(GROUND_TRUTH, deployment_of(name)), fields.get("case", ""))
        if not history:
            raise _no_case()
        return history

    def _change(self, reader: Reader, name: str, fields: Mapping[str, str], columns: Mapping[str, Any]) -> None:
        version = fields.get("version", "")
        if not version.isdecimal():
            raise HTTPException(_UNPROCESSABLE, "A change names the version of the case that was shown")
        deployment, who = deployment_of(name), reader.who or NOBODY
        if deployment is None:
            raise _no_case()
        try:
            made = change_case(
                self._monitor.lake, deployment, fields.get("case", ""), columns, who, self._monitor.now(),
                of_version=int(version[:9]),
            )  # fmt: skip
        except CaseChangedError as error:
            raise HTTPException(_CONFLICT, f"Nothing was changed: {error}. Open the case again") from None
        if made is None:
            raise _no_case()
        detail = f"case {made['case_id']} version {made['version']}: {made['status']}"
        self._monitor.audit.note(reader.who, AuditAction.CHANGE_CASE, name, detail=detail)


def least_confidence(text: str) -> float | None:
    """Read a confidence from 0 to 1; None where it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def _changed_calls(case: Mapping[str, Any], text: str | None) -> dict[str, Any]:
    """Return the calls of tools where a form changes them; it has each in a line."""
    if text is None:
        return {}
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines == [call_line(call) for call in case["tool_calls"] or ()]:
        return {}
    calls = []
    for line in lines:
        try:
            calls.append(call_of_line(line))
        except ValueError as error:
            said = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
            raise HTTPException(_UNPROCESSABLE, f"“{said}” is no call of a tool: {error}") from None
    return {"tool_calls": calls}


def _case_of(
    row: Mapping[str, Any],
    asked: Any,
    case_id: str,
    source_id: str,
    place: AnswerPlace,
    who: str,
    now: datetime,
) -> dict[str, Any]:
    contexts = context_texts(row)
    return {
        "case_id": case_id,
        "deployment": place.name,
        "version": 1,
        "question": asked.text,
        "conversation_hash": asked.conversation_hash,
        "documents": list(row["documents"] or ()),
        "facts": [],
        "answer": row["answer"],
        "context": contexts or [],
        "context_ids": context_ids(row["contexts"]) if contexts else [],
        "tool_calls": expected_calls(row["tool_calls"]),
        "source_response_id": source_id,
        "source_date": row["date"],
        "confidence": 1.0,
        "status": CaseStatus.ACCEPTED,
        "status_by": who,
        "status_at": now,
        "extractor": BY_PERSON,
        "note": "made a case on the page of the answer",
        "created_at": now,
        "updated_at": now,
        "updated_by": who,
    }


def fact_line(text: str) -> str:
    """Return a fact as the form shows it: in one line."""
    return " ".join(text.split())


def _sent(fields: Mapping[str, str], name: str) -> str:
    return _plain(fields.get(name))


def _plain(text: str | None) -> str:
    """Return a text as a form sends it back: browsers send other ends of lines, and spaces around it say nothing."""
    return "\n".join((text or "").splitlines()).strip()


def _note(fields: Mapping[str, str]) -> str:
    note = fields.get("note", "").strip()
    if len(note) > MOST_CHARACTERS:
        raise HTTPException(_UNPROCESSABLE, f"A note has at most {MOST_CHARACTERS:,} characters")
    return note


def _no_case() -> HTTPException:
    return HTTPException(_NOT_FOUND, "There is no such case")
