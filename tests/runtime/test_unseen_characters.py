"""Characters that one does not see."""

from __future__ import annotations

import pytest

from runtime.unseen_characters import unseen_pieces, visible


@pytest.mark.parametrize(
    "character",
    [
        "\x00", "\x1b", "\r", "\x85", "\xad", "\u061c", "\u034f", "\u115f",
        "\u1160", "\u180e", "\u200b", "\u202e", "\u2028", "\u2066", "\u2800", "\u3164",
        "\ufe00", "\ufeff", "\uffa0", "\ud800", "\ue000", "\U000e0041", "\U000e0100", "\uffff",
    ],
)  # fmt: skip
def test_what_nobody_sees_is_written_out(character: str) -> None:
    """Control characters, turns of direction, letters without a shape, halves, and what Unicode does not know."""
    assert visible(f"a{character}b") == f"a[U+{ord(character):04X}]b"
    assert list(unseen_pieces(f"a{character}")) == [("a", False), (character, True)]


@pytest.mark.parametrize("text", ["", "a\tb\n", "क्\u200dष", "❤\ufe0f", "👩\u200d💻", "\u0600١٢", "日本 한글 é", "\xa0"])
def test_what_one_sees_stays(text: str) -> None:
    """Joiners, the choice of an emoji, and signs that Unicode counts as formats are parts of words."""
    assert visible(text) == text


def test_line_ends_are_line_feeds() -> None:
    """Those of Windows are no unseen characters."""
    assert visible("a\r\nb") == "a\nb"
