import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing import core_lines
from tests.collector.parsing.core_lines import core_line, envelope

LINE = core_line()
OTHER = core_line({"deployment": "gpt-4o"})
BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("piece", "entries"),
    [
        pytest.param(LINE, [LINE], id="bare"),
        pytest.param(LINE + b"\r\n", [LINE], id="carriage return"),
        pytest.param(b"", [], id="nothing"),
        pytest.param(b" \t\r\n", [], id="blanks"),
        pytest.param(BOM, [], id="only a BOM"),
        pytest.param(BOM + b"\r\n" + BOM, [], id="BOMs and blanks"),
        pytest.param(BOM + LINE, [LINE], id="BOM"),
        pytest.param(envelope(LINE), [LINE], id="envelope"),
        pytest.param(envelope(LINE, extra={"a": 1}), [LINE], id="envelope with other keys"),
        pytest.param(envelope(LINE + b"\n"), [LINE], id="envelope with a line end"),
        pytest.param(envelope(b""), [], id="envelope of nothing"),
        pytest.param(envelope(LINE + OTHER), [LINE, OTHER], id="two lines in an envelope"),
        pytest.param(envelope(envelope(LINE)), [LINE], id="envelope in an envelope"),
        pytest.param(envelope(b"a stack trace"), [b"a stack trace"], id="envelope of no JSON"),
        pytest.param(b"[" + envelope(LINE) + b"," + envelope(OTHER) + b"]", [LINE, OTHER], id="array of envelopes"),
        pytest.param(b"[" + LINE + b", " + OTHER + b"]", [LINE, OTHER], id="array of lines"),
        pytest.param(b"[" + LINE + b"," + envelope(OTHER) + b"]", [LINE, OTHER], id="array of both"),
        pytest.param(b"[" + LINE + b",", [LINE], id="first line of an array written over lines"),
        pytest.param(LINE + b"]", [LINE], id="last line of an array written over lines"),
        pytest.param(
            b"[" + envelope(LINE) + b"," + envelope(OTHER)[:90], [LINE, b"," + envelope(OTHER)[:90]], id="cut array"
        ),
        pytest.param(b"[" + LINE + b',5,"x",' + OTHER + b"]", [LINE, b"5", b'"x"', OTHER], id="array with scalars"),
        pytest.param(LINE + OTHER, [LINE, OTHER], id="two lines"),
        pytest.param(LINE + b" \t" + OTHER + b" ", [LINE, OTHER], id="two lines with blanks"),
        pytest.param(LINE + BOM + OTHER, [LINE, OTHER], id="two lines with a BOM"),
        pytest.param(envelope(LINE) + envelope(OTHER), [LINE, OTHER], id="two envelopes"),
        pytest.param(LINE[:400] + OTHER, [LINE[:400], OTHER], id="a cut line with another behind it"),
        pytest.param(b"\0" * 99 + LINE, [b"\0" * 99, LINE], id="NULs before a line"),
        pytest.param(b"\0" * 99 + envelope(LINE), [b"\0" * 99, LINE], id="NULs before an envelope"),
        pytest.param(LINE + b"\0" * 99, [LINE, b"\0" * 99], id="NULs behind a line"),
        pytest.param(b"\0" * 4096, [b"\0" * 4096], id="only NULs"),
        pytest.param(b"\tat com.epam.X(X.java:1)", [b"at com.epam.X(X.java:1)"], id="stack trace"),
        pytest.param(b"2026-10-01 INFO " + LINE, [b"2026-10-01 INFO ", LINE], id="text before a line"),
        pytest.param(b"[ERROR] gone", [b"[ERROR] gone"], id="no array"),
        pytest.param(b"[]", [b"[]"], id="empty array"),
        pytest.param(b"[[1,2],[3]]", [b"1", b"2", b"3"], id="numbers"),
        pytest.param(b"{}", [b"{}"], id="empty object"),
        pytest.param(b"{}{}", [b"{}", b"{}"], id="two empty objects"),
        pytest.param(b"\xff\xfe", [b"\xff\xfe"], id="no text"),
    ],
)
def test_entries_of_a_piece(piece: bytes, entries: list[bytes]) -> None:
    """A piece gives Core's lines as the bytes that Core wrote, and what is no line as it came."""
    assert core_lines(piece) == entries


def test_an_object_with_a_request_is_a_line_whatever_else_it_holds() -> None:
    """A line whose shipper added a `message` is not taken for an envelope."""
    line = core_line({"message": "shipped"})
    assert core_lines(line) == [line]


def test_a_piece_of_endless_breaks_is_not_cut_endlessly() -> None:
    """Each break costs time for all text before it, so a piece of nothing but breaks ends as one long entry."""
    piece = b'{"apiType":"x",]' * 1_000
    entries = core_lines(piece)
    assert b"".join(entries) == piece
    assert len(entries) < 200


def test_texts_that_look_like_the_seam_of_two_lines_do_not_split_a_line() -> None:
    """Braces, quotes and whole log lines inside the texts of a line are texts."""
    line = core_line(
        {"user.title": "}{", "request.body": 'x}{"a":1}{"apiType":"y","message":"z"}', "chat.id": '"message"'}
    )
    assert core_lines(line) == [line]


def test_an_envelope_keeps_what_is_no_utf8() -> None:
    """Bytes of a message that are no UTF-8 reach the line's reader, which repairs and reports them."""
    piece = envelope(LINE).replace(b"Analyst", b"Ana\xe2\x82lyst")
    assert core_lines(piece) == [LINE.replace(b"Analyst", b"Ana\xe2\x82lyst")]


def test_an_envelope_with_a_lone_surrogate_loses_nothing_else() -> None:
    """An escape that is half a character does not cost the message."""
    piece = envelope(LINE).replace(b"Analyst", b"\\ud800")
    (entry,) = core_lines(piece)
    assert entry == LINE.replace(b"Analyst", b"\xed\xa0\x80")


@given(st.lists(st.sampled_from([LINE, OTHER]), min_size=1, max_size=4), st.data())
def test_any_wrapping_gives_the_same_lines(lines: list[bytes], data: st.DataObject) -> None:
    """Bare or wrapped, in an array or one behind the other: the same lines come out in the same order."""
    wrapped = [envelope(line) if data.draw(st.booleans()) else line for line in lines]
    for piece in (b"".join(wrapped), b"[" + b",".join(wrapped) + b"]", b" ".join(wrapped) + b"\n"):
        assert core_lines(piece) == lines


@given(
    st.lists(
        st.one_of(
            st.sampled_from([b"{", b"}", b"[", b"]", b",", b'"', b"\0", BOM, b'{"apiType"', b'"message":', LINE[:50]]),
            st.binary(max_size=5),
        ),
        max_size=12,
    )
)
def test_no_byte_of_what_is_no_envelope_is_lost(fragments: list[bytes]) -> None:
    """Entries put together again are the piece, but for blanks, BOMs, and the punctuation of arrays."""
    piece = b"".join(fragments)
    try:
        json.loads(piece)
    except ValueError:
        entries = core_lines(piece)
        kept = piece.replace(BOM, b"").translate(None, b" \t\r\n\v\f,[]")
        assert b"".join(entries).replace(BOM, b"").translate(None, b" \t\r\n\v\f,[]") == kept
        assert all(entries)
