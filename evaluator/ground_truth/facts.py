"""Facts of a proposed case: the sentences of the contexts that have the words of the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evaluator.metrics import ABSENT, fact_ranks, sentences, tokens
from evaluator.metrics.language.marks import without_citation_marks, without_outer_marks

EXTRACTOR = "sentences/3"
"""Name and version of how cases are made: by `supporting_sentences`, with a question that stands without others."""

_LEAST_SHARE = 0.5
_FUNCTION_WORDS = """
    i you he she it we they his her its our their this that these those who which what when where how there
    is are was were be been being am do does did has have had can could will would may might should must
    and or but nor not no as of in on at to for from by with into about than then so if also
"""
_IGNORED = frozenset(_FUNCTION_WORDS.split())
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


def supporting_sentences(answer: str, contexts: Sequence[str]) -> list[str]:
    """Return the sentences of `contexts` that hold at least half of the content words of a sentence of `answer`.

    Content words are the distinct tokens of `evaluator.metrics.tokens` without English function words and without
    citation marks such as [1]. Sentences come in the order of the contexts, each once, without punctuation around
    them, so that another chunking of the same text holds them too; each stands in a context by the citation matcher.
    """
    said = [words for sentence in sentences(without_citation_marks(answer)) if (words := _content_words(sentence))]
    found = {
        without_outer_marks(sentence): None
        for context in contexts
        for sentence in sentences(context)
        if _supports(sentence, said)
    }
    ranks = fact_ranks(list(found), contexts)
    return [fact for fact, rank in zip(found, ranks, strict=True) if rank != ABSENT]


def _supports(sentence: str, said: Sequence[frozenset[str]]) -> bool:
    words = _content_words(sentence)
    return any(len(words & of_sentence) >= _LEAST_SHARE * len(of_sentence) for of_sentence in said)


def _content_words(sentence: str) -> frozenset[str]:
    # Dashes and quotes that are not ASCII stay as tokens of their own.
    return frozenset(token for token in tokens(sentence) if token not in _IGNORED and _LETTER_OR_DIGIT.search(token))
