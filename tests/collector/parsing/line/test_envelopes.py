from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing import core_lines
from tests.collector.parsing.core_lines import core_line

LINE = core_line({"user.title": 'Zoë  \\ "analyst"'})
OTHER = core_line({"deployment": "gpt-4o"})
TIME = "2026-11-24T09:00:00.123456789Z"


def docker(text: bytes, *, last: bool = True, stream: str = "stdout") -> bytes:
    """What Docker's json-file driver writes; it leaves the line feed in the text of a whole line."""
    log = text.decode("utf-8", "replace") + ("\n" if last else "")
    return json.dumps({"log": log, "stream": stream, "time": TIME}, ensure_ascii=False, separators=(",", ":")).encode()


def cri(text: bytes, *, last: bool = True, stream: str = "stdout") -> bytes:
    """What containerd and CRI-O write."""
    return f"{TIME} {stream} {'F' if last else 'P'} ".encode() + text


def fluent_bit(text: bytes, *, last: bool = True, stream: str = "stdout") -> bytes:
    """What Fluent Bit makes of a line of containerd, with its parser `cri`."""
    tag = "F" if last else "P"
    return json.dumps({"date": 1.5, "stream": stream, "logtag": tag, "log": text.decode("utf-8", "replace")}).encode()


def cut(line: bytes, places: list[int]) -> list[bytes]:
    """A line in parts, cut between characters."""
    text = line.decode()
    ends = [0, *sorted(place % len(text) for place in places), len(text)]
    return [text[a:b].encode() for a, b in itertools.pairwise(ends)]


TEXT = LINE.decode()
WRAPPED = {
    "Docker json-file": docker(LINE),
    "Docker with attributes": {"log": TEXT + "\r\n", "attrs": {"tag": "core"}, "stream": "stdout", "time": TIME},
    "containerd": cri(LINE),
    "another zone, more tags": b"2026-11-24T09:00:00+02:00 stderr F:tag " + LINE,
    "Fluent Bit": {"log": TEXT},
    "Fluent Bit with a date": {"date": 1.5, "log": TEXT, "kubernetes": {"pod_name": "core"}},
    "array of Fluent Bit": [{"date": 1.5, "log": TEXT}],
    "Fluent Bit of containerd": fluent_bit(LINE),
    "Fluent Bit of Docker's file": {"date": 1.5, "log": docker(LINE).decode()},
    "Fluent Bit of containerd's file": {"log": cri(LINE).decode()},
    "journald": {"MESSAGE": TEXT, "PRIORITY": "6"},
    "journald with bytes": {"MESSAGE": list(LINE)},
    "Docker without its line feed": {"log": TEXT, "stream": "stdout", "time": TIME},
}


@pytest.mark.parametrize("shape", WRAPPED)
def test_a_wrapped_line_is_the_line(shape: str) -> None:
    """A line in the envelope of a container runtime or a shipper is given as the bytes that Core wrote."""
    written = WRAPPED[shape]
    wrapped = written if isinstance(written, bytes) else json.dumps(written).encode()
    assert core_lines(wrapped) == [LINE]
    assert core_lines(wrapped + b"\n" + LINE) == [LINE, LINE]


@pytest.mark.parametrize("wrap", [docker, cri, fluent_bit])
@given(places=st.lists(st.integers(0, 5000), max_size=5))
def test_parts_of_a_line_are_joined(wrap: Callable[..., bytes], places: list[int]) -> None:
    """Wherever a runtime cuts a line into parts, the line comes out whole, and the line after it too."""
    parts = cut(LINE, places)
    wrapped = [wrap(part, last=False) for part in parts[:-1]] + [wrap(parts[-1])]
    assert core_lines(b"\n".join([*wrapped, wrap(OTHER)])) == [LINE, OTHER]


def test_parts_of_two_streams_do_not_mix() -> None:
    """containerd writes standard output and errors into one file, part by part."""
    a, b = cut(LINE, [300])
    piece = b"\n".join([cri(a, last=False), cri(b"a warning", stream="stderr"), cri(b)])
    assert core_lines(piece) == [b"a warning", LINE]


def test_a_line_that_lost_its_last_part_costs_only_itself() -> None:
    """A part without its end is an entry of its own, and the line that begins behind it is whole."""
    assert core_lines(cri(LINE[:300], last=False) + b"\n" + cri(OTHER)) == [LINE[:300], OTHER]
    assert core_lines(docker(LINE[:300], last=False) + b"\n" + docker(OTHER)) == [LINE[:300], OTHER]


def test_parts_that_a_shipper_wrapped_once_more_are_joined() -> None:
    """Fluent Bit without a parser sends the lines of the container's file as they stand there."""
    for wrap in (docker, cri):
        a, b = cut(LINE, [300])
        records = [{"date": 1.5, "log": line.decode()} for line in (wrap(a, last=False), wrap(b), wrap(OTHER))]
        assert core_lines(json.dumps(records).encode()) == [LINE, OTHER]


def test_prefixes_without_end_are_unwrapped_once() -> None:
    """A line of nothing but prefixes takes no more than a moment, and is one entry."""
    assert len(core_lines(cri(b"") * 20_000 + LINE)) == 2


@pytest.mark.parametrize("member", ["log", "message", "MESSAGE"])
def test_a_member_of_this_name_in_a_line_of_core_is_no_envelope(member: str) -> None:
    """An object with a `request` is a line of Core."""
    line = core_line({member: "shipped"})
    assert core_lines(line) == [line]
