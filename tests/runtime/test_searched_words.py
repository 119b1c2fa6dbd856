"""Excerpts of texts around the words that are searched, and where these stand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.searched_words import excerpt, places_of, wanted_words


@given(text=st.text(max_size=80), words=st.lists(st.text(min_size=1, max_size=4), max_size=3), most=st.integers(70, 90))
def test_an_excerpt_has_the_first_place_of_a_word_and_is_a_part_of_the_text(
    text: str, words: list[str], most: int
) -> None:
    """A text that is short enough stays whole; marks at either end say what was left out."""
    long = text * 3
    shown = excerpt(long, most, words)
    assert shown is not None
    assert len(shown) <= most
    if len(long) <= most:
        assert shown == long
        return
    assert shown.removeprefix("…").removesuffix("…") in long
    assert long.startswith(shown[:-1]) or shown.startswith("…")
    assert long.endswith(shown[1:]) or shown.endswith("…")
    first = next(places_of(long, words), None)
    if first is not None:
        assert long[slice(*first)] in shown


def test_the_words_are_marked_where_they_stand() -> None:
    """In any case, the longest of two with the same beginning, and as they are written: no pattern."""
    assert list(places_of("A name, NAMES.", ["name", "names"])) == [(2, 6), (8, 13)]
    assert list(places_of("a.b axb", ["."])) == [(1, 2)]
    assert list(places_of("name", [])) == []
    said = f"{'x' * 300} the Name {'y' * 300}"
    assert (excerpt(said, 200, ["name"]) or "").index("Name") == 61
    assert excerpt(said, 200, ["missing"]) == f"{'x' * 199}…"


def test_what_a_sentence_has_around_its_words_is_not_searched() -> None:
    """A word of marks alone stays, and so do short words where there is no other."""
    assert wanted_words("Wrong name, in Rome (the name)!") == ["Wrong", "name", "Rome", "the"]
    assert wanted_words("a.b «C++»") == ["a.b", "C++"]
    assert wanted_words("?! ...") == ["?!", "..."]
    assert wanted_words("I am.") == ["I", "am"]
