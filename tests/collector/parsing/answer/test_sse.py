import itertools

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing.answer import sse
from collector.parsing.answer.sse import all_chunks_have, chunk_id, chunks, events, first_model, is_ended, is_stream

A, B = '{"id":"1","a":1}', '{"id":"1","b":2}'


@pytest.mark.parametrize(
    "body",
    [
        f"data: {A}\n\ndata: {B}\n\ndata: [DONE]\n\n",
        f"data: {A}\r\n\r\ndata: {B}\r\n\r\ndata: [DONE]\r\n\r\n",
        f"data: {A}\r\rdata: {B}\r\r",
        f"data:{A}\ndata:{B}\ndata:[DONE]",
        f"\ufeff\n\n: ping\n\nevent: x\nid: 7\ndata: {A}\n: ping\n\nretry: 5\nevent: y\ndata:   {B}\n\n",
        f"data: {A}\n\ndata: {B}\n\ndata: [DONE]\n\ndata: {A}\n\n",
    ],
)
def test_layouts(body: str) -> None:
    """Line ends, comments, other fields and a byte order mark change nothing; `[DONE]` is the end."""
    assert is_stream(body)
    assert list(chunks(body)) == [{"id": "1", "a": 1}, {"id": "1", "b": 2}]


def test_text_that_looks_like_an_event_is_text() -> None:
    """`data:` inside a JSON string begins no event, even after a line feed that was not escaped."""
    body = 'data: {"t":"x\\ndata: y data: z"}\n\ndata: {"t":"raw\nline"}\n\n'
    assert list(chunks(body)) == [{"t": "x\ndata: y data: z"}, {"t": "raw\nline"}]


def test_an_unreadable_chunk_is_none() -> None:
    """A chunk that is no JSON object is returned as None and does not hide those beside it."""
    assert list(chunks(f"data: {A}\n\ndata: oops\n\ndata: [1]\n\ndata:\n\ndata: {B[:-3]}>>")) == [
        {"id": "1", "a": 1},
        None,
        None,
        None,
    ]


@pytest.mark.parametrize("body", ['{"a":1}', "", "<html>data: x", "database: x"])
def test_other_bodies_are_no_stream(body: str) -> None:
    """Only text that begins as an event is a stream."""
    assert not is_stream(body)


@pytest.mark.parametrize(
    ("body", "same"),
    [
        (f"data: {A}\n\ndata: {B}\n\ndata: [DONE]\n\n", True),
        (f"data: {A}\n\ndata: {B}\n\n", True),
        ('data: {"choices":[],"id":"","model":""}\n\ndata: {"choices":[],"id":"1"}\n\ndata: [DONE]\n\n', True),
        ('data: {"id": "1"}\n\ndata: {"id": "1"}\n\ndata: [DONE]\n\n', True),
        (f'data: {A}\n\ndata: {{"id":"2"}}\n\ndata: [DONE]\n\n', False),
        (f'data: {A}\n\ndata: {{"error":{{}}}}\n\ndata: [DONE]\n\n', False),
        (f"data: {A}\r\n\r\ndata: {B}\r\n\r\n", False),
        (f'data: {A}\ndata: {{"id":"2"}}\n\n', False),
        (f"data: {A}\n\n: ping\n\ndata: {B}\n\n", True),
        (f"data: {A}\n\ndata: {B[:-2]}>>", False),
        (f'data: {A}\n\ndata: {{"t":"\\"id\\":\\"1\\""}}\n\n', False),
        (f'data: {{"id":"2","choices":[{{"delta":{{"tool_calls":[{{"id":""}}]}}}}]}}\n\ndata: {B}\n\n', False),
        (f'data: {A}\n\ndata: {B[:-1]},"t":"d is: bad:"}}\n\ndata: [DONE]\n\n', True),
        (f'data: {{"id":"2"}}data: {B}\n\n', False),
        (f'data: {A}\n\ndata: {B}\rdata: {{"id":"2"}}\r\r: ping\n\n', False),
        (f'data: {B}\n\ndata: {{"id":"2"}}data: [DONE]\n\n', False),
    ],
)
@pytest.mark.parametrize("length", [1, 10_000])
def test_counting_ids(body: str, same: bool, length: int) -> None:
    """Counting says yes only where every event has the id; a doubt is a no, in short and in long answers."""
    body = body.replace('"b":2', f'"b":"{"x" * length}"')
    assert all_chunks_have(body, "1") is same


IDS = st.sampled_from(["1", "2", "", None])


ENDS = st.sampled_from(
    ["\n\n", "\n\n", "\n\n", "\n", "\r\n\r\n", "\r", "", "\n\n: data\n\n", "\n\n\n\n", "\n: d?t?:\n"]
)


@given(st.lists(st.tuples(IDS, ENDS), min_size=1, max_size=6), st.booleans(), st.sampled_from([1, 7_000]))
def test_counting_agrees_with_decoding(sent: list[tuple[str | None, str]], done: bool, length: int) -> None:
    """Whenever counting says yes, decoding finds no other id, whatever stands between the events."""
    text = "x" * length
    body = "".join(
        ('data: {"id":"' + one + f'","t":"{text}"}}' if one is not None else 'data: {"x":"\\"id\\":\\"1\\""}') + end
        for one, end in sent
    ) + ("data: [DONE]\n\n" if done else "")
    if all_chunks_have(body, "1"):
        assert {chunk_id(chunk or {}) for chunk in chunks(body)} - {None} <= {"1"}
    assert is_ended(body) is done


@given(body=st.text() | st.text('dat:{}"\n\r [DONE]>id').map(lambda text: "data: " + text))
def test_any_text(body: str) -> None:
    """Any text gives chunks that are objects or None."""
    assert all(isinstance(chunk, dict | None) for chunk in chunks(body))
    all_chunks_have(body, body)


EVENTS = st.fixed_dictionaries(
    {"id": st.just("r"), "choices": st.just([])},
    optional={
        "model": st.sampled_from(["", "gpt-4o", "other", None, 5]),
        "text": st.sampled_from(['"model":"x"', "}\n\ndata: ", '\\"model\\":\\"x\\"', "\\n\n", "я"]),
        "statistics": st.just({"usage_per_model": [{"model": "nested"}]}),
    },
)


@given(
    st.lists(EVENTS, max_size=9), st.sampled_from(["\n\n", "\r\n\r\n", "\n"]), st.sampled_from(["data: [DONE]\n\n", ""])
)
def test_the_first_model_is_that_of_the_first_event_that_names_one(
    sent: list[dict[str, object]], end: str, done: str
) -> None:
    """Wherever it stands; models inside texts and of nested objects are none."""
    body = "".join("data: " + orjson.dumps(event).decode() + end for event in sent) + done
    named = [event["model"] for event in sent if isinstance(event.get("model"), str) and event["model"]]
    assert first_model(body) == (named[0] if named else None)


OTHER_LINES = st.sampled_from([": ping", ":", ":data: x", "id: 7", "id", "retry: 3000", "other: x", "data2: x"])
OBJECTS = st.dictionaries(st.sampled_from(["a", "data", "b: c"]), st.integers(-9, 9) | st.text(max_size=5) | st.lists(
    st.dictionaries(st.just("x"), st.integers(0, 9), max_size=2), max_size=3), max_size=3)  # fmt: skip


@st.composite
def written_events(draw: st.DrawFn) -> tuple[str, list[tuple[str, str]]]:
    """Text of events, and the name and data of each; data is JSON over several lines."""
    blocks, expected = [], []
    for value in draw(st.lists(OBJECTS, max_size=5)):
        lines = [""]
        for line in orjson.dumps(value, option=orjson.OPT_INDENT_2).decode().split("\n"):
            lines = [*lines, line] if draw(st.booleans()) else [*lines[:-1], lines[-1] + line]
        lines = [line for number, line in enumerate(lines) if number or line]
        name = draw(st.sampled_from(["", "message", "error", "a: b"]))
        space = draw(st.sampled_from(["", " "]))
        fields = [f"data:{space}{line}" if space or not line.startswith(" ") else f"data: {line}" for line in lines]
        if name:
            fields.insert(draw(st.integers(0, len(fields))), f"event:{space}{name}")
        for other in draw(st.lists(OTHER_LINES, max_size=3)):
            fields.insert(draw(st.integers(0, len(fields))), other)
        blocks.append("\n".join([*fields, ""]))
        expected.append((name, "\n".join(lines)))
    text = draw(st.sampled_from(["\n", "\n\n"])).join(blocks) + draw(st.sampled_from(["", "\n", "\n: end"]))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    return draw(st.sampled_from(["", "\ufeff"])) + text.replace("\n", end), expected


def test_events_with_and_without_a_name_stand_beside_each_other() -> None:
    """An event among events of another layout is read as it is where it stands alone."""
    named, bare, split = "event: a\ndata: 1\n\n", "data: 2\n\n", "event: b\ndata: [\ndata: 3]\n\n"
    alone = {block: list(events(block)) for block in (named, bare, split)}
    assert list(alone.values()) == [[("a", "1")], [("", "2")], [("b", "[\n3]")]]
    for blocks in itertools.product(alone, repeat=3):
        assert list(events("".join(blocks))) == [event for block in blocks for event in alone[block]]


@given(written_events())
def test_events_are_those_of_the_standard(written: tuple[str, list[tuple[str, str]]]) -> None:
    """However the fields stand in the lines and whatever ends a line: the same names and data come out."""
    body, expected = written
    assert list(events(body)) == expected


@given(written_events())
def test_a_line_feed_between_the_lines_of_data_changes_no_chunk(written: tuple[str, list[tuple[str, str]]]) -> None:
    """Several lines are the JSON text that they are parts of."""
    body, expected = written
    found = list(chunks(body))
    assert len(found) == len(expected)
    for chunk, (name, data) in zip(found, expected, strict=True):
        value = orjson.loads(data)
        assert chunk == (value if name != "error" else {"error": value or "{}"})


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("data: a\ndata: b\n\n", [("", "a\nb")]),
        ("data:  a\n\n", [("", " a")]),
        ("data: a\ndata\ndata: b\n\n", [("", "a\n\nb")]),
        (f"data: {A}\ndata: {B}\n", [("", A), ("", B)]),
        (f"event: x\ndata: {A}\nevent: y\ndata: {B}\n", [("x", A), ("y", B)]),
        (f"event: x\ndata: {A}\nid: 1\n\nevent: y\ndata: {B}", [("x", A), ("y", B)]),
        (f"data: {A}\nevent: x\n\ndata: {B}\n\n", [("x", A), ("", B)]),
        ('data: {"a":\ndata: 1}\ndata: [DONE]\n', [("", '{"a":\n1}'), ("", "[DONE]")]),
        (f"event: x\n\ndata: {A}\n\n", [("", A)]),
        (f"event: error\n\ndata: {A}\n\n", [("error", ""), ("", A)]),
        (f'error: {{"a":1}}\n\ndata: {A}\n\n', [("error", '{"a":1}'), ("", A)]),
        (f"data: {A}\n\n{B}\n\ndata: {A}\n\n", [("", A), ("", B), ("", A)]),
        (f'data: {A}\n\ndata: {{"t":"raw\n\nline"}}\n\ndata: {B}\n\n',
         [("", A), ("", '{"t":"raw\n\nline"}\n\n'), ("", B)]),
        (f"data: {A}\ndata: [DONE]\ndata: [DONE]\n", [("", A), ("", "[DONE]"), ("", "[DONE]")]),
        ("\n\n\n", []),
    ],
)  # fmt: skip
def test_names_and_data(body: str, found: list[tuple[str, str]]) -> None:
    """The standard's rules, and what senders do beside it."""
    assert list(events(body)) == found


def test_the_name_of_an_event_is_the_type_that_its_data_lacks() -> None:
    """Of the Responses and Messages APIs alone; a name of another API says nothing."""
    body = 'event: response.failed\ndata: {"response":{}}\n\nevent: message\ndata: {"id":"1"}\n\n'
    assert list(chunks(body)) == [{"response": {}, "type": "response.failed"}, {"id": "1"}]


@given(written_events(), st.integers(0, 200))
def test_a_long_body_has_the_events_of_a_short_one(written: tuple[str, list[tuple[str, str]]], longest: int) -> None:
    """Events of a long body are read one by one, those of others all at once."""
    body, expected = written
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sse, "_LONGEST_SPLIT", longest)
        assert list(events(body)) == expected


@pytest.mark.parametrize(
    "line",
    ["data: [DONE]", "data: x", "data: {}", "event: x\ndata: }", "event: error", ": x", "x", "data", "error: x", "{}"],
)
def test_many_lines(line: str) -> None:
    """The work grows with the text and not with its square: a line that is repeated 50,000 times is read."""
    for end in ("\n", "\n\n"):
        found = list(events(f"{line}{end}" * 50_000))
        assert len(found) in (0, 1, 50_000), len(found)
