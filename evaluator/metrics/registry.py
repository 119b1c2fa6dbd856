"""The metrics by name, and several of them on one frame."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
import pandas as pd
from rapidfuzz import fuzz, process

from evaluator.metrics.form.answer_length import AnswerLength, EmptyAnswer
from evaluator.metrics.form.citation_validity import CitationValidity
from evaluator.metrics.form.language_match import LanguageMatch
from evaluator.metrics.form.measured import Cost, Latency
from evaluator.metrics.form.refusal import Refusal
from evaluator.metrics.form.repeated_text import RepeatedText
from evaluator.metrics.llm.answer_claims import (
    ClaimsF1,
    CorrectnessClaims,
    CoverageClaims,
    FactualCorrectness,
    FaithfulnessClaims,
    Groundedness,
    Hallucination,
    SelfKnowledge,
)
from evaluator.metrics.llm.answer_correctness_claims import AnswerCorrectnessClaims
from evaluator.metrics.llm.answer_relevancy import AnswerRelevancy
from evaluator.metrics.llm.aspects import ASPECTS
from evaluator.metrics.llm.context_claims import (
    ContextPrecision,
    ContextPrecisionQuestion,
    ContextPrecisionUnranked,
    ContextRecall,
    ContextRelevanceShare,
    ContextUtilization,
    ContextUtilizationClaims,
    NoiseSensitivityIrrelevant,
    NoiseSensitivityRelevant,
)
from evaluator.metrics.llm.context_entity_recall import ContextEntityRecall
from evaluator.metrics.llm.context_relevance_sentences import ContextRelevanceSentences
from evaluator.metrics.llm.faithfulness_claims_apart import FaithfulnessClaimsApart
from evaluator.metrics.llm.judged_answer import AnswerRelevanceSentences, RefusalJudged
from evaluator.metrics.matchers.citation import EXACT, TRIMMED
from evaluator.metrics.matchers.embedding import EMBEDDING, EmbeddingMatcher
from evaluator.metrics.matchers.matcher import Finders
from evaluator.metrics.matchers.statement import STATEMENT
from evaluator.metrics.metric import Metric
from evaluator.metrics.options import options_of
from evaluator.metrics.retrieval.context_present import ContextPresent
from evaluator.metrics.retrieval.context_relevance_perplexity import ContextRelevancePerplexity
from evaluator.metrics.retrieval.context_relevance_token_precision import ContextRelevanceTokenPrecision
from evaluator.metrics.retrieval.fact_order import FactsMrr, FactsMrrFirst, FactsNdcg
from evaluator.metrics.retrieval.facts_longest_run import FactsLongestRun
from evaluator.metrics.retrieval.facts_metric import FactsMetric
from evaluator.metrics.retrieval.facts_precision_recall import FactsF1, FactsPrecision, FactsRecall
from evaluator.metrics.retrieval.id_order import (
    ContextCorrectness,
    MeanAveragePrecision,
    MeanAveragePrecisionTrec,
    Ndcg,
)
from evaluator.metrics.retrieval.id_repeats import IdRepeats
from evaluator.metrics.retrieval.id_sets import HitRate, IdF1, IdPrecision, IdRecall, RPrecision
from evaluator.metrics.retrieval.non_llm_context import NonLlmContextPrecision, NonLlmContextRecall
from evaluator.metrics.text.answer_correctness_tokens import (
    AnswerCorrectnessTokenF1,
    AnswerCorrectnessTokenPrecision,
    AnswerCorrectnessTokenRecall,
)
from evaluator.metrics.text.answer_reward import AnswerReward
from evaluator.metrics.text.bleu import Bleu
from evaluator.metrics.text.chrf import Chrf
from evaluator.metrics.text.exact_match import ExactMatch, StringPresence
from evaluator.metrics.text.faithfulness_kprecision import FaithfulnessKPrecision
from evaluator.metrics.text.faithfulness_nli import FaithfulnessNli
from evaluator.metrics.text.rouge import Rouge
from evaluator.metrics.text.semantic_similarity import SemanticSimilarity
from evaluator.metrics.text.string_similarity import StringSimilarity
from evaluator.models import Models

if TYPE_CHECKING:
    from evaluator.judges import BoundJudge

GROUND_TRUTH_COLUMNS = frozenset({"reference_answers", "reference_contexts", "reference_context_ids", "facts"})
"""Columns that no log holds: a metric that needs one can only score rows with a case of ground truth."""

_RETRIEVAL: tuple[Metric, ...] = (
    ContextPresent(),
    FactsRecall(),
    FactsPrecision(),
    FactsF1(),
    FactsMrr(),
    FactsMrrFirst(),
    FactsNdcg(),
    FactsLongestRun(),
    IdPrecision(),
    IdRecall(),
    IdF1(),
    HitRate(),
    RPrecision(),
    ContextCorrectness(),
    MeanAveragePrecision(),
    MeanAveragePrecisionTrec(),
    Ndcg(),
    IdRepeats(),
    NonLlmContextRecall(),
    NonLlmContextPrecision(),
    ContextRelevanceTokenPrecision(),
    ContextRelevancePerplexity(),
    ContextRelevancePerplexity(aggregation="mean"),
)
_ANSWERS: tuple[Metric, ...] = (
    FaithfulnessKPrecision(),
    FaithfulnessNli(),
    AnswerReward(),
    SemanticSimilarity(),
    AnswerCorrectnessTokenRecall(),
    AnswerCorrectnessTokenPrecision(),
    AnswerCorrectnessTokenF1(),
    Rouge("rouge1", "precision"),
    Rouge("rouge1", "recall"),
    Rouge("rouge1", "fmeasure"),
    Rouge("rougeL", "precision"),
    Rouge("rougeL", "recall"),
    Rouge("rougeL", "fmeasure"),
    Bleu(),
    Chrf(),
    StringSimilarity("levenshtein"),
    StringSimilarity("hamming"),
    StringSimilarity("jaro"),
    StringSimilarity("jaro_winkler"),
    ExactMatch(),
    StringPresence(),
)
_FORM: tuple[Metric, ...] = (
    AnswerLength(),
    AnswerLength("characters"),
    EmptyAnswer(),
    Refusal(),
    LanguageMatch(),
    CitationValidity(),
    RepeatedText(),
    Latency(),
    Cost(),
)
_JUDGED: tuple[Metric, ...] = (
    FaithfulnessClaims(),
    FaithfulnessClaimsApart(),
    Groundedness(),
    AnswerRelevanceSentences(),
    RefusalJudged(),
    ContextRelevanceShare(),
    ContextPrecisionQuestion(),
    ContextUtilization(),
    CorrectnessClaims(),
    CoverageClaims(),
    ClaimsF1(),
    FactualCorrectness(),
    AnswerCorrectnessClaims(),
    ContextPrecision(),
    ContextPrecisionUnranked(),
    ContextRecall(),
    ContextUtilizationClaims(),
    NoiseSensitivityRelevant(),
    NoiseSensitivityIrrelevant(),
    Hallucination(),
    SelfKnowledge(),
    AnswerRelevancy(),
    ContextRelevanceSentences(),
    ContextEntityRecall(),
    *ASPECTS,
)

FAMILIES: Mapping[str, Sequence[Metric]] = {
    "What was retrieved": _RETRIEVAL,
    "The answer": _ANSWERS,
    "Form and behaviour": _FORM,
    "By a judge": _JUDGED,
}
"""Every metric with its default options, by what it is about."""

REGISTRY: Mapping[str, Metric] = {metric.name: metric for family in FAMILIES.values() for metric in family}
"""Every metric with its default options, by name."""

ALIASES: Mapping[str, str] = {alias: metric.name for metric in REGISTRY.values() for alias in metric.about.aliases}
"""Other names of the metrics, in other packages or in short."""

_FORMS: Mapping[str, tuple[str, object]] = {
    "any_script": ("tokenisation", "any_script"),
    "embedding": ("matcher", EMBEDDING),
    "exact": ("matcher", EXACT),
    "statement": ("matcher", STATEMENT),
    "trimmed": ("matcher", TRIMMED),
}
"""Endings of a name that stand for an option, where the metric has it."""

SLICE_ROWS = 1024
"""Rows that are scored together: enough to share repeated texts and fill batches, few enough to forget them again."""

_LEAST_ALIKE, _MOST_MEANT = 75, 3
"""How like a name must be to be meant, of 100, and how many are told."""

_CUT = re.compile(r"(?P<name>.+)@(?P<k>[1-9][0-9]*)")


class UnknownMetricError(ValueError):
    """No metric has this name; the message has the names that are like it."""

    def __init__(self, name: str) -> None:
        near = _like(name)
        meant = f"; did you mean {' or '.join(near)}?" if near else ";"
        super().__init__(
            f"there is no metric {name!r}{meant} docs/metrics.md lists all {len(REGISTRY)} and what may follow a name: "
            f"@k cuts after k contexts, and some take _{', _'.join(_FORMS)}"
        )


def _like(name: str) -> list[str]:
    """Give the names of metrics that are most like one, with what follows it."""
    cut = _CUT.fullmatch(name)
    base, end = (cut["name"], f"@{cut['k']}") if cut else (name, "")
    forms = (f"{one}_{ending}" for one in REGISTRY for ending in _FORMS)
    known = [*REGISTRY, *ALIASES, *(form for form in forms if _uncut(form) is not None)]
    found = process.extract(base.lower(), known, scorer=fuzz.WRatio, limit=None, score_cutoff=_LEAST_ALIKE)
    # Of names that hold the given one the shortest comes first.
    nearest = sorted(found, key=lambda one: (-fuzz.ratio(base.lower(), one[0]), one[0]))[:_MOST_MEANT]
    return [f"{one}{end}" if end and _has_cut(one) else one for one, _, _ in nearest]


def metric_named(name: str, models: Models | None = None, judge: BoundJudge | None = None) -> Metric:
    """Give a metric of the registry by its name or an alias, or a form of it.

    Forms are the cut after k contexts, another matcher of facts and another tokenisation: `id_recall@5`,
    `facts_recall_statement`, `answer_correctness_token_f1_any_script`.

    `models` says which models it uses, if it uses any, and `judge` which judge it asks, if it asks one.

    Raises UnknownMetricError, which lists the known ones, also for a form that a metric does not have.
    """
    cut = _CUT.fullmatch(name)
    found = _uncut(cut["name"] if cut else name)
    if found is not None and cut:
        found = _with_option(found, "k", int(cut["k"]))
    if found is None:
        raise UnknownMetricError(name)
    if models is not None:
        found = _with_models(found, models)
    return (judge and _with_option(found, "judged_by", judge)) or found


def _with_models(metric: Any, models: Models) -> Metric:
    matcher = getattr(metric, "matcher", None)
    if isinstance(matcher, EmbeddingMatcher):
        metric = replace(metric, matcher=replace(matcher, models=models))
    changed = _with_option(metric, "models", models)
    found: Metric = metric if changed is None else changed
    return found


def _has_cut(name: str) -> bool:
    found = _uncut(name)
    return found is not None and "k" in options_of(found)


def _uncut(name: str) -> Metric | None:
    found = REGISTRY.get(ALIASES.get(name, name))
    if found is not None:
        return found
    for ending, (option, value) in _FORMS.items():
        base = REGISTRY.get(name.removesuffix(f"_{ending}"))
        if base is not None:
            return _with_option(base, option, value)
    return None


def _with_option(metric: Any, option: str, value: object) -> Metric | None:
    if option not in options_of(metric):
        return None
    changed: Metric = replace(metric, **{option: value})
    return changed


def needs_ground_truth(metric: Metric) -> bool:
    """Whether a metric compares with ground truth, or judges the answer by its question and contexts alone."""
    return not GROUND_TRUTH_COLUMNS.isdisjoint(metric.needs)


def compute(
    frame: pd.DataFrame,
    metrics: Sequence[str | Metric],
    models: Models | None = None,
    judge: BoundJudge | None = None,
    *,
    details: bool = False,
) -> pd.DataFrame:
    """Score a frame: for each metric a column of its name (float64, NaN where null) and `<name>_reason`.

    With `details` there is `<name>_details` too: JSON with what the value is made of, such as claims and their
    verdicts, and the bounds (`low`, `high`) of a null one; null where there is nothing to say.

    The result has the frame's index. A row that a metric cannot score is null with a reason. Rows are scored in slices
    of `SLICE_ROWS`, so that what metrics remember of texts does not grow with the frame.

    `models` and `judge` are those of metrics that are given by name. Not for several threads at once where models are
    asked. What the judge took, its asker tells (`Asker.spent`).

    Raises UnknownMetricError for a name that is not in the registry, MissingColumnError for a frame without a column
    that a metric needs, ModelUnavailableError where a metric's model is not on this machine or no judge is given that
    it could ask, and ValueError for two metrics of one name.
    """
    chosen = [metric_named(metric, models, judge) if isinstance(metric, str) else metric for metric in metrics]
    _check_names(chosen)
    starts = range(0, max(len(frame), 1), SLICE_ROWS)
    slices = [_compute_slice(frame.iloc[start : start + SLICE_ROWS], chosen, details=details) for start in starts]
    return pd.concat(slices) if len(slices) > 1 else slices[0]


def _check_names(metrics: Sequence[Metric]) -> None:
    versions: dict[str, str] = {}
    for metric in metrics:
        if versions.setdefault(metric.name, metric.version) != metric.version:
            raise ValueError(
                f"two metrics are called {metric.name!r}, of versions {versions[metric.name]} and {metric.version}: "
                "score them one after the other"
            )


def _compute_slice(frame: pd.DataFrame, metrics: Sequence[Metric], *, details: bool) -> pd.DataFrame:
    columns: dict[str, pd.Series] = {}
    finders = Finders()
    for metric in metrics:
        if isinstance(metric, FactsMetric | FactsLongestRun):
            scores = metric.score(frame, finders)
        else:
            scores = metric.score(frame)
        columns[metric.name] = scores.values
        columns[f"{metric.name}_reason"] = scores.reasons
        if details:
            told = [orjson.dumps(dict(one)).decode() if one else None for one in scores.details]
            columns[f"{metric.name}_details"] = pd.Series(told, index=frame.index, dtype=object)
    return pd.DataFrame(columns, index=frame.index)
