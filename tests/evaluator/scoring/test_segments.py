import json
from typing import Any

import pytest

from evaluator.answers import answers
from evaluator.scoring.scorer import segment_of
from lake.spec.schemas import PARSED_LOGS


def segment(row: dict[str, Any]) -> dict[str, Any]:
    ((answer,),) = answers(PARSED_LOGS.rows([row]))
    return json.loads(segment_of(answer))


def test_the_class_is_of_the_question_the_model_and_whether_anything_was_retrieved(traffic: Any) -> None:
    """A short English question of a client, with chunks, answered by a model that the log names."""
    assert segment(traffic.answer("a", model="gpt-4o", project_id="intranet", client="teams-bot")) == {
        "language": "en",
        "model": "gpt-4o",
        "contexts": True,
        "question_length": "short",
        "project": "intranet",
        "client": "teams-bot",
    }


@pytest.mark.parametrize(("length", "name"), [(80, "short"), (81, "medium"), (400, "medium"), (401, "long")])
def test_the_length_of_a_question_changes_after_80_and_after_400_characters(
    traffic: Any, length: int, name: str
) -> None:
    """Its classes are short, medium and long."""
    assert segment(traffic.answer("a", question="x" * length))["question_length"] == name


def test_an_unknown_attribute_is_null(traffic: Any) -> None:
    """No question, no model, and a log that does not say what was retrieved: nothing is guessed."""
    row = traffic.answer("a", question=None, contexts=None, contexts_origin=None)
    assert segment(row) == dict.fromkeys(("language", "model", "contexts", "question_length", "project", "client"))


def test_a_question_too_short_for_a_language_has_none(traffic: Any) -> None:
    """Two words say nothing; a script that only one language has says which."""
    assert segment(traffic.answer("a", question="Delhi, India?"))["language"] is None
    assert segment(traffic.answer("a", question="Πού είναι η έδρα της κυβέρνησης;"))["language"] == "el"


def test_nothing_retrieved_is_a_class_of_its_own(traffic: Any) -> None:
    """An empty list of chunks that the log has is not the same as not knowing."""
    assert segment(traffic.answer("a", contexts=[], contexts_origin="retrieval_stage"))["contexts"] is False
