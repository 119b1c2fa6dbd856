"""Long exchanges as a judge is shown them: cut to a number of tokens, so that a call costs no more than that."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN = "transcripts/1"
"""Version of how exchanges are cut."""

MOST_TOKENS = 8_000
"""Of an exchange."""

_BYTES_A_TOKEN = 4
"""Of UTF-8: about right for Latin letters, and a little much for others."""

_LEFT_OUT = " [... {} characters are left out ...] "
_BYTES_OF_MARK = 60


def tokens(text: str) -> int:
    """Return about how many tokens a text has."""
    return -(-_size(text) // _BYTES_A_TOKEN)


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many tokens, 20 or more: of a longer one its beginning and its end."""
    if tokens(text) <= most:
        return text
    share = most * _BYTES_A_TOKEN / _size(text)
    half = max(int(len(text) * share) // 2, 1)
    begin, end = _within(text[:half], most), _within(text[-half:][::-1], most)[::-1]
    return f"{begin}{_LEFT_OUT.format(len(text) - len(begin) - len(end))}{end}"


def first_and_last(sizes: Sequence[int], most: int) -> list[int]:
    """Return the places that are shown of a list of parts with these sizes: the first, and the last ones that fit.

    The first and the last are shown whatever their size.
    """
    if len(sizes) <= 1:
        return list(range(len(sizes)))
    left, begin = most - sizes[0] - sizes[-1], len(sizes) - 1
    while begin > 1 and sizes[begin - 1] <= left:
        begin -= 1
        left -= sizes[begin]
    return [0, *range(begin, len(sizes))]


def _within(text: str, most: int) -> str:
    """Return the beginning that has half of so many tokens: letters of one text are not all of the same length."""
    return text.encode("utf-8", "surrogatepass")[: (most * _BYTES_A_TOKEN - _BYTES_OF_MARK) // 2].decode(
        "utf-8", "ignore"
    )


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
