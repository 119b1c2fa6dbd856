"""Synthetic cases: a judge makes a question and its answer from a chunk of a document, for people to decide on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from evaluator.answers import DeploymentTables
from evaluator.ground_truth.judged_facts import Good, JudgedFacts, extractor_of, judged_facts
from evaluator.judges.exchange import JudgeError, JudgeReply, Spend
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import TEXT, Prompt, object_of
from evaluator.metrics.language.numbers import missing_numbers, numbers_in
from lake.queries.ground_truth.case_versions import read_cases
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.case_vocabulary import CaseOrigin, CaseStatus
from lake.tables.pass_transaction import PassTransaction
from runtime.identity import identity

if TYPE_CHECKING:
    from evaluator.judges.blocking_client import BoundJudge

_PROMPT = Prompt.read("synthetic_case", object_of(question=TEXT, answer=TEXT))
_CHUNK, _LEAST_LETTERS = 1_500, 200
"""Characters that a chunk has at most, if its paragraphs allow it, and letters that it has at least."""
_PARAGRAPH = re.compile(r"\n\s*\n")
_CONFIDENCE = 0.5
_NOTE = "judge {judge} made question and answer from a chunk of {document}: check both before you accept it"

NOTHING_TO_ASK = "the chunk answers nothing that anybody would ask"
OTHER_NUMBERS = "the answer has a number that the chunk lacks"
NO_FACTS = "nothing in the chunk supports the answer, by the judge's own citations"


@dataclass(frozen=True)
class Document:
    """A document by its name, and its text."""

    name: str
    text: str


@dataclass
class Synthesis:
    """What came of it: cases, the chunks that were asked about and made none, by the reason, and what it took."""

    cases: int = 0
    left: Counter[str] = field(default_factory=Counter)
    spend: Spend = field(default_factory=Spend)


@dataclass(frozen=True)
class _Chunk:
    case_id: str
    document: str
    text: str


def propose_from_documents(
    tables: DeploymentTables,
    judge: BoundJudge,
    documents: Sequence[Document],
    scope: Sequence[str],
    most: int,
    who: str,
    now: datetime,
) -> Synthesis:
    """Propose cases of up to `most` chunks, in one commit: each has a question, an answer, and the facts it needs.

    `scope` are the documents that a person who asks has in scope (`ground_truth.documents`). The chunks are spread over
    the documents by a hash; one that has a case is not asked about again. A case is left out where the judge finds
    nothing to ask, where its answer has a number that the chunk lacks, and where none of the facts that it cites stands
    in the chunk. Cases are always proposed: a person accepts them.

    Raises LostRaceError where another has just changed the table; nothing is written then.
    """
    transaction = PassTransaction(tables.truth)
    known = {case["case_id"] for case in read_cases(tables.truth)} if tables.truth.version() is not None else set()
    chunks = sorted(_chunks_of(tables.deployment, documents), key=lambda one: one.case_id)
    asked = [one for one in {one.case_id: one for one in chunks}.values() if one.case_id not in known][:most]
    made = Synthesis()
    good: list[tuple[_Chunk, Good]] = []
    replies = judge.ask_all(_PROMPT.request(fenced("chunk", one.text)) for one in asked) if asked else []
    for chunk, reply in zip(asked, replies, strict=True):
        made.spend += reply.spend
        found = _good(chunk, reply)
        if isinstance(found, str):
            made.left[found] += 1
        else:
            good.append((chunk, found))
    rows = []
    facts = judged_facts(judge, [one for _, one in good]) if good else []
    for (chunk, one), named in zip(good, facts, strict=True):
        made.spend += named.spend
        if not named.facts:
            made.left[str(named.reason or NO_FACTS)] += 1
            continue
        rows.append(_case(tables.deployment, chunk, one, named, judge) | _written(scope, who, now))
    if rows:
        transaction.append(GROUND_TRUTH.rows(rows))
    made.cases = len(rows)
    return made


def _good(chunk: _Chunk, reply: JudgeReply | JudgeError) -> Good | str:
    """Return the question with its answer, or why there is none."""
    if isinstance(reply, JudgeError):
        return str(reply.reason)
    question, answer = (" ".join(reply.parsed[name].split()) for name in ("question", "answer"))
    if not question or not answer:
        return NOTHING_TO_ASK
    if missing_numbers(numbers_in(answer), numbers_in(f"{chunk.text}\n{question}")):
        return OTHER_NUMBERS
    return Good(question, answer, [chunk.text])


def _chunks_of(deployment: str, documents: Sequence[Document]) -> Iterator[_Chunk]:
    for document in documents:
        for text in cut(document.text):
            if sum(map(str.isalpha, text)) >= _LEAST_LETTERS:
                yield _Chunk(identity(deployment, CaseOrigin.SYNTHETIC, text), document.name, text)


def cut(text: str) -> Iterator[str]:
    """Cut a text into chunks of whole paragraphs, of up to 1,500 characters unless one paragraph is longer."""
    chunk = ""
    for paragraph in filter(None, map(str.strip, _PARAGRAPH.split(text))):
        if chunk and len(chunk) + len(paragraph) + 2 > _CHUNK:
            yield chunk
            chunk = ""
        chunk = f"{chunk}\n\n{paragraph}" if chunk else paragraph
    if chunk:
        yield chunk


def _case(deployment: str, chunk: _Chunk, one: Good, named: JudgedFacts, judge: BoundJudge) -> dict[str, Any]:
    return {
        "case_id": chunk.case_id,
        "deployment": deployment,
        "version": 1,
        "question": one.question,
        "answer": one.answer,
        "facts": [fact.text for fact in named.facts],
        "citations": [
            {"statement": fact.statement, "chunk": 0, "start": fact.start, "end": fact.end} for fact in named.facts
        ],
        "context": [chunk.text],
        "confidence": _CONFIDENCE,
        "status": CaseStatus.PROPOSED,
        "origin": CaseOrigin.SYNTHETIC,
        "note": _NOTE.format(judge=judge.name, document=chunk.document),
        "extractor": extractor_of(judge),
    }


def _written(scope: Sequence[str], who: str, now: datetime) -> dict[str, Any]:
    by = {"status_by": who, "updated_by": who, "status_at": now, "created_at": now, "updated_at": now}
    return {"documents": list(scope), **by}
