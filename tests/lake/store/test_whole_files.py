"""Small files that are kept for the other readers of this process."""

from __future__ import annotations

import uuid

import pytest

from lake.store.whole_files import _Kept, keep, kept


@pytest.fixture
def path() -> str:
    """A file that nobody has asked for."""
    return f"bucket/{uuid.uuid4().hex}"


def test_a_file_is_fetched_once(path: str) -> None:
    fetched: list[bytes] = []

    def fetch() -> bytes:
        fetched.append(b"bytes")
        return b"bytes"

    assert [kept(path, fetch), kept(path, fetch)] == [b"bytes", b"bytes"]
    assert len(fetched) == 1


def test_a_written_file_is_kept_if_it_has_at_most_a_mebibyte(path: str) -> None:
    keep(path, bytes(1 << 20))
    assert kept(path, lambda: b"fetched") == bytes(1 << 20)
    keep(f"{path}-large", bytes((1 << 20) + 1))
    assert kept(f"{path}-large", lambda: b"fetched") == b"fetched"


def test_what_was_asked_for_longest_ago_goes_where_too_much_is_kept() -> None:
    """A file that is kept again counts once."""
    some = _Kept(10)
    for name in "ab":
        some.put(name, b"12345")
    some.put("a", b"54321")
    assert (some.get("a"), some.get("b")) == (b"54321", b"12345")
    some.get("a")
    some.put("c", b"1")
    assert (some.get("a"), some.get("b"), some.get("c")) == (b"54321", None, b"1")
