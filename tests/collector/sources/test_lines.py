from __future__ import annotations

import gzip
import io
import itertools
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.sources import lines as lines_module
from collector.sources.lines import SourceLine, join_parts, read_lines

BODIES = st.lists(st.binary(max_size=200).map(lambda raw: raw.replace(b"\x1f", b"")), max_size=20).map(b"\n".join)


def members(body: bytes, cuts: list[int]) -> bytes:
    """The body as a gzip stream of several members, cut at these places."""
    places = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    return b"".join(gzip.compress(body[a:b]) for a, b in itertools.pairwise(places))


@given(BODIES)
def test_the_lines_are_those_between_newlines(body: bytes) -> None:
    """Lines and positions are those that splitting the whole would give; only the last may be unended."""
    lines = list(read_lines(io.BytesIO(body)))
    pieces = body.split(b"\n")
    expected = pieces if pieces[-1] else pieces[:-1]
    assert [line.raw for line in lines] == expected
    assert all(line.ended for line in lines[:-1])
    assert lines == [] or lines[-1].offset == len(body)
    assert lines == [] or lines[-1].ended == body.endswith(b"\n")


@given(BODIES, st.lists(st.integers(0, 5000), max_size=3), st.integers(0, 600))
def test_gzip_of_several_members_reads_as_one_stream(body: bytes, cuts: list[int], zeros: int) -> None:
    """Members are joined, zeros after the last are padding, and positions are those of the unpacked stream."""
    packed = io.BytesIO(members(body, cuts) + b"\0" * zeros)
    plain = list(read_lines(io.BytesIO(body)))
    lines = list(read_lines(packed))
    assert [(line.raw, line.offset) for line in lines] == [(line.raw, line.offset) for line in plain]
    assert all(line.ended for line in lines)


@given(BODIES, st.booleans(), st.data())
def test_reading_goes_on_where_it_ended(body: bytes, packed: bool, data: st.DataObject) -> None:
    """From the position after any line the rest of the lines follow, plain or packed."""
    stream = gzip.compress(body) if packed else body
    lines = list(read_lines(io.BytesIO(stream)))
    if lines:
        taken = data.draw(st.integers(0, len(lines) - 1))
        assert list(read_lines(io.BytesIO(stream), lines[taken].offset)) == lines[taken + 1 :]


def test_a_cut_gzip_keeps_the_lines_before_the_cut_and_reports_the_rest() -> None:
    """Lines before the cut come whole, and the last of what comes says that the stream is broken."""
    noise = random.Random(1)
    body = b"".join(b"%d %s\n" % (n, noise.randbytes(3000).hex().encode()) for n in range(100))
    packed = gzip.compress(body)
    *lines, rest, report = read_lines(io.BytesIO(packed[: len(packed) // 2]))
    assert 30 < len(lines) < 70
    assert [line.raw for line in lines] == body.split(b"\n")[: len(lines)]
    assert not rest.ended
    assert report.problem == ("broken_gzip", "the gzip stream ends before its end mark; the lines before it are kept")


def test_many_small_members_are_not_held_together() -> None:
    """What is held of a stream does not grow with its members, be they ever so small (bgzip writes such)."""
    member = gzip.compress(b"x" * 100 + b"\n")

    class Watched(io.BytesIO):
        """A stream that counts how often it is read."""

        reads = 0

        def read(self, size: int | None = -1, /) -> bytes:
            self.reads += 1
            return super().read(size)

    stream = Watched(member * 20_000)
    reads_before_a_line = []
    for _ in read_lines(stream):
        reads_before_a_line.append(stream.reads)
        stream.reads = 0
    assert len(reads_before_a_line) == 20_000
    assert sum(reads == 0 for reads in reads_before_a_line) > 19_000


def test_bytes_behind_a_gzip_stream_are_reported() -> None:
    """Bytes that are no gzip after a whole member are a problem, not lines."""
    lines = list(read_lines(io.BytesIO(gzip.compress(b"a\nb\n") + b"garbage")))
    assert [line.raw for line in lines] == [b"a", b"b", b""]
    assert lines[-1].problem is not None
    assert lines[-1].problem[0] == "broken_gzip"


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_that_is_too_long_costs_only_itself(monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    """Of a line over the limit the beginning is kept with a reason; the lines around it are whole."""
    monkeypatch.setattr(lines_module, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(lines_module, "CHUNK_BYTES", 64)
    body = b"before\n" + b"x" * 5000 + b"\nafter\n"
    before, long, after = read_lines(io.BytesIO(gzip.compress(body) if packed else body))
    assert (before.raw, after.raw, after.offset) == (b"before", b"after", len(body))
    assert long.problem is not None
    assert long.problem[0] == "too_long"
    assert "5000 bytes" in long.problem[1]
    assert long.raw == b"x" * 1000


@pytest.mark.parametrize("nuls", [5_000, (64 << 20) + 77, (200 << 20) + 1])
def test_a_hole_of_nuls_costs_no_line_and_no_memory(tmp_path: Path, nuls: int) -> None:
    """NULs before a line, as a truncated file has them, are no part of its length; positions count them."""
    whole = tmp_path / "sparse.log"
    with whole.open("wb") as file:
        file.seek(nuls)
        file.write(b"one\ntwo\n")
    with whole.open("rb") as stream:
        one, two = read_lines(stream)
    assert one.raw.lstrip(b"\0") == b"one"
    assert len(one.raw) < 2_000
    assert one.problem is None
    assert (one.offset, two.offset, two.raw) == (nuls + 4, nuls + 8, b"two")
    with whole.open("rb") as stream:
        assert list(read_lines(stream, one.offset)) == [two]


def test_nuls_that_are_stored_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file system knows no holes the NULs are read, and few of them are kept."""
    monkeypatch.setattr(lines_module, "MAX_LINE_BYTES", 100_000)
    one, two = read_lines(io.BytesIO(b"\0" * 3_000_000 + b"one\ntwo"))
    assert one.raw.lstrip(b"\0") == b"one"
    assert len(one.raw) < 2_000
    assert one.problem is None
    assert (one.offset, two.raw) == (3_000_004, b"two")


CRI = b"2026-11-24T09:00:00.1Z stdout %b %b"


def test_parts_that_a_container_runtime_made_stay_together() -> None:
    """The lines with the parts of one line are one, with the position behind the last; others pass as they are."""
    a, b, c = CRI % (b"P", b"a"), CRI % (b"F", b"b"), CRI % (b"F", b"c")
    body = b"\n".join([b"plain", a, b, c]) + b"\n"
    lines = list(join_parts(read_lines(io.BytesIO(body))))
    assert [line.raw for line in lines] == [b"plain", a + b"\n" + b, c]
    assert lines[1].offset == len(b"plain\n" + a + b"\n" + b + b"\n")
    assert all(line.ended for line in lines)


def test_parts_whose_last_is_missing_are_unended() -> None:
    """At the end of a file the rest of the line is still to come; a line of Core behind it ends it."""
    a = CRI % (b"P", b'{"apiType"')
    (line,) = join_parts(read_lines(io.BytesIO(a + b"\n")))
    assert (line.raw, line.ended) == (a, False)
    assert [line.raw for line in join_parts(read_lines(io.BytesIO(a + b"\n" + a + b"\n")))] == [a, a]


def test_parts_without_end_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that no last one follows are given as soon as they are longer than the longest line."""
    monkeypatch.setattr(lines_module, "MAX_LINE_BYTES", 1_000)
    body = b"\n".join([CRI % (b"P", b"x" * 100)] * 50)
    lines = list(join_parts(read_lines(io.BytesIO(body))))
    assert max(len(line.raw) for line in lines) < 1_300
    assert b"\n".join(line.raw for line in lines) == body


@pytest.mark.parametrize(("length", "is_whole"), [(1000, True), (1001, False)])
def test_a_line_of_exactly_the_longest_length_is_whole(
    monkeypatch: pytest.MonkeyPatch, length: int, is_whole: bool
) -> None:
    """In chunks of any size."""
    monkeypatch.setattr(lines_module, "MAX_LINE_BYTES", 1000)
    for chunk in (7, 1000, 1001, 5000):
        monkeypatch.setattr(lines_module, "CHUNK_BYTES", chunk)
        line, after = read_lines(io.BytesIO(b"x" * length + b"\nafter\n"))
        assert ((line.problem is None), len(line.raw), line.offset) == (is_whole, 1000, length + 1)
        assert (after.raw, after.ended) == (b"after", True)
    assert lines_module._KEPT_OF_TOO_LONG == 1 << 20


@pytest.mark.parametrize(("nuls", "kept"), [(1, 1), (1024, 1024), (1025, 1024)])
def test_so_many_nuls_before_a_line_are_kept(nuls: int, kept: int) -> None:
    """NULs alone are a line that has not ended, with their position."""
    one, two = read_lines(io.BytesIO(b"a\n" + b"\0" * nuls + b"b\n"))
    assert (one.raw, two.raw, two.offset) == (b"a", b"\0" * kept + b"b", 2 + nuls + 2)
    (alone,) = read_lines(io.BytesIO(b"\0" * nuls))
    assert (alone.raw, alone.offset, alone.ended) == (b"\0" * kept, nuls, False)
    assert [line.raw for line in read_lines(io.BytesIO(b"a\0\n"))] == [b"a\0"]


def test_the_last_line_of_a_whole_gzip_has_ended() -> None:
    """Of a plain file, or of a gzip that is damaged, more may come; what comes after a part is whole."""
    for packed, ended in ((gzip.compress(b"a\nb"), True), (b"a\nb", False), (gzip.compress(b"a\nb")[:-1], False)):
        lines = [line for line in read_lines(io.BytesIO(packed)) if line.problem is None]
        assert [(line.raw, line.ended) for line in lines] == [(b"a", True), (b"b", ended)]
    assert list(read_lines(io.BytesIO(gzip.compress(b"ab\ncd\n")), 3)) == [SourceLine(b"cd", 6)]
    assert list(read_lines(io.BytesIO(gzip.compress(b"ab\ncd\n")), 6)) == []


def test_parts_are_bounded_in_number_and_end_with_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 10,000 are one line; a problem of the stream ends what was held before it."""
    assert lines_module._MOST_PARTS == 10_000
    monkeypatch.setattr(lines_module, "_MOST_PARTS", 3)
    part = CRI % (b"P", b"x")
    lines = [SourceLine(part, number) for number in range(1, 6)]
    assert [(line.raw.count(b"\n") + 1, line.offset, line.ended) for line in join_parts(lines)] == [
        (3, 3, True), (2, 5, False),
    ]  # fmt: skip
    last = SourceLine(CRI % (b"F", b"y"), 2, ended=False)
    assert [line.ended for line in join_parts([lines[0], last])] == [False]
    problem = SourceLine(b"", 9, ended=False, problem=("broken_gzip", "damaged"))
    held, broken = join_parts([lines[0], problem])
    assert ((held.raw, held.ended), broken) == ((part, True), problem)
    monkeypatch.setattr(lines_module, "MAX_LINE_BYTES", 2 * len(part))
    assert [line.raw.count(b"\n") + 1 for line in join_parts(lines)] == [3, 2]


def test_the_problem_of_a_damaged_gzip_has_a_position_of_its_own() -> None:
    """Behind that of the line before it, so that both are stored."""
    lines = list(read_lines(io.BytesIO(gzip.compress(b"a\nb")[:-1])))
    assert [(line.offset, line.problem is None) for line in lines] == [(2, True), (3, True), (4, False)]
