import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judges.plain_values import plain
from evaluator.judges.schema import MisfitError, read

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


def of_one(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    properties = {name: schema}
    return {"type": "object", "properties": properties, "required": [name], "additionalProperties": False}


BETTER = of_one("better", {"type": "string", "enum": ["first", "second", "tie"]})
GRADE = of_one("grade", {"type": "integer", "minimum": 1, "maximum": 5})
NEEDED = of_one("needed", CHUNKS)
LABELLED = of_one("facts", {"type": "array", "items": of_one("verdict", {"type": "string", "enum": ["S", "C", "N"]})})


@pytest.mark.parametrize(
    ("reply", "schema", "meant"),
    [
        ('{"better": "First"}', BETTER, {"better": "first"}),
        ('{"better": 2}', BETTER, {"better": "second"}),
        ('{"better": "**Answer 1**"}', BETTER, {"better": "first"}),
        ('{"better": "The second answer."}', BETTER, {"better": "second"}),
        ('{"better": "Neither"}', BETTER, {"better": "tie"}),
        ('{"better": "no difference"}', BETTER, {"better": "tie"}),
        ('{"grade": "4/5"}', GRADE, {"grade": 4}),
        ('{"grade": "4 out of 5"}', GRADE, {"grade": 4}),
        ('{"score": 4}', GRADE, {"grade": 4}),
        ('{"score": 4, "rating": "high"}', GRADE, {"grade": 4}),
        ('{"better": "neither is better"}', BETTER, {"better": "tie"}),
        ('{"better": "Both are equal."}', BETTER, {"better": "tie"}),
        ('{"better": "The second is better"}', BETTER, {"better": "second"}),
        ('{"better": "first answer is better"}', BETTER, {"better": "first"}),
        ('{"better": "the same"}', BETTER, {"better": "tie"}),
        ("[1, 2, 5]", NEEDED, {"needed": [1, 2, 5]}),
        ("[]", NEEDED, {"needed": []}),
        ("```json\n[1, 2]\n```", NEEDED, {"needed": [1, 2]}),
        ("<think>[9]</think>\n```\n[]\n```\n", NEEDED, {"needed": []}),
        ('{"facts": [{"label": "S", "judgement": "sure"}]}', LABELLED, {"facts": [{"verdict": "S"}]}),
        ('{"claim": 1, "statement": "The river is long."}', of_one("fact", {"type": "integer"}), {"fact": 1}),
        ('{"verdict": "S"}\n{"verdict": "N"}', LABELLED, {"facts": [{"verdict": "S"}, {"verdict": "N"}]}),
        ('{"facts": [{"label": "C", "verdict": "S"}]}', LABELLED, {"facts": [{"verdict": "S"}]}),
    ],
)
def test_what_is_plainly_meant_is_read(reply: str, schema: dict[str, Any], meant: dict[str, Any]) -> None:
    """Choices, grades, names and lists, as models write them; a name that was asked for counts before another."""
    assert read(reply, schema) == meant


@pytest.mark.parametrize(
    ("reply", "schema"),
    [
        ('{"better": "A"}', BETTER),
        ('{"better": "first or second"}', BETTER),
        ('{"better": 3}', BETTER),
        ('{"grade": "4/10"}', GRADE),
        ('{"grade": "4 or 5"}', GRADE),
        ('{"grade": 3.5}', GRADE),
        ('{"score": 4, "rating": 5}', GRADE),
        ('{"score": 1.0}', GRADE),
        ('{"rating": "1.0"}', GRADE),
        ("[]", LABELLED),
        ('{"facts": [{"label": "S", "judgement": "N"}]}', LABELLED),
        ('{"verdict": "S"}\nCorrection:\n{"verdict": "N"}', LABELLED),
    ],
)
def test_what_may_be_meant_otherwise_is_asked_again(reply: str, schema: dict[str, Any]) -> None:
    with pytest.raises(MisfitError):
        read(reply, schema)


def test_a_value_of_spaces_is_read_in_no_time() -> None:
    """A number, or the name of a chunk, that another word follows far behind."""
    for text in ("1", "chunk", "chunk 1", "1 ]", "<chunk 1", "4 /"):
        said = text + " " * 20_000 + "x"
        assert plain(said, {"type": "integer", "maximum": 5}) == said
