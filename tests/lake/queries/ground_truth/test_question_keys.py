"""Keys of questions, and the secret of a lake."""

from __future__ import annotations

from pathlib import Path

import pytest

from lake.queries.answer_rows import CaseQuestion
from lake.queries.ground_truth.question_keys import QuestionKeys, lake_secret
from lake.spec.root_tables import SECRETS
from lake.tables.lake import Lake
from tests.killing import start

LEAVE = CaseQuestion("How many days of leave do I have?")


@pytest.fixture
def keys(tmp_path: Path) -> QuestionKeys:
    return QuestionKeys(Lake(str(tmp_path / "lake")))


def test_spelling_does_not_matter_and_all_else_does(keys: QuestionKeys) -> None:
    """Nor does who asks; another question, conversation or deployment has another key."""
    key = keys.of("hr", LEAVE)
    assert key == keys.of("hr", CaseQuestion("  how many days of LEAVE do I have"))
    assert key is not None
    assert len(key) == 32
    others = {
        keys.of("hr", CaseQuestion("How many days of leave do you have?")),
        keys.of("hr", CaseQuestion(LEAVE.text, "conversation")),
        keys.of("it", LEAVE),
        keys.of(None, LEAVE),
    }
    assert key not in others
    assert len(others) == 4


@pytest.mark.parametrize("question", [None, CaseQuestion(""), CaseQuestion("?!")])
def test_what_has_no_word_has_no_key(keys: QuestionKeys, question: CaseQuestion | None) -> None:
    """Such answers are not taken for answers to one question."""
    assert keys.of("hr", question) is None


def test_text_that_is_no_unicode_has_a_key(keys: QuestionKeys) -> None:
    """Halves of a surrogate pair come in logs."""
    assert keys.of("hr", CaseQuestion("what is \ud83d in this"))


def test_other_lakes_have_other_keys_and_the_same_lake_the_same(tmp_path: Path) -> None:
    """So that nobody without the secret can find a question by guessing."""
    one, same, other = (QuestionKeys(Lake(str(tmp_path / name))) for name in ("one", "one", "other"))
    assert one.of("hr", LEAVE) == same.of("hr", LEAVE) != other.of("hr", LEAVE)


def _print_secret(root: str, folder: str, number: int) -> None:
    (Path(folder) / str(number)).write_bytes(lake_secret(Lake(root)))


@pytest.mark.integration
def test_processes_that_begin_together_have_one_secret(tmp_path: Path) -> None:
    """Whoever is first makes it."""
    root, folder = str(tmp_path / "lake"), tmp_path / "found"
    folder.mkdir()
    processes = [start(_print_secret, root, str(folder), number) for number in range(6)]
    for process in processes:
        process.join(60)
    found = [file.read_bytes() for file in folder.iterdir()]
    assert len(found) == 6
    assert len(set(found)) == 1
    assert len(found[0]) == 32
    assert Lake(root).table(SECRETS).read().num_rows == 1
