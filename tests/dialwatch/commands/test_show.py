"""`dialwatch show`: what a person sees of one answer, whatever is in it."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialwatch.reports.terminal_text import in_lines, in_one_line, visible
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.tables.lake import Lake
from tests.commands import Done, dialwatch

START = datetime(2026, 11, 20, 10, tzinfo=UTC)
HOSTILE = "\x1b[2J\x1b]0;title\x07\u202egnp\u2066\x9b31m\r<b>\x00\x7f\u2028[bold]end"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


@pytest.fixture
def show(lake: Lake) -> Callable[..., Done]:
    return lambda *arguments: dialwatch("show", *arguments, "--lake", lake.root)


def log(lake: Lake, event_id: str, deployment: str = "rag", minute: int = 0, **columns: Any) -> None:
    at = START + timedelta(minutes=minute)
    ids = {"event_id": event_id, "response_id": "r", "response_ids": ["r"], "kind": "chat_completion", "status": 200}
    row = {"date": at.date(), "requested_at": at, "is_entry": True, "question": "Why?", "answer": "Because."}
    lake.table(PARSED_LOGS, deployment).append(PARSED_LOGS.rows([ids | row | columns]))


def log_all(lake: Lake, text: str = "") -> None:
    """An answer with something in every section, each with the text in it."""
    traced = {"trace_id": "t", "chat_id": f"chat{text}"}
    log(lake, "before", minute=-5, response_id="b", response_ids=[], question=f"Hello?{text}", answer="Hi.", **traced)
    chunk = {"text": f"Rain falls.{text}", "title": f"rain.pdf{text}", "url": f"u{text}", "page": 7, "id": "1"}
    log(lake, "e", span_id="s", contexts=[chunk], contexts_origin="retrieval_stage", model=f"gpt{text}",
        question=f"Why is it wet?{text}", standalone_question=f"Why is the street wet?{text}",
        answer=f"It rained.{text}", duration_ms=2500, prompt_tokens=1000, completion_tokens=20, price=0.25,
        documents=[f"d{text}"], error=f"cut{text}", repairs=[f"mended{text}"], finish_reason=f"stop{text}",
        **traced)  # fmt: skip
    log(lake, "m", "gpt", 1, parent_span_id="s", is_entry=False, model=f"gpt-5{text}", kind=f"k{text}", **traced)
    score = {"event_id": "e", "date": START.date(), "judge": f"strict{text}", "metric_version": f"2{text}"}
    lake.table(SCORES, "rag").append(SCORES.rows([
        score | {"score_id": "1", "metric": f"faith{text}", "value": 0.25,
                 "details": json.dumps({f"n{text}": [text], "unsupported": [[3, 9]], "more_unsupported": 2})},
        score | {"score_id": "2", "metric": "recall", "reason": f"no_ground_truth{text}", "low": float("-inf")},
    ]))  # fmt: skip
    said = {"signal": f"dislike{text}", "origin": f"explicit{text}", "details": json.dumps({"comment": f"No!{text}"})}
    row = said | {"signal_id": "1", "response_id": "r", "value": -1.0, "date": START.date(), "signaled_at": START}
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows([row]))


EXPECTED = """\
rag, 2026-11-20 10:00:00 UTC
  response id:   r
  event id:      e
  conversation:  chat
  model:         gpt
  status:        failed, HTTP 200
  failures:      error
  error:         cut
  repairs:       mended
  finish reason: stop
  took:          2.5 s
  tokens:        1,000 + 20 tokens
  price:         0.25
  rating:        disliked
  label:         none
  documents:     d

Conversation before
  2026-11-20 09:55:00 UTC, event id before
  Q: Hello?
  A: Hi.

Question
  Why is it wet?

Question as the application rewrote it
  Why is the street wet?

Answer
  It rained.

Words that stand in no context and 2 more places
  rained

Contexts (retrieval_stage)
  1. rain.pdf, u, page 7
    Rain falls.

Scores
  faith: 0.25 (judge strict, version 2)
    n: [""]
  recall: no value (reason no_ground_truth, judge strict, version 2)

Signals
  2026-11-20 10:00:00 UTC dislike (-1), explicit
    No!

Calls
  rag, chat_completion, gpt, 2.5 s, 1,000 + 20 tokens, this answer
    gpt, k, gpt-5
"""


def test_it_prints_all_that_is_known_of_an_answer(lake: Lake, show: Callable[..., Done]) -> None:
    """Whatever names it: its id, or its event id, deployment and date."""
    log_all(lake)
    assert show("r") == Done(0, EXPECTED, "")
    assert show("e", "--deployment", "rag", "--date", "2026-11-20") == Done(0, EXPECTED, "")


def test_an_answer_without_anything_beside_it_is_printed(lake: Lake, show: Callable[..., Done]) -> None:
    """What there is not is left out, or said not to be there."""
    log(lake, "e", answer=None, question="", status=None)
    assert show("r").stdout.split("\n\n")[1:] == [
        "Question\n  (empty)", "Answer\n  (none)", "Contexts\n  (none)", "Scores\n  (none)\n",
    ]  # fmt: skip


def is_harmless(text: str) -> bool:
    """Whether a terminal shows it as it is."""
    unseen = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return not any(unicodedata.category(one) in unseen and one not in "\n\u200c\u200d" for one in text)


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_texts_of_strangers_do_nothing_to_the_terminal(
    lake: Lake, show: Callable[..., Done], option: tuple[str, ...]
) -> None:
    """Escape sequences, control characters and turns of direction in every column are written out."""
    log_all(lake, HOSTILE)
    done = show("r", *option)
    assert (done.returncode, done.stderr) == (0, "")
    assert is_harmless(done.stdout)
    assert done.stdout.count("[bold]end" if option else "[U+001B][2J[U+001B]]0;title[U+0007][U+202E]gnp") >= 20


def test_names_of_strangers_do_nothing_to_the_terminal_where_several_answers_are_listed(
    lake: Lake, show: Callable[..., Done]
) -> None:
    """The same for the list of answers that have an id, and for an id that is in none."""
    for deployment in (f"a{HOSTILE}", "b"):
        log(lake, f"e{HOSTILE}", deployment)
    done = show("r")
    assert done.returncode == 2
    assert is_harmless(done.stdout + done.stderr)
    assert is_harmless(show(HOSTILE.replace("\x00", "")).stderr)


BLANK = set(chain((0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180F, 0x2800, 0x3164, 0xFFA0), range(0x180B, 0x180E),
                  range(0xFE00, 0xFE0E), range(0xE0100, 0xE01F0)))  # fmt: skip


@given(
    text=st.text(),
    letters=st.text(st.characters(categories=["L", "M", "N", "P", "S"], exclude_characters="".join(map(chr, BLANK)))),
)
def test_any_text_is_made_harmless(text: str, letters: str) -> None:
    """Letters, signs and emoji stay as they are; letters without a shape do not."""
    assert is_harmless(visible(text))
    assert is_harmless(in_lines(text))
    assert "\n" not in in_one_line(text)
    assert visible(f"{letters} \u200d\n") == f"{letters} \u200d\n"


def test_a_long_line_is_cut(lake: Lake, show: Callable[..., Done]) -> None:
    """A megabyte on one line takes no screens; JSON has it whole."""
    log(lake, "e", answer="x" * 1_000_000)
    assert len(show("r").stdout) < 10_000
    assert "... and 996,000 more characters (--json has all)" in show("r").stdout
    assert json.loads(show("r", "--json").stdout)["row"]["answer"] == "x" * 1_000_000
    assert in_lines("a\nb") == "  a\n  b"


def test_json_has_every_column_and_all_that_belongs_to_it(lake: Lake, show: Callable[..., Done]) -> None:
    """Numbers that JSON cannot write are null."""
    log_all(lake)
    found = json.loads(show("r", "--json").stdout)
    assert set(found["row"]) == set(PARSED_LOGS.schema.names)
    assert found["row"]["requested_at"] == "2026-11-20T10:00:00Z"
    assert [score["metric"] for score in found["scores"]] == ["faith", "recall"]
    assert found["scores"][1]["low"] is None
    assert [call["event_id"] for call in found["calls"]] == ["e", "m"]
    assert found["signals"][0]["comment"] == "No!"


def test_of_several_answers_one_must_be_named(lake: Lake, show: Callable[..., Done]) -> None:
    """They are listed with what names each; a call between applications is none if people got an answer of this id."""
    log(lake, "e")
    log(lake, "m", "gpt", is_entry=False)
    assert show("r").returncode == 0
    log(lake, "f", "other")
    done = show("r")
    assert done.returncode == 2
    assert "several answers have this id" in done.stderr
    assert [word for word in ("rag", "other", "gpt") if word in done.stdout] == ["rag", "other"]
    assert show("r", "--deployment", "other").returncode == show("f").returncode == 0
    assert show("r", "--deployment", "gpt").stdout.startswith("gpt, ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["unknown"], "no answer has the id 'unknown'"),
        (["r", "--deployment", "nobody"], "there is no deployment 'nobody'"),
        (["r", "--date", "2026-11-21"], "no answer has the id 'r'"),
        (["r", "--date", "tomorrow"], "'tomorrow' is no date"),
    ],
)
def test_what_is_not_there_is_one_message(
    lake: Lake, show: Callable[..., Done], arguments: list[str], message: str
) -> None:
    """With exit code 2 and nothing on the standard output."""
    log(lake, "e")
    done = show(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_lake_without_tables_is_a_mistyped_root(show: Callable[..., Done]) -> None:
    """As for the other commands."""
    done = show("r")
    assert done.returncode == 2
    assert "is that the lake's root?" in done.stderr
