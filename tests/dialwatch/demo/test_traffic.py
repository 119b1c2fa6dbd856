"""The demo's traffic, as the collector reads it."""

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import msgspec
import numpy as np
import pytest

from collector.parsing import LogRecord, Rejection, SignalRecord, core_lines, parse_line
from dialwatch.demo.questions import load_questions, sentences
from dialwatch.demo.rag.extraction import PASSAGES_READ, REFUSAL
from dialwatch.demo.rag.retrieval import RETRIEVED
from dialwatch.demo.traffic import DEGRADED_DEPLOYMENT, DEPLOYMENTS, TrafficLine, make_plan, make_traffic
from lake.spec.schemas import PARSED_LOGS
from monitor.detect.stats.requests import failed

START = datetime(2026, 11, 20, tzinfo=UTC)
END = START + timedelta(hours=18)
DROP = START + timedelta(hours=11)
CITATION = re.compile(r" \[\d\] ?")

Parsed = LogRecord | SignalRecord | Rejection


@pytest.fixture(scope="module")
def lines() -> list[TrafficLine]:
    return list(make_traffic(7, START, END, DROP, answers=700))


@pytest.fixture(scope="module")
def parsed(lines: list[TrafficLine]) -> list[tuple[TrafficLine, list[Parsed]]]:
    return [(line, [parse_line(entry) for entry in core_lines(line.raw)]) for line in lines]


def answers(parsed: list[tuple[TrafficLine, list[Parsed]]]) -> list[tuple[TrafficLine, LogRecord]]:
    return [(line, rows[0]) for line, rows in parsed if line.kind == "answer" and isinstance(rows[0], LogRecord)]


def test_sentences_end_also_without_a_space() -> None:
    """A text is cut after a sentence even if the next one follows at once, but not after an initial."""
    text = "It was written by J. K. Rowling Jr. in the 19th century.First for Women is one. So is B."
    assert sentences(text) == (
        "It was written by J. K. Rowling Jr. in the 19th century.",
        "First for Women is one.",
        "So is B.",
    )


def test_grounded_answers_stand_in_the_knowledge() -> None:
    """Every shipped question has a grounded answer that is a sentence of its knowledge, and another that is not."""
    questions = load_questions()
    assert len(questions) > 400
    assert all(question.grounded_answer in question.knowledge for question in questions)
    assert not any(question.hallucinated_answer in question.knowledge for question in questions)


@pytest.mark.slow
def test_same_seed_gives_the_same_lines(lines: list[TrafficLine]) -> None:
    """Equal arguments give equal lines in equal order; another seed gives others."""
    assert list(make_traffic(7, START, END, DROP, answers=700)) == lines
    assert next(make_traffic(8, START, END, DROP, answers=20)) != lines[0]


@pytest.mark.slow
def test_just_the_calls_that_fail_count_as_failed(parsed: list[tuple[TrafficLine, list[Parsed]]]) -> None:
    """Lines that are cut or hold a raw control character, all of an embedding model, are no failures of it."""
    rows = [row for _, found in parsed for row in found if isinstance(row, LogRecord)]
    table = PARSED_LOGS.rows([msgspec.structs.asdict(row) for row in rows])
    counted = Counter(rows[place].deployment for place in np.flatnonzero(failed(table)))
    assert counted == Counter(line.deployment for line, _ in parsed if line.kind == "error")
    assert {len(row.repairs) for row in rows if row.kind == "embedding" and row.repairs} == {1}


@pytest.mark.slow
def test_lines_come_in_order_of_time(lines: list[TrafficLine]) -> None:
    """Lines are ordered by arrival, all lie within the time, and none holds a line feed."""
    assert all(earlier.at <= later.at for earlier, later in pairwise(lines))
    assert START <= lines[0].at <= lines[-1].at <= END
    assert not any(b"\n" in line.raw for line in lines)


def test_plan_counts_what_is_in_the_lines(
    lines: list[TrafficLine], parsed: list[tuple[TrafficLine, list[Parsed]]]
) -> None:
    """The plan's counts add up to all lines, its entries are those that the collector finds."""
    plan = make_plan(lines, DROP)
    assert plan.entries == sum(len(rows) for _, rows in parsed)
    malformed = sum(plan.malformed.values())
    secured = 1
    assert (
        plan.answers + plan.errors + plan.child_calls + plan.likes + plan.dislikes + malformed + secured == plan.lines
    )
    assert 600 < plan.answers < 800
    assert min(plan.errors, plan.likes, plan.dislikes) > 0
    assert 0.003 < malformed / plan.lines < 0.03


def test_answers_are_read_with_their_retrieved_contexts(parsed: list[tuple[TrafficLine, list[Parsed]]]) -> None:
    """The collector reads every answer whole, its contexts from the stage Combined search, and all are entries."""
    right = {question.text: question.right_answer.lower() for question in load_questions()}
    rows = answers(parsed)
    assert len(rows) == sum(line.kind == "answer" for line, _ in parsed)
    assert {record.deployment for _, record in rows} == set(DEPLOYMENTS)
    for line, record in rows:
        assert record.deployment == line.deployment
        assert record.is_entry
        assert (record.kind, record.error, record.contexts_origin) == ("chat_completion", None, "retrieval_stage")
        assert record.chat_id
        assert record.chat_id.startswith("conversations/")
        assert record.contexts
        texts = [context["text"] for context in record.contexts]
        assert len(texts) <= RETRIEVED
        assert record.answer
        said = CITATION.sub("\n", record.answer).split("\n")
        read = texts[:PASSAGES_READ]
        assert record.answer == REFUSAL or all(any(part.strip() in text for text in read) for part in said)
        assert line.right == (right[record.question or ""] in record.answer.lower())


def test_both_ways_to_answer_and_both_forms_of_core_occur(lines: list[TrafficLine]) -> None:
    """Answers are streamed and plain, with the old `delta` before Core's update and `message` after it."""
    forms: Counter[tuple[bool, bool]] = Counter()
    for line in lines:
        if line.kind == "answer":
            core = json.loads(line.raw)
            choice = json.loads(core["assembled_response"])["choices"][0]
            forms["delta" in choice, core["response"]["body"].startswith("data:")] += 1
    assert {(True, True), (False, True), (False, False)} == set(forms)


def test_quality_drops_in_one_deployment_only(lines: list[TrafficLine]) -> None:
    """From the drop on the degraded deployment answers few questions; before it, and elsewhere, most are right."""
    share: dict[tuple[str | None, bool], list[bool]] = {}
    for line in lines:
        if line.kind == "answer":
            share.setdefault((line.deployment, line.at >= DROP), []).append(bool(line.right))
    for (deployment, dropped), right in share.items():
        mean = sum(right) / len(right)
        assert (mean < 0.4) if (deployment, dropped) == (DEGRADED_DEPLOYMENT, True) else (mean > 0.75)


def test_ratings_belong_to_answers_and_follow_their_quality(parsed: list[tuple[TrafficLine, list[Parsed]]]) -> None:
    """A rating names an answer of its deployment; likes mostly name right ones; some come before the answer."""
    known = {(record.deployment, record.response_id): line for line, record in answers(parsed)}
    agreeing, early, ratings = 0, 0, 0
    for line, rows in parsed:
        if line.kind not in {"like", "dislike"}:
            continue
        (signal,) = rows
        assert isinstance(signal, SignalRecord)
        assert signal.signal == line.kind
        rated = known[signal.deployment, signal.response_id]
        ratings += 1
        agreeing += (line.kind == "like") == rated.right
        early += line.at < rated.at
    assert agreeing / ratings > 0.85
    assert 0 < early < ratings / 4


def test_liked_questions_are_asked_again(parsed: list[tuple[TrafficLine, list[Parsed]]]) -> None:
    """Questions with a like come again, in other conversations of the same deployment."""
    rows = answers(parsed)
    liked = {
        row.response_id
        for line, parts in parsed
        for row in parts
        if line.kind == "like" and isinstance(row, SignalRecord)
    }
    cases = {(record.deployment, record.question): record for _, record in rows if record.response_id in liked}
    again = [
        record
        for _, record in rows
        if (case := cases.get((record.deployment, record.question))) and case.chat_id != record.chat_id
    ]
    assert len(again) > 20


def test_child_calls_name_their_parent(parsed: list[tuple[TrafficLine, list[Parsed]]]) -> None:
    """A child call carries its parent's trace, span and deployment, and comes before it."""
    spans = {record.span_id: (line, record) for line, record in answers(parsed)}
    kinds: Counter[str] = Counter()
    for line, rows in parsed:
        if line.kind == "child":
            (child,) = rows
            assert isinstance(child, LogRecord)
            parent_line, parent = spans[child.parent_span_id]
            assert (child.trace_id, child.parent_deployment) == (parent.trace_id, parent.deployment)
            assert not child.is_entry
            assert line.at <= parent_line.at
            kinds[child.kind] += 1
    assert kinds["embedding"] == kinds["chat_completion"] > 0


def test_malformed_lines_cost_at_most_themselves(parsed: list[tuple[TrafficLine, list[Parsed]]]) -> None:
    """A stack trace is rejected, glued lines are two rows, a raw control character is replaced and is no error."""
    seen = {line.malformed: rows for line, rows in parsed if line.malformed}
    assert [type(row) for row in seen["stack_trace"]] == [Rejection]
    assert [type(row) for row in seen["glued"]] == [LogRecord, LogRecord]
    (control,) = seen["control_character"]
    assert isinstance(control, LogRecord)
    assert (control.error, len(control.repairs or ())) == (None, 1)
    assert all(isinstance(row, Rejection) or (isinstance(row, LogRecord) and row.repairs) for row in seen["truncated"])


def test_failed_calls_are_no_answers(parsed: list[tuple[TrafficLine, list[Parsed]]]) -> None:
    """A refused call has status 400, a broken stream status 200; both say what went wrong."""
    failed = [rows[0] for line, rows in parsed if line.kind == "error"]
    assert {row.status for row in failed if isinstance(row, LogRecord)} == {200, 400}
    assert all(isinstance(row, LogRecord) and row.error for row in failed)


def test_secured_line_has_no_text(parsed: list[tuple[TrafficLine, list[Parsed]]]) -> None:
    """One line was written for a secured key: tokens and times, but no question and no answer."""
    ((record,),) = [rows for line, rows in parsed if line.kind == "secured"]
    assert isinstance(record, LogRecord)
    assert record.question is record.answer is None


@pytest.mark.parametrize(
    ("drop", "problem"), [(END + timedelta(hours=1), "not between"), (DROP.replace(tzinfo=None), "time zone")]
)
def test_impossible_times_are_refused(drop: datetime, problem: str) -> None:
    """A drop outside the time, or a time without a zone, is refused before the first line."""
    with pytest.raises(ValueError, match=problem):
        next(make_traffic(7, START, END, drop))
