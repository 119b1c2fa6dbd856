import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing.json_text.bodies import read_cut_object, read_object, read_objects, text_of, write_json

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":1}', {"a": 1}),
        ('\ufeff {"a":1}', {"a": 1}),
        ('{"a":"x\x01\ny"}', {"a": "x\x01\ny"}),
        ('{"a":"\\ud800!"}', {"a": "\ufffd!"}),
        ('{"a":"\\ud83d\\ude00"}', {"a": "😀"}),
        ('{"a":"\ud800"}', {"a": "\ufffd"}),
        ('{"a":1} trailing', {"a": 1}),
        ('{"a":NaN,"b":-Infinity,"c":1e999}', {"a": None, "b": None, "c": None}),
        ('{"a":' + "9" * 5000 + ',"b":1}', {"a": None, "b": 1}),
        ("[1]", None),
        ("null", None),
        ("", None),
        ("<html>", None),
        ('{"a":', None),
        ('{"a":' * 5000, None),
        ('{"a":' + "[" * 5000 + "]" * 5000 + "}", None),
        (None, None),
        ({"a": 1}, None),
    ],
)
def test_read_object(text: object, value: object) -> None:
    """What strict JSON forbids but Core writes is taken; what is no object is None; nothing raises."""
    assert read_object(text) == value


@given(value=st.dictionaries(st.text(), JSON, max_size=4))
def test_json_survives(value: dict[str, Any]) -> None:
    """Any JSON object that is written is read back as it was."""
    written = write_json(value)
    assert written is not None
    assert read_object(written) == value


@given(text=st.text(max_size=12), cut=st.integers(min_value=0))
def test_cut_object_keeps_the_beginning(text: str, cut: int) -> None:
    """Wherever a body is cut, what can be read of its text is a beginning of that text."""
    body = json.dumps({"choices": [{"message": {"content": text}}]}) + " "
    value = read_cut_object(body[: cut % len(body)] + ">>")
    choices = (value or {}).get("choices") or [{}]
    content = choices[0].get("message", {}).get("content", "")
    assert text.startswith(content.rstrip("\ufffd"))


@given(text=st.text() | st.text('{}[]",:\\u01d8 a>').map(lambda t: "{" + t))
def test_cut_object_never_raises(text: str) -> None:
    """Any text at all gives an object or None."""
    assert isinstance(read_cut_object(text), dict | None)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a", "a"),
        ("", None),
        (None, None),
        (5, None),
        ([], None),
        ([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:"}}, "b"], "a\nb"),
        ([{"type": "text", "text": 5}, None, {"type": ["text"], "text": "x"}, {"text": "c"}], "c"),
    ],
)
def test_text_of(content: object, text: str | None) -> None:
    """A string is its own text; text parts are joined by a newline; other parts have none."""
    assert text_of(content) == text


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ('{"a":1}', [{"a": 1}]),
        ('\ufeff [{"a":1}, 2, {"b":[3]}]', [{"a": 1}, {"b": [3]}]),
        ("[]", []),
        ('[{"a":1}', []),
        ('"[{}]"', []),
        ("3", []),
        ("", []),
    ],
)
def test_objects_are_one_or_those_of_an_array(text: str, objects: list[Any]) -> None:
    assert read_objects(text) == objects
