import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing.answer.sse import all_chunks_have, chunk_id, chunks, first_model, is_ended, is_stream

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
    ],
)
def test_counting_ids(body: str, same: bool) -> None:
    """Counting says yes only where every event has the id; a doubt is a no."""
    assert all_chunks_have(body, "1") is same


IDS = st.sampled_from(["1", "2", "", None])


@given(ids=st.lists(IDS, min_size=1, max_size=6), done=st.booleans())
def test_counting_agrees_with_decoding(ids: list[str | None], done: bool) -> None:
    """Whenever counting says yes, decoding finds no other id."""
    events = ['{"id":"' + one + '"}' if one is not None else '{"x":"\\"id\\":\\"1\\""}' for one in ids]
    body = "".join(f"data: {event}\n\n" for event in events) + ("data: [DONE]\n\n" if done else "")
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
    events: list[dict[str, object]], end: str, done: str
) -> None:
    """Wherever it stands; models inside texts and of nested objects are none."""
    body = "".join("data: " + orjson.dumps(event).decode() + end for event in events) + done
    named = [event["model"] for event in events if isinstance(event.get("model"), str) and event["model"]]
    assert first_model(body) == (named[0] if named else None)
