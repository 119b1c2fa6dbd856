import pytest

from collector.parsing.line.line import Unreadable, read_line
from tests.collector.parsing.core_lines import core_line, members


def test_a_good_line_is_read_as_it_is() -> None:
    """A line of strict JSON needs no repair."""
    line = read_line(core_line())
    assert (line.members, line.repairs, line.cut) == (members(), (), False)


@pytest.mark.parametrize(
    ("written", "title", "repair"),
    [
        (b"Ana\xe2\x82lyst", "Ana\ufffdlyst", "invalid UTF-8 was replaced, first at byte "),
        (b"Ana\x1blyst", "Ana\ufffdlyst", "1 raw control character was replaced"),
        (b"A\x01\x00B", "A\ufffd\ufffdB", "2 raw control characters were replaced"),
        (b"A\\ud800B", "A\ufffdB", "lone surrogates were replaced"),
        (b"A\\udc00\\ud83dB", "A\ufffd\ufffdB", "lone surrogates were replaced"),
    ],
)
def test_what_strict_json_refuses_is_replaced_and_reported(written: bytes, title: str, repair: str) -> None:
    """What no reader of the lake could take becomes U+FFFD, the rest of the line stays, and a repair says so."""
    line = read_line(core_line().replace(b"Analyst", written))
    assert line.members == members({"user.title": title})
    assert len(line.repairs) == 1
    assert line.repairs[0].startswith(repair)


def test_only_what_is_wrong_is_replaced() -> None:
    """Whole pairs of surrogates, escaped backslashes and escaped controls are what the client sent."""
    written = b"\\ud800 \\ud83d\\ude00 \\\\ud800 \\u001b \\n"
    line = read_line(core_line().replace(b"Analyst", written))
    assert line.members["user"]["title"] == "\ufffd \U0001f600 \\ud800 \x1b \n"


@pytest.mark.parametrize("cut_at", [60, 200, 500, 900])
def test_a_cut_line_keeps_what_is_left(cut_at: int) -> None:
    """A line cut before its request has no time and is refused as cut, a later cut keeps the members before it."""
    entry = core_line()[:cut_at] + b">>"
    if b'"request":{' in entry:
        line = read_line(entry)
        assert line.cut
        assert line.members["deployment"] == "rag-app"
        assert line.repairs == (f"the line is cut after {len(entry)} bytes",)
    else:
        with pytest.raises(Unreadable, match=f"cut after {len(entry)} bytes") as refused:
            read_line(entry)
        assert refused.value.reason == "cut"


@pytest.mark.parametrize(
    ("entry", "reason", "message"),
    [
        (b"", "not_json", "Expecting value"),
        (b"\0" * 4096, "not_json", "4096 bytes"),
        (b"at com.epam.X", "not_json", "at com.epam.X"),
        (b'{"request":{"time":"2026"}} x', "not_json", "text follows"),
        (core_line().replace(b'"chat":', b'"chat"'), "not_json", "delimiter"),
        (b"{}", "empty_object", "empty"),
        (b'{"a":1}', "not_a_log_line", "keys: a"),
        (b'{"request":"x"}', "not_a_log_line", "no `request`"),
        (b"[]", "not_a_log_line", "JSON object"),
        (b"17", "not_a_log_line", "'17'"),
        (b"[" * 100_000, "too_deep", "levels deep"),
        (b'{"a":' * 100_000, "too_deep", "levels deep"),
    ],
)
def test_what_is_no_line_is_refused_with_its_reason(entry: bytes, reason: str, message: str) -> None:
    """Each refusal has one of the fixed reasons and says what was wrong."""
    with pytest.raises(Unreadable, match=message) as refused:
        read_line(entry)
    assert refused.value.reason == reason
