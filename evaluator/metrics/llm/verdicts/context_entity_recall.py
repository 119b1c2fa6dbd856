"""Share of the reference answer's entities that the contexts name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from evaluator.metrics.llm.verdicts.judged import Judged
from lake.spec.vocabulary import UnscoredReason


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
