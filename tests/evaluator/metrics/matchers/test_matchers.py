"""Matchers: the context that each finds a fact in, and what is marked there."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.metrics import (
    AIDIAL_RAG_EVAL,
    CITATION,
    EXACT,
    STATEMENT,
    TRIMMED,
    FactMatcher,
    FactsFound,
    StatementMatcher,
    highlights,
)
from evaluator.metrics.matchers.canonical import canonical

ODD_TEXTS = st.text(alphabet=st.sampled_from("abİΣς .-\n_é你1"), max_size=25)


def ranks(matcher: FactMatcher, fact: str, *contexts: str) -> list[int]:
    return list(matcher.finder()([fact], contexts).ranks)


@pytest.mark.parametrize(
    ("matcher", "fact", "context", "found"),
    [
        (CITATION, "The sky is blue.", "We saw that the sky is blue", False),
        (TRIMMED, "The sky is blue.", "We saw that the sky is blue", True),
        (CITATION, "12", "in 2012", False),
        (AIDIAL_RAG_EVAL, "12", "in 2012", True),
        (CITATION, "3.5", "3 5", False),
        (AIDIAL_RAG_EVAL, "3.5", "3 5", True),
        (CITATION, "is -20 °C", "it is 20 °C", False),
        (CITATION, "is -20 °C", "it is \u221220\u00a0°C", True),
        (CITATION, "costs 1.000 Euro", "it costs 1000 Euro", True),
        (CITATION, "costs 1,000.50", "it costs 1 000,50 now", True),
        (CITATION, "costs 5", "it costs 50", False),
        (CITATION, "100 people", "in 2020 100 people came", True),
        (CITATION, "costs 5", "it costs 50, later it costs 5 again", True),
        (CITATION, "Café", "das Cafe\u0301", True),
        (AIDIAL_RAG_EVAL, "Café", "das Cafe\u0301", False),
        (CITATION, "find us", "\ufb01nd us", True),
        (CITATION, "Kundendienst", "Kun\u00ad\ndendienst", True),
        (CITATION, "straße", "strasse", False),
        (EXACT, "page2", "page2", True),
        (EXACT, "page2", "Page2", False),
        (EXACT, "page2", "page21", False),
        (STATEMENT, "The blue whale is the largest animal.", "as the blue whale is the largest of animals", True),
        (STATEMENT, "The blue whale is the largest animal.", "the largest animal of all is the whale", False),
        (STATEMENT, "The blue whale is the largest animal.", "The blue whale is the largest", True),
        (STATEMENT, "The blue whale is the largest animal.", "whale", False),
        (STATEMENT, "The blue whale is the largest animal.", "", False),
        (StatementMatcher(threshold=99), "The blue whale is the largest animal", "The blue whale is largest", False),
    ],
)
def test_who_finds_what(matcher: FactMatcher, fact: str, context: str, found: bool) -> None:
    """Citations are found to the letter, statements in nearly the same words, pages as a whole."""
    assert ranks(matcher, fact, context) == [0 if found else -1]
    assert bool(matcher.spans([fact], [context])[0]) == found


def test_a_statements_stretch_is_given_in_the_contexts_own_characters() -> None:
    """Marks and spaces that the comparison leaves out are counted, at the context's start too."""
    context = '  "The  blue whale" is large'
    ((_, span), (_, (start, _))) = STATEMENT.spans(["the blue whale", "the blue whales"], [context])[0]
    assert span == (3, 18)
    assert context[start:].startswith("The")


@pytest.mark.parametrize("threshold", [0, -1, 101])
def test_a_threshold_is_a_percentage(threshold: float) -> None:
    """A share where a percentage belongs would find everything."""
    with pytest.raises(ValueError, match="percentage"):
        StatementMatcher(threshold=threshold)


def test_a_long_statement_is_looked_for_to_the_letter() -> None:
    """Comparing by edits takes time with the lengths, so a whole page is only found where it is whole."""
    page = " ".join(f"word{number}" for number in range(200))
    assert ranks(STATEMENT, page, f"so: {page} end") == [0]
    assert ranks(STATEMENT, page, page.replace("word7 ", "")) == [-1]


@example(["İ x"], ["in İ x today"])
@example(["ab "], ["a ab - b"])
@given(st.lists(ODD_TEXTS, max_size=3), st.lists(ODD_TEXTS, max_size=3))
def test_pieces_give_the_context_back_and_mark_what_was_found(facts: list[str], contexts: list[str]) -> None:
    """The joined pieces are the context, and what is marked for a fact is canonically that fact."""
    for context, highlighted in zip(contexts, highlights(facts, contexts), strict=True):
        pieces = json.loads(highlighted)["match"]
        assert "".join(piece["text"] for piece in pieces) == context
        for index, fact in enumerate(facts):
            marked = "".join(piece["text"] for piece in pieces if index in piece["facts"])
            assert canonical(marked) == (canonical(fact) if canonical(fact) in canonical(context) else "")


@given(st.sampled_from([CITATION, TRIMMED, EXACT, STATEMENT]), st.lists(ODD_TEXTS, max_size=3), st.lists(ODD_TEXTS))
def test_a_span_is_there_just_where_the_fact_is_found(
    matcher: FactMatcher, facts: list[str], contexts: list[str]
) -> None:
    """Numbers and highlights are decided alike, and a span lies inside its context."""
    found = matcher.finder()(facts, contexts)
    spans = matcher.spans(facts, contexts)
    assert FactsFound.of([[index for index, _ in row] for row in spans], len(facts)) == found
    for context, row in zip(contexts, spans, strict=True):
        assert all(0 <= start <= end <= len(context) for _, (start, end) in row)
