"""Numbers of what was retrieved: contexts by rank, entities and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from evaluator.metrics.language.prose_sentences import prose_sentences
from evaluator.metrics.llm.verdicts.judged import Flag, Judged, Verdict, flags
from lake.spec.vocabulary import UnscoredReason


def context_precision(verdicts: Sequence[Verdict]) -> Judged:
    """Mean over the useful contexts of the share of useful ones down to their rank, 0 to 1.

    Gives: context precision, where the verdict asks whether a context was of use for the reference answer; context
        utilization, where it asks so of the answer. The two are never compared: a wrong answer makes wrong contexts
        useful.
    Formula: Σ over useful ranks i: useful contexts among the first i / i; / useful contexts; 0 if none is useful
    Source: ragas (ContextPrecision, ContextUtilization)
    On nothing: no contexts: null with `no_contexts`
    Missing verdicts: null with `judge_failed` and the least and greatest value that any verdicts there give; a value
        where all of them give the same
    Packages: without contexts ragas' older interface and deepeval say 0 and its newer one raises an exception. ragas
        adds 1e-10 to the denominator, so that a perfect value is .9999999999 there. RAGChecker's context precision has
        no ranks: see `claim_numbers`.
    """
    useful = flags(verdicts)
    if not useful:
        return Judged.nothing(UnscoredReason.NO_CONTEXTS)
    if None in useful:
        return Judged.between(_extreme(useful, greatest=False), _extreme(useful, greatest=True))
    ranks = [rank for rank, is_useful in enumerate(useful, 1) if is_useful]
    return Judged.known(sum(count / rank for count, rank in enumerate(ranks, 1)) / len(ranks) if ranks else 0.0)


def _extreme(useful: Sequence[Flag], *, greatest: bool) -> float:
    # A useful context adds (useful ones above it + 1) / rank, whatever lies below. So the best sum for each number of
    # useful contexts among the first i is that among the first i - 1, with this one or without it.
    none, better = (-np.inf, np.maximum) if greatest else (np.inf, np.minimum)
    count = np.arange(len(useful) + 1)
    sums = np.full(len(useful) + 1, none)
    sums[0] = 0.0
    for rank, is_useful in enumerate(useful, 1):
        with_it = np.concatenate(([none], sums[:-1] + count[1:] / rank))
        without_it = sums
        sums = with_it if is_useful else without_it if is_useful is False else better(with_it, without_it)
    values = np.where(np.isfinite(sums), sums / np.maximum(count, 1), none)
    return float(values.max() if greatest else values.min())


def context_entity_recall(
    reference: Sequence[str] | None,
    contexts: Sequence[str] | None,
    *,
    denominator: Literal["distinct", "listed"] = "distinct",
) -> Judged:
    """Share of the reference answer's entities that the contexts name too, 0 to 1.

    Formula: |distinct entities of the reference ∩ entities of the contexts| / |distinct entities of the reference|;
        equal strings are the same entity, nothing is trimmed or folded
    Source: ragas (ContextEntityRecall)
    On nothing: no entities in the reference: null with `no_entities`; none in the contexts: 0
    Missing verdicts: a list that is None: null with `judge_failed`, from 0 to 1
    Packages: ragas adds 1e-8 to the denominator, so that no entities in the reference are 0 there. Its older interface
        counts an entity that the reference lists twice as two below and one above (`denominator="listed"`).
    """
    if reference is None:
        return Judged.between(0.0, 1.0)
    if not reference:
        return Judged.nothing(UnscoredReason.NO_ENTITIES)
    if contexts is None:
        return Judged.between(0.0, 1.0)
    distinct = set(reference)
    return Judged.known(len(distinct & set(contexts)) / len(distinct if denominator == "distinct" else reference))


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
