"""Texts of strangers on a terminal."""

from __future__ import annotations

import pytest

from dialwatch.reports.terminal_text import in_lines, in_one_line, visible


def test_what_one_does_not_see_is_shown_by_its_code_point() -> None:
    assert visible("a\tb\r\nc\x1b[31m") == "a   b\nc[U+001B][31m"


@pytest.mark.parametrize(("text", "shown"), [("a\nb", "a b"), ("x" * 5, "xxxxx"), ("x" * 6, "xxxxx…")])
def test_a_name_stands_on_one_line(text: str, shown: str) -> None:
    assert in_one_line(text, 5) == shown


def test_a_text_is_indented_and_says_how_much_was_left_out() -> None:
    """A blank line has no spaces."""
    assert in_lines("a\n\nb") == "  a\n\n  b"
    assert in_lines("x" * 5, 5) == "  xxxxx"
    assert in_lines("x" * 2_006, 5) == "  xxxxx\n  ... and 2,001 more characters (--json has all)"
