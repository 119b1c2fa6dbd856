"""Context relevance as perplexity: how likely is the question, given what was retrieved?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

from evaluator.metrics.cells import checked_size, context_texts, text
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.metric import Metric, Score
from evaluator.metrics.model_metric import ModelMetric
from evaluator.metrics.options import CUT, checked_cut, cut_name, option
from evaluator.models import target_likelihood
from lake.spec.vocabulary import UnscoredReason

PROMPT = "Generate a question based on the given content: "

_READ = 10_000
"""Characters of a context that count; more than about so many are not read."""

_MOST = 500_000
"""Characters of a row's contexts; more would hold up all other rows, for a minute or two on two cores."""

Aggregation = Literal["max", "mean"]


def row_value(means: Sequence[float], aggregation: Aggregation = "max") -> float:
    """Give the value of a row from the values of its contexts, of which there are some."""
    return max(means) if aggregation == "max" else fmean(means)


@dataclass(frozen=True)
class ContextRelevancePerplexity(ModelMetric[tuple[str, str], tuple[float, bool]]):
    """Probability that a model asks this question, given a context; of several contexts the best; 0 to 1, up.

    The model reads the prompt and a context, is fed the question (teacher forcing), and the context's value is the
    geometric mean of the probabilities of the question's tokens, its end included: the inverse of the perplexity. Long
    questions and rare words lower it, so compare it on the same questions only. `aggregation="mean"` takes the mean
    over the contexts.

    Contexts of more than 2,048 tokens are read up to there, and `cut_contexts` in the details counts them;
    `context_values` has the value of each context. A row whose contexts have more than 500,000 characters, one counting
    as 500 at least and 10,000 at most, is null with `too_long`.
    """

    k: int | None = field(default=None, metadata=CUT)
    aggregation: Aggregation = field(
        default="max",
        kw_only=True,
        metadata=option("`max`: the best context; `mean`: the mean over the contexts (`..._mean`)"),
    )

    base_version = "2"
    role = "question_likelihood"
    needs = ("question", "contexts")
    about = Description(
        asks="Would the retrieved contexts make one ask this question?",
        formula="max over contexts: exp(mean over the question's tokens: log P(token | prompt + context, the tokens "
        f'before)), prompt "{PROMPT.strip()}"',
        source="unitxt (metrics.rag.perplexity_flan_t5_small: context relevance), google/flan-t5-small; the mean over "
        "the first k is what unitxt announces as context_relevance@k",
        odd_cases=OddCases(
            no_contexts="0.0 with `no_contexts` for an empty list, null with it for a missing cell",
            duplicate_contexts="no difference for the best, counted again in the mean",
        ),
        disagreement="unitxt raises an exception without contexts, and cuts nothing.",
    )

    def __post_init__(self) -> None:
        checked_cut(self.k)

    @property
    def name(self) -> str:
        """Name in the registry, with the aggregation and the cut."""
        mean = "_mean" if self.aggregation == "mean" else ""
        return cut_name(f"context_relevance_perplexity{mean}", self.k)

    def inputs(self, *cells: object) -> Sequence[tuple[str, str]] | Score:
        """Pair each of the first k contexts with the question."""
        question, contexts = text(cells[0], "question"), context_texts(cells[1])
        if question is None or not question.strip():
            return Score(None, UnscoredReason.NO_QUESTION)
        if contexts is None:
            return Score(None, UnscoredReason.NO_CONTEXTS)
        if not contexts:
            return Score(0.0, UnscoredReason.NO_CONTEXTS)
        checked_size(sum(min(max(len(context), 500), _READ) for context in contexts[: self.k]), _MOST)
        return [(PROMPT + context, question) for context in contexts[: self.k]]

    def run(self, inputs: Sequence[tuple[str, str]]) -> Sequence[tuple[float, bool]]:
        """Give the geometric mean of each pair, and whether its context was cut."""
        return list(zip(*target_likelihood(self.models).geometric_means(inputs), strict=True))

    def row_score(self, found: Sequence[tuple[tuple[str, str], tuple[float, bool]]]) -> Score:
        """Give the best context's value, or the mean."""
        means = [mean for _, (mean, _) in found]
        cut = sum(is_cut for _, (_, is_cut) in found)
        details = {"context_values": means, **({"cut_contexts": cut} if cut else {})}
        return Score(row_value(means, self.aggregation), None, details)


METRICS: tuple[Metric, ...] = (
    ContextRelevancePerplexity(),
    ContextRelevancePerplexity(aggregation="mean"),
)
