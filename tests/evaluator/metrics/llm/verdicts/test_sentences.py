import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.metrics.llm.verdicts import Judged, context_relevance_sentences
from evaluator.metrics.llm.verdicts.sentences import sentences

TEXTS = st.text(alphabet=st.sampled_from('aB1.!? \n")'), max_size=30)


def test_worked_example() -> None:
    """One of two sentences is needed."""
    contexts = ["Paris is the capital of France. It has two million people."]
    assert context_relevance_sentences(contexts, "Paris is the capital of France.") == Judged.known(0.5)


@pytest.mark.parametrize(
    "extracted", ["Insufficient Information", "Insufficient Information.", " insufficient information.\n", "", " \n"]
)
def test_a_judge_that_needs_no_sentence_makes_zero(extracted: str) -> None:
    """The phrase that stands for none is not a sentence, with a full stop or without."""
    assert context_relevance_sentences(["A is b. C is d."], extracted) == Judged.known(0.0)


def test_without_contexts_there_is_nothing_of_use() -> None:
    """Also where they are blank."""
    nothing = Judged.known(0.0, "no_contexts")
    assert context_relevance_sentences([], "Something.") == context_relevance_sentences(["", " \n"], None) == nothing


def test_more_than_there_is_counts_as_all_and_a_lost_reply_is_open() -> None:
    """A judge that repeats itself does not pass 1."""
    assert context_relevance_sentences(["A is b.", "C is d."], "A is b. C is d. A is b.") == Judged.known(1.0)
    assert context_relevance_sentences(["A is b."], None) == Judged(None, "judge_failed", 0.0, 1.0)


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
    assert sentences(" ".join(expected)) == expected


def test_a_line_break_ends_a_sentence() -> None:
    """As in pysbd, so that a table's rows count each."""
    assert sentences("one\ntwo three\n\n four.") == ["one", "two three", "four."]


@pytest.mark.parametrize("piece", [".", "a", ". ", "Mr. ", '."', "a.a. ", "。", "\n"])
def test_a_giant_text_is_cut_in_bounded_time(piece: str) -> None:
    """A row of dots, or of titles that end no sentence, is read once."""
    assert len(sentences(piece * 300_000 + "end")) <= 300_001


@given(TEXTS)
def test_nothing_is_lost_between_sentences(text: str) -> None:
    """They have all characters but blanks, in order, and none is blank."""
    found = sentences(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(sentence.strip() for sentence in found)


@given(st.lists(TEXTS, max_size=4), TEXTS)
def test_a_share_is_from_zero_to_one_in_any_order_of_contexts(contexts: list[str], extracted: str) -> None:
    """All that was there is 1, if there was something."""
    found = context_relevance_sentences(contexts, extracted)
    assert found.value is not None
    assert 0 <= found.value <= 1
    assert found == context_relevance_sentences(contexts[::-1], extracted)
    everything = context_relevance_sentences(contexts, "\n".join(contexts))
    assert everything.value == float(bool("".join(contexts).strip()))
