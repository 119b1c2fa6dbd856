"""`dialwatch ground-truth edit`: a case in an editor, or changed by options."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from dialwatch.commands.ground_truth import changing
from dialwatch.commands.ground_truth.case_yaml import content_of, yaml_of
from lake.queries.ground_truth.case_versions import case_history, change_case
from lake.spec.case_tables import GROUND_TRUTH
from lake.tables.lake import Lake
from tests.commands import Done, dialwatch
from tests.dialwatch.commands.ground_truth.test_ground_truth import AT, case

EDITOR = """
import pathlib, sys
steps = pathlib.Path(sys.argv[1])
number = len(list(steps.parent.glob("seen*")))
file = pathlib.Path(sys.argv[2])
text = file.read_text(encoding="utf-8")
(steps.parent / f"seen{number}").write_text(text, encoding="utf-8")
for old, new in eval(steps.read_text(encoding="utf-8"))[number]:
    assert old in text, (old, text)
    text = text.replace(old, new)
file.write_text(text, encoding="utf-8")
"""


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(str(tmp_path / "lake"))
    citations = [{"statement": "It is Delhi.", "chunk": 0, "start": 5, "end": 24}]
    accepted = case("c", context_ids=["a.pdf#page=1"], citations=citations, status="accepted")
    cases = [accepted, case("d", conversation_hash="h")]
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows(cases))
    return lake


def newest(lake: Lake, case_id: str = "c") -> dict[str, Any]:
    return case_history(lake.table(GROUND_TRUTH, "rag"), case_id)[0]


def in_editor(lake: Lake, tmp_path: Path, *rounds: list[tuple[str, str]], again: bool = True) -> Done:
    """Edit the case, with a program as editor that replaces texts, each round others."""
    (tmp_path / "editor.py").write_text(EDITOR, encoding="utf-8")
    (tmp_path / "steps").write_text(repr(rounds), encoding="utf-8")
    command = f"{sys.executable} {tmp_path / 'editor.py'} {tmp_path / 'steps'}"
    with mock.patch.object(typer, "confirm", return_value=again):
        return dialwatch("ground-truth", "edit", "c", "--who", "ann", "--lake", lake.root, EDITOR=command)


@pytest.mark.integration
def test_a_case_is_changed_in_an_editor(lake: Lake, tmp_path: Path) -> None:
    """What the person writes is a version more, with the note; the status stays, and places of facts are new."""
    done = in_editor(
        lake, tmp_path, [("In Delhi. [1]", "|-\n  In New Delhi:\n  no. 7"), ("note: ''", "note: moved"), ("Who? ", "")]
    )
    assert (done.returncode, done.stdout) == (0, "case c of rag is version 2: answer, context changed, accepted\n")
    made = newest(lake)
    assert (made["answer"], made["note"], made["updated_by"]) == ("In New Delhi:\nno. 7", "moved", "ann")
    assert (made["status"], made["status_by"]) == ("accepted", "evaluator")
    assert made["citations"] == [{"statement": "It is Delhi.", "chunk": 0, "start": 0, "end": 19}]
    assert made["context_ids"] == [None]
    shown = (tmp_path / "seen0").read_text(encoding="utf-8")
    assert shown.startswith("# case c of rag, version 1, accepted\n# Change what is wrong")
    assert "\nquestion: Where is it?\nanswer: In Delhi. [1]\nfacts:\n- The seat is Delhi\n" in shown


@pytest.mark.integration
def test_a_text_that_stays_as_it_is_changes_nothing(lake: Lake, tmp_path: Path) -> None:
    """Nor does another way to write the same, or a note alone."""
    assert in_editor(lake, tmp_path, []).stdout == "nothing is changed in case c of rag\n"
    (tmp_path / "seen0").unlink()
    quoted = [("question: Where is it?", 'question: "Where is it?"'), ("note: ''", "note: x")]
    assert in_editor(lake, tmp_path, quoted).stdout == "nothing is changed in case c of rag\n"
    assert newest(lake)["version"] == 1


@pytest.mark.integration
def test_what_is_wrong_is_said_and_edited_again(lake: Lake, tmp_path: Path) -> None:
    """With the person's own text, and the problems above it; in the end nothing is lost."""
    done = in_editor(
        lake,
        tmp_path,
        [("- The seat is Delhi", "- The seat is Mumbai\n- '...'"), ("Where is it?", "Where is the seat?")],
        [("facts:", "facts: ]")],
        [("facts: ]", "facts:"), ("question:", "fact: 1\nquestions:")],
        [("fact: 1\nquestions:", "question:"), ("- The seat is Mumbai\n- '...'", "- seat is Delhi")],
    )
    assert done.returncode == 0, done.stderr
    assert "facts, no. 1: 'The seat is Mumbai' stands in no chunk of context: copy it from a chunk" in done.stderr
    assert "facts, no. 2: '...' has neither a letter nor a digit" in done.stderr
    assert "this is no YAML: " in done.stderr
    assert "'fact' is no value of a case" in done.stderr
    assert "question is missing: write question: ..." in done.stderr
    second = (tmp_path / "seen1").read_text(encoding="utf-8")
    assert "# What is wrong:\n# facts, no. 1: 'The seat is Mumbai'" in second
    assert "question: Where is the seat?\n" in second
    assert second.count("# Change what is wrong") == 1
    assert (newest(lake)["facts"], newest(lake)["question"]) == (["seat is Delhi"], "Where is the seat?")


@pytest.mark.integration
def test_who_gives_up_changes_nothing(lake: Lake, tmp_path: Path) -> None:
    """So does an editor that fails, or is not there."""
    done = in_editor(lake, tmp_path, [("Where is it?", "''")], again=False)
    assert (done.returncode, done.stderr) == (1, "question is empty: say what is asked\nnothing is changed\n")
    for editor, message in (("false", "ended with exit code 1"), ("/none", "cannot be started"), ("'", "cannot be")):
        failed = dialwatch("ground-truth", "edit", "c", "--lake", lake.root, EDITOR=editor)
        assert failed.returncode == 2
        assert message in failed.stderr
    assert newest(lake)["version"] == 1


def test_a_script_sets_values(lake: Lake) -> None:
    """A question in other words stands without its conversation; with `--accept` the case is accepted."""
    values = ("--set", "question=What is the seat? a=b", "--set", 'facts=["Delhi"]', "--accept", "--note", "clear")
    done = dialwatch("ground-truth", "edit", "d", *values, "--who", "ann", "--lake", lake.root)
    assert done.stdout.splitlines() == [
        "case d of rag is version 2: question, facts, status changed, accepted",
        "its question stands by itself now: answers in other conversations are compared with it",
    ]
    made = newest(lake, "d")
    assert (made["question"], made["facts"], made["conversation_hash"]) == ("What is the seat? a=b", ["Delhi"], None)
    assert (made["status"], made["status_by"], made["note"]) == ("accepted", "ann", "clear")
    again = dialwatch("ground-truth", "edit", "d", *values, "--who", "ann", "--lake", lake.root)
    assert again.stdout == "nothing is changed in case d of rag\n"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("answer", "'answer' has no value: write it as NAME=VALUE"),
        ("answer= ", "answer is empty: give the right answer"),
        ("answer=\udcff", "answer is not UTF-8"),
        ("status=accepted", "'status' is none of question, answer, facts, documents, context"),
        ("facts=Delhi", "facts must be a list as JSON"),
        ("facts=[1]", "facts, no. 1: it must be a text, and not 1"),
        ('facts=[" Who"]', "leave out the marks around it"),
        ('documents=[""]', "documents, no. 1: it is empty: leave it out"),
    ],
)
def test_what_cannot_be_used_is_an_error(lake: Lake, value: str, message: str) -> None:
    done = dialwatch("ground-truth", "edit", "c", "--set", value, "--lake", lake.root)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert newest(lake)["version"] == 1


def test_facts_of_a_case_without_chunks_are_not_looked_for(lake: Lake) -> None:
    values = ("--set", "context=[]", "--set", 'facts=["Anything"]')
    assert dialwatch("ground-truth", "edit", "c", *values, "--lake", lake.root).returncode == 0
    assert (newest(lake)["citations"], newest(lake)["context_ids"]) == (None, [])


def test_who_was_slower_does_not_overwrite(lake: Lake) -> None:
    """The case stays as the other person left it."""
    cases_named = changing.cases_named

    def read_then_changed(*arguments: Any) -> Any:
        found = cases_named(*arguments)
        change_case(lake, "rag", "c", {"answer": "Elsewhere."}, "bob", AT + timedelta(1))
        return found

    with mock.patch.object(changing, "cases_named", read_then_changed):
        done = dialwatch("ground-truth", "edit", "c", "--set", "answer=Here", "--who", "ann", "--lake", lake.root)
    assert done.returncode == 1
    assert "bob has made version 2 of it; edit it again" in done.stderr
    assert newest(lake)["answer"] == "Elsewhere."


TEXT = st.text(st.characters(exclude_categories=["Cs"])) | st.text("a \n\r\t:-#'\"|>\u2028\x85\ufeff\x00é\u202e")


@given(TEXT, st.lists(TEXT))
def test_any_text_comes_back_from_its_yaml(text: str, texts: list[str]) -> None:
    """Whatever is in it; a list stays a list."""
    content = {"question": text, "answer": text, "facts": texts, "documents": texts, "context": texts}
    content["tool_calls"] = texts
    assert content_of(yaml_of(content)) == content | {"note": ""}


def test_calls_of_tools_are_lines(lake: Lake) -> None:
    """A name and a JSON object; what is none is refused with what to write, and nothing is changed."""
    arguments = ("ground-truth", "edit", "c", "--who", "ann", "--lake", lake.root, "--set")
    wrong = dialwatch(*arguments, 'tool_calls=["get_order [4711]"]')
    assert wrong.returncode == 2
    assert "tool_calls, no. 1" in wrong.stderr
    assert newest(lake)["tool_calls"] is None
    assert dialwatch(*arguments, r'tool_calls=["get_order {\"id\": \"4711\"}", "now"]').returncode == 0
    calls = [{"name": "get_order", "arguments": '{"id": "4711"}'}, {"name": "now", "arguments": None}]
    assert newest(lake)["tool_calls"] == calls
    shown = dialwatch("ground-truth", "show", "c", "--lake", lake.root).stdout
    assert 'get_order {"id": "4711"}' in shown
