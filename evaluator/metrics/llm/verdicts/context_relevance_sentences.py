"""Share of the contexts' sentences that a judge copied out as needed."""

from __future__ import annotations

from collections.abc import Sequence

from evaluator.metrics.language.prose_sentences import prose_sentences
from evaluator.metrics.llm.verdicts.judged import Judged
from lake.spec.vocabulary import UnscoredReason

INSUFFICIENT = "insufficient information"
"""What a judge says, in any case and with a full stop or without, where no sentence matters."""


def context_relevance_sentences(contexts: Sequence[str], extracted: str | None) -> Judged:
    """Share of the contexts' sentences that a judge copied out as needed for the answer, 0 to 1.

    `extracted` is what it copied out, which may be `INSUFFICIENT` information. Whether it stands in the contexts is
    not checked.

    Formula: sentences copied out / sentences of the contexts, at most 1
    Source: RAGAS, arXiv 2309.15217; ragas 0.1.9 (ContextRelevancy)
    On nothing: no contexts, or contexts without a sentence: 0 with the remark `no_contexts`; nothing copied out: 0
    Missing verdicts: where the reply is None null with `judge_failed`, from 0 to 1
    Packages: ragas counts "Insufficient Information" without a full stop as a sentence. It finds sentences by pysbd,
        here it is by a rule of its own; they may differ at rare abbreviations, quotes and brackets.
    """
    available = sum(len(prose_sentences(context)) for context in contexts)
    if not available:
        return Judged.known(0.0, UnscoredReason.NO_CONTEXTS)
    if extracted is None:
        return Judged.between(0.0, 1.0)
    if extracted.strip().rstrip(".").lower() == INSUFFICIENT:
        return Judged.known(0.0)
    return Judged.known(min(len(prose_sentences(extracted)) / available, 1.0))
