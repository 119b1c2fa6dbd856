"""Highlights: a context in pieces, each with the facts that it says, as aidial-rag-eval 0.7.0 writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from evaluator.metrics.matchers import CITATION
from evaluator.metrics.matching import FactMatcher, FactsFound, Span


def highlight(context: str, spans: Sequence[tuple[int, Span]]) -> str:
    """Give a context in pieces as JSON: `{"match": [{"text": piece, "facts": [indexes]}, ...]}`.

    `spans` are a fact's index and the characters that it covers. The pieces joined give the context back.
    """
    events = sorted((at, ends, fact) for fact, (start, end) in spans for at, ends in ((start, False), (end, True)))
    pieces: list[dict[str, Any]] = []
    # A set, for the package writes its facts in a set's order.
    covering: set[int] = set()
    done = 0
    for at, ends, fact in events:
        if done < at:
            pieces.append({"text": context[done:at], "facts": list(covering)})
        done = at
        (covering.remove if ends else covering.add)(fact)
    if done < len(context):
        pieces.append({"text": context[done:], "facts": list(covering)})
    return json.dumps({"match": pieces})


def highlights(facts: Sequence[str], contexts: Sequence[str], matcher: FactMatcher = CITATION) -> list[str]:
    """Give the highlight of each context: the first place of each fact that the matcher finds in it."""
    return highlights_of(matcher.finder()(facts, contexts), facts, contexts, matcher)


def highlights_of(found: FactsFound, facts: Sequence[str], contexts: Sequence[str], matcher: FactMatcher) -> list[str]:
    """Give the highlights where the matcher has found already which context holds which fact."""
    highlighted: list[str] = []
    for context, held in zip(contexts, found.held, strict=True):
        spans = [(index, matcher.span(facts[index], context)) for index in held]
        highlighted.append(highlight(context, [(index, span) for index, span in spans if span is not None]))
    return highlighted
