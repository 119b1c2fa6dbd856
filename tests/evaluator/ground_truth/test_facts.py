import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.ground_truth.facts import supporting_sentences
from evaluator.metrics import ABSENT, fact_ranks, sentences

CHUNK = "Arthur's Magazine (1844–1846) was a periodical.First for Women is a woman's magazine. It is sold in the USA."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It was sold.First for Women is not. Or is it?", ["It was sold.", "First for Women is not.", "Or is it?"]),
        ("Dr. A met J. K. Low. They spoke, e.g. of books.", ["Dr. A met J. K. Low.", "They spoke, e.g. of books."]),
        ("It cost 3.5 million\nin 2012. Really?", ["It cost 3.5 million\nin 2012.", "Really?"]),
        ("Title\n\nSteps:\n- one\n- two\n1. three", ["Title", "Steps:", "- one", "- two", "1. three"]),
        ("私は猫。名前はない。", ["私は猫。", "名前はない。"]),
        ("", []),
        (" \n ", []),
    ],
)  # fmt: skip
def test_a_text_is_cut_into_sentences(text: str, expected: list[str]) -> None:
    """Sentences, list items and paragraphs; not at initials, titles, decimals or line breaks."""
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("context", "fact"),
    [
        ("-20 °C is the lowest temperature.", "-20 °C is the lowest temperature"),
        ("- 20 degrees is the lowest temperature.", "20 degrees is the lowest temperature"),
        ("The lowest margin is -3.2%.", "The lowest margin is -3.2%"),
        ("“$5 is the lowest price!”", "$5 is the lowest price"),
    ],
)
def test_a_fact_keeps_the_sign_of_its_number(context: str, fact: str) -> None:
    """Marks around a sentence go, but for those that are part of its first or last number."""
    assert supporting_sentences(context, [context]) == [fact]


def test_sentences_with_half_of_an_answers_words_are_facts() -> None:
    """In the order of the chunks, each once, without outer punctuation; function words and [1] do not count."""
    contexts = [
        "Other text. “Delhi is the seat of government!” And more.",
        "Delhi is the seat of government. Paris is not.",
    ]
    assert supporting_sentences("The seat of the government is in Delhi [1].", contexts) == [
        "Delhi is the seat of government"
    ]
    assert supporting_sentences("Arthur's Magazine", [CHUNK]) == [
        "Arthur's Magazine (1844–1846) was a periodical",
        "First for Women is a woman's magazine",
    ]
    assert supporting_sentences("It is not.", contexts) == []
    assert supporting_sentences("Anything", []) == []


def test_each_sentence_of_a_long_answer_finds_its_own_fact() -> None:
    """An answer of two sentences is not one claim whose words no single sentence could carry."""
    contexts = ["The river is very long.", "Whales sing at night."]
    assert len(supporting_sentences("The river is long. Whales sing at night in winter.", contexts)) == 2


@given(st.text(alphabet=st.sampled_from("ab. \n-!é。A["), max_size=40), st.lists(st.text("ab. \n-!é。A", max_size=40)))
def test_every_fact_stands_in_a_context(answer: str, contexts: list[str]) -> None:
    """Whatever the texts, each fact is found by the citation matcher and holds a letter or digit."""
    facts = supporting_sentences(answer, contexts)
    assert ABSENT not in fact_ranks(facts, contexts)
    assert all(any(character.isalnum() for character in fact) for fact in facts)
