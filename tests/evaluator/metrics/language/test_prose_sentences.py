"""Sentences of running text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.language.prose_sentences import prose_sentences

TEXTS = st.text(alphabet=st.sampled_from('aB1.!? \n")'), max_size=30)


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith works in the U.S.|He is well known.|He left.",
        "The U.S. Army fought.|It won.",
        "Fruit, e.g. apples, is good.|Is it?|Yes!",
        "Founded by Apple Inc. in 1976.|It is at Apple Inc.|The company grew.",
        "J. K. Rowling wrote it.|See Fig. 3 on p. 5.|No. 5 is alive.",
        "He left at 5 p.m. on Monday.|She left at 6 p.m.|They met.",
        "Pi is 3.14.|Version 2.0.1 is out.|See www.example.com now.",
        'He said "Hi."|Then he left.|"Is it?" he asked.|Wait... what?',
        "1. First item.|2. Second item.",
        "in lower case.|as in notes.",
        "今天天气好。|我们走吧！",
        "without an end",
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str) -> None:
    """Not after titles, initials, abbreviations and numbers of items; as pysbd counts them."""
    expected = text.split("|")
    assert prose_sentences(" ".join(expected)) == expected


def test_a_line_break_ends_a_sentence() -> None:
    """As in pysbd, so that a table's rows count each."""
    assert prose_sentences("one\ntwo three\n\n four.") == ["one", "two three", "four."]


@pytest.mark.parametrize("piece", [".", "a", ". ", "Mr. ", '."', "a.a. ", "。", "\n"])
def test_a_giant_text_is_cut_in_bounded_time(piece: str) -> None:
    """A row of dots, or of titles that end no sentence, is read once."""
    assert len(prose_sentences(piece * 300_000 + "end")) <= 300_001


@given(TEXTS)
def test_nothing_is_lost_between_sentences(text: str) -> None:
    """They have all characters but blanks, in order, and none is blank."""
    found = prose_sentences(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(sentence.strip() for sentence in found)
