"""Metrics of what was retrieved by itself and by the question: is anything there, and does it bear on the question?"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from statistics import fmean
from typing import Literal

from evaluator.metrics.cells import checked_size, context_texts
from evaluator.metrics.decorator import metric
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.language.token_overlap import Compared, Overlap
from evaluator.metrics.language.tokens import Tokenisation
from evaluator.metrics.model_metric import model_metric
from evaluator.metrics.options import cut_name, cut_option, option, tokenisation_option
from evaluator.metrics.overlap_metric import overlap_metric
from evaluator.metrics.scores import Score
from evaluator.models import Models, target_likelihood
from lake.spec.vocabulary import UnscoredReason

PROMPT = "Generate a question based on the given content: "

_READ = 10_000
"""Characters of a context that count; more than about so many are not read."""

_MOST = 500_000
"""Characters of a row's contexts; more would hold up all other rows, for a minute or two on two cores."""

Aggregation = Literal["max", "mean"]


@metric(
    Description(
        asks="Did anything come back that an answer can stand on?",
        formula="1 if there is a context, also one without text, else 0",
        source="dialwatch",
        odd_cases=OddCases(no_contexts="0.0, for a missing cell too", duplicate_contexts="no difference"),
        binary=True,
    ),
    needs=("contexts",),
    version="2",
)
def context_present(contexts: Sequence[str] | None) -> float:
    """1.0 if at least one context came back, of text or an image, else 0.0, also where the cell is missing."""
    return float(bool(contexts))


@overlap_metric(
    Description(
        asks="Which share of the question's words stands in the best chunk?",
        formula="max over contexts: Σ over tokens: min(count in question, count in context) / tokens of the question",
        source="unitxt (context_relevance.token_precision)",
        odd_cases=OddCases(
            no_contexts="0.0 with `no_contexts` for an empty list, null with `no_contexts` for a missing cell",
            duplicate_contexts="no difference",
        ),
        disagreement="unitxt raises an exception without contexts, and counts a Chinese or Thai question as one token "
        "(the form `..._squad`).",
        former_names=("context_relevance_token_precision_any_script",),
    ),
    needs=("question", "contexts"),
    version="3",
)
def context_relevance_token_precision(
    question: str | None,
    contexts: Sequence[str] | None,
    *,
    k: int | None = cut_option(),
    tokenisation: Tokenisation = tokenisation_option(),  # noqa: ARG001  # the overlap is counted by it
) -> Generator[Compared, Overlap, Score]:
    """Share of the question's tokens that occur in the best single context, from 0 to 1, higher is better.

    Tokens and overlap are unitxt's, but for scripts without spaces between words, which are cut into small tokens.

    Nothing retrieved (an empty list) is 0.0 with `no_contexts`, contexts that are not known (a missing
    cell) are null with it; no question (a missing cell, or no token in it) is null with `no_question`, but for an empty
    text, which is 0.0 with it, as in unitxt.
    """
    contexts = context_texts(contexts)
    if question is None:
        return Score(None, UnscoredReason.NO_QUESTION)
    if contexts is None:
        return Score(None, UnscoredReason.NO_CONTEXTS)
    overlap = yield Compared(question, contexts[:k])
    if not overlap.total:
        return Score(0.0, UnscoredReason.NO_QUESTION)
    if not overlap.shared:
        return Score(0.0, UnscoredReason.NO_CONTEXTS)
    return Score(max(overlap.shared) / overlap.total)


def _geometric_means(models: Models, pairs: Sequence[tuple[str, str]]) -> Sequence[tuple[float, bool]]:
    """Return the geometric mean of each pair, and whether its context was cut."""
    return list(zip(*target_likelihood(models).geometric_means(pairs), strict=True))


@model_metric(
    Description(
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
    ),
    needs=("question", "contexts"),
    version="2",
    role="question_likelihood",
    run=_geometric_means,
    name=lambda metric: cut_name(
        "context_relevance_perplexity" + ("_mean" if metric.aggregation == "mean" else ""), metric.k
    ),
    variants=({"aggregation": "max"}, {"aggregation": "mean"}),
)
def context_relevance_perplexity(
    question: str | None,
    contexts: Sequence[str] | None,
    *,
    k: int | None = cut_option(),
    aggregation: Aggregation = option(
        "max", "`max`: the best context; `mean`: the mean over the contexts (`..._mean`)"
    ),
) -> Generator[list[tuple[str, str]], list[tuple[float, bool]], Score]:
    """Probability that a model asks this question, given a context; of several contexts the best; 0 to 1, up.

    The model reads the prompt and a context, is fed the question (teacher forcing), and the context's value is the
    geometric mean of the probabilities of the question's tokens, its end included: the inverse of the perplexity. Long
    questions and rare words lower it, so compare it on the same questions only. `aggregation="mean"` takes the mean
    over the contexts.

    Contexts of more than 2,048 tokens are read up to there, and `cut_contexts` in the details counts them;
    `context_values` has the value of each context. A row whose contexts have more than 500,000 characters, one counting
    as 500 at least and 10,000 at most, is null with `too_long`.
    """
    contexts = context_texts(contexts)
    if question is None or not question.strip():
        return Score(None, UnscoredReason.NO_QUESTION)
    if contexts is None:
        return Score(None, UnscoredReason.NO_CONTEXTS)
    if not contexts:
        return Score(0.0, UnscoredReason.NO_CONTEXTS)
    checked_size(sum(min(max(len(context), 500), _READ) for context in contexts[:k]), _MOST)
    found = yield [(PROMPT + context, question) for context in contexts[:k]]
    means = [mean for mean, _ in found]
    cut = sum(is_cut for _, is_cut in found)
    details = {"context_values": means, **({"cut_contexts": cut} if cut else {})}
    return Score(row_value(means, aggregation), None, details)


def row_value(means: Sequence[float], aggregation: Aggregation = "max") -> float:
    """Return the value of a row from the values of its contexts, of which there are some."""
    return max(means) if aggregation == "max" else fmean(means)
