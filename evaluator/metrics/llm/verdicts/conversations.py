"""Numbers of a conversation: intents that were met, and turns of the assistant that forgot or repeated something."""

from __future__ import annotations

from collections.abc import Sequence

from evaluator.metrics.llm.verdicts.judged import Judged, Verdict, flag, negated, share
from lake.spec.vocabulary import UnscoredReason


def conversation_completeness(met: Sequence[Verdict]) -> Judged:
    """Share of the user's intents that were met, 0 to 1, from a verdict an intent.

    Formula: intents met / intents
    Source: DeepEval (ConversationCompletenessMetric)
    On nothing: no intents: null with `no_intents`
    Missing verdicts: left out, as in DeepEval; null with `judge_failed` where all are missing
    Packages: without intents DeepEval says 1.
    """
    return _share([flag(verdict) for verdict in met], UnscoredReason.NO_INTENTS)


def knowledge_retention(forgot: Sequence[Verdict]) -> Judged:
    """Share of the assistant's turns that forgot nothing of what the user had said, 0 to 1, from a verdict a turn.

    Formula: 1 - turns that forgot / turns of the assistant
    Source: DeepEval (KnowledgeRetentionMetric)
    On nothing: no turns: null with `no_intents`
    Missing verdicts: left out, as in DeepEval; null with `judge_failed` where all are missing
    Packages: without turns DeepEval says 1.
    """
    return _share([negated(flag(verdict)) for verdict in forgot], UnscoredReason.NO_INTENTS)


def repetition(repeats: Sequence[Verdict]) -> Judged:
    """Share of the assistant's turns that say again what it had said before, without being asked to, 0 to 1.

    Formula: turns that repeat / turns of the assistant
    Source: dialwatch
    On nothing: no turns: null with `no_intents`
    Missing verdicts: left out; null with `judge_failed` where all are missing
    Packages: none has it
    """
    return _share([flag(verdict) for verdict in repeats], UnscoredReason.NO_INTENTS)


def _share(flags: Sequence[bool | None], nothing: UnscoredReason) -> Judged:
    known = [one for one in flags if one is not None]
    return Judged.between(0.0, 1.0) if flags and not known else share(known, nothing)
