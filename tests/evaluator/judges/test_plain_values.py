import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judges.plain_values import plain
from evaluator.judges.schema import read

CHUNKS = {"type": "array", "items": {"type": "integer"}}
DENIALS = ["no", "false", "none", "not stated", "does not state it", "does not support the fact", "contradicts it", "0"]
NAMES = ["states", "support", "supports", "verdict", "relevant", "text", "why"]


def is_read(value: Any) -> bool:
    """Whether it is a list of numbers alone, so that it fits the schema."""
    found = plain(value, CHUNKS)
    return isinstance(found, list) and all(type(one) is int for one in found)


@pytest.mark.parametrize(
    "value",
    [
        [{"chunk": 1, "states": True}, {"chunk": 2, "states": False}],
        [{"id": 2, "support": "none"}],
        [{"chunk": 1, "text": "so"}],
        {"chunk": 2, "supports": False},
        [{"score": 2}],
        ["no chunk", 2],
        [1, "none"],
        ["n/a", "-"],
        [{"2": 1}],
        [{"chunk": "1: does not state it"}],
        ["1: does not state it", "2: states it"],
        [["1. no"], ["2. yes"]],
        "1: no, 2: yes",
        "1) no; 2) yes",
        "1. yes and 2. no",
        "1: no",
        [1, "2: no"],
        {"1": True, "2": False},
        {"1": "no", "2": "yes"},
        [{"1": "yes"}, {"2": "no"}],
        [True, False],
        "not 1",
        "all but 1",
        "1, not 2",
        "1-3",
        "no 1",
        "chunk 1 (no)",
        "none but 2",
        [{"chunk": True}],
    ],
    ids=json.dumps,
)
def test_chunks_with_something_said_of_them_are_no_numbers(value: Any) -> None:
    """It may be that they do not state the fact; it is asked again."""
    assert not is_read(value)


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        ([{"chunk": 1}, {"id": "2"}], [1, 2]),
        ({"chunk": [1, 2]}, [1, 2]),
        ({"number": 3}, [3]),
        ([1, None, " "], [1]),
        (["none"], []),
        ("chunk 1:", [1]),
        ("1 and 2", [1, 2]),
    ],
)
def test_numbers_alone_are_numbers(value: Any, numbers: list[int]) -> None:
    """Also where an object names them and has nothing else."""
    assert plain(value, CHUNKS) == numbers


@pytest.mark.parametrize("value", ["1. The river is long.", "1: not long", {"sentence": "1) It is long."}])
def test_one_number_may_have_its_text(value: Any) -> None:
    """Of a single sentence or fact the text says which one it is, and no more."""
    assert plain(value, {"type": "integer"}) == 1


@given(
    st.lists(st.tuples(st.integers(1, 9), st.sampled_from(DENIALS)), min_size=1, max_size=4),
    st.sampled_from(
        ["{0}: {1}", "{0}. {1}", "{0}) {1}", "chunk {0}: {1}", "{0} {1}", "{0} - {1}", "({0}) {1}", "{0}:{1}"]
    ),
    st.sampled_from(NAMES),
)
def test_a_chunk_that_is_denied_is_never_a_number(said: list[tuple[int, str]], form: str, name: str) -> None:
    """In texts, lists of texts and objects, however many there are."""
    texts = [form.format(number, denial) for number, denial in said]
    objects = [{"chunk": number, name: denial} for number, denial in said]
    for value in (texts, ", ".join(texts), "; ".join(texts), objects, objects[0], [{"chunk": text} for text in texts]):
        assert not is_read(value), value


def test_sentences_may_be_named_by_their_numbers() -> None:
    sentence = {"type": "object", "properties": {"sentence": {"type": "integer"}, "facts": {"type": "array"}}}
    schema = {"type": "object", "properties": {"sentences": {"type": "array", "items": sentence}}}
    numbered = [{"sentence": 1, "facts": [1]}, {"sentence": 2, "facts": []}]
    for name in ("", "sentence ", "Sentence #"):
        said = {f"{name}{one['sentence']}": {"facts": one["facts"]} for one in numbered}
        assert read(json.dumps({"sentences": said}), schema) == {"sentences": numbered}
    other = {"1": {"facts": []}, "2": 5}
    assert read(json.dumps({"sentences": other}), schema) == {"sentences": [other]}
