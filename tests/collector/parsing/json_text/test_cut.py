import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing.json_text.cut import BrokenText, read_cut
from tests.collector.parsing.core_lines import core_line

DECODER = json.JSONDecoder(strict=False)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=4), children, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, min_size=1, max_size=4)


def is_beginning(part: Any, whole: Any) -> bool:
    """Whether `part` is what is left of `whole` when its text is cut."""
    if isinstance(part, str) and isinstance(whole, str):
        # Half of a character outside the basic plane may stay behind.
        return whole.startswith(part) or whole.startswith(part[:-1])
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and is_beginning(value, whole[key]) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(is_beginning, part, whole))
    return type(part) is type(whole) and part == whole


@given(OBJECTS, st.data(), st.booleans(), st.booleans())
def test_every_cut_gives_the_beginning_of_the_object(
    whole: dict[str, Any], data: st.DataObject, ascii_only: bool, marked: bool
) -> None:
    """Wherever an object is cut, what is read is a beginning of it, never something it did not say."""
    text = json.dumps(whole, ensure_ascii=ascii_only)
    cut = text[: data.draw(st.integers(1, len(text) - 1))] + (">>" if marked else "")
    assert is_beginning(read_cut(cut, DECODER), whole)


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ('{"a":"x","b":"yy>>', {"a": "x", "b": "yy"}),
        ('{"a":"x","b', {"a": "x"}),
        ('{"a":"x","b"', {"a": "x"}),
        ('{"a":"x","b":', {"a": "x"}),
        ('{"a":"x","b":12', {"a": "x"}),
        ('{"a":"x","b":5E-', {"a": "x"}),
        ('{"a":"x","b":tr', {"a": "x"}),
        ('{"a":"x","b":true', {"a": "x", "b": True}),
        ('{"a":"x","b":{"c":"y","d":"z', {"a": "x", "b": {"c": "y", "d": "z"}}),
        ('{"a":["x","y', {"a": ["x", "y"]}),
        ('{"a":[1,2', {"a": [1]}),
        ('{"a":"x\\', {"a": "x"}),
        ('{"a":"x\\\\', {"a": "x\\"}),
        ('{"a":"x\\u00', {"a": "x"}),
        ('{"a":"x\\u00e9', {"a": "x\u00e9"}),
        ("{", {}),
        ('{"a":{', {"a": {}}),
    ],
)
def test_what_is_left_of_a_cut_object(text: str, members: dict[str, Any]) -> None:
    """Whole members stay, an open string is closed, a number that may go on is left out."""
    assert read_cut(text, DECODER) == members


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "[1",
        '{"a":"b" "c',
        '{"a":1}}',
        '{"a":"b",c":"d',
        '{"a":+1,"b":"c',
        '{"a":"\\q","b":"c and more',
        '{"a":[1 x2,"b',
        '{"a":1x"b":"c',
    ],
)
def test_text_that_is_wrong_before_its_end_is_not_cut(text: str) -> None:
    """A text that breaks off from JSON before its end is refused: what follows would be lost."""
    with pytest.raises(BrokenText):
        read_cut(text, DECODER)


def test_only_texts_are_kept_in_part() -> None:
    """Half of a time or of a status would say something else, half of a text is still a text."""
    text = '{"a":{"time":"2026-08-03T10:00'
    assert read_cut(text, DECODER, {"body"}) == {"a": {}}
    assert read_cut(text, DECODER, {"time"}) == {"a": {"time": "2026-08-03T10:00"}}
    assert read_cut('{"a":["x","y', DECODER, {"a"}) == {"a": ["x"]}


def test_all_but_the_end_of_a_cut_line_is_kept() -> None:
    """A line that lost its last bytes still gives all before them."""
    line = core_line().decode()
    assert is_beginning(read_cut(line[:-60], DECODER), json.loads(line))
    assert read_cut(line[:-60], DECODER)["request"] == json.loads(line)["request"]
