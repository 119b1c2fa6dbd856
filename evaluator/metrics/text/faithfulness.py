"""Faithfulness without a judge: how much of the answer stands in what was retrieved, and does that entail it?"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, Literal

import numpy as np

from evaluator.metrics.cells import checked_size, context_texts
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.language.absent_words import absent_numbers, absent_words, joined_places, with_numbers_of
from evaluator.metrics.language.sentences import sentences
from evaluator.metrics.language.token_overlap import Compared, Overlap
from evaluator.metrics.language.tokens import Tokenisation
from evaluator.metrics.model_metric import model_metric
from evaluator.metrics.options import option, tokenisation_option
from evaluator.metrics.overlap_metric import overlap_metric
from evaluator.metrics.scores import LateDetails, Score
from evaluator.models import Models, ModelUnavailableError, TextClassifier, text_classifier
from lake.spec.texts.unicode_forms import UnicodeForm, in_one_form
from lake.spec.vocabulary import UnscoredReason

_MOST_PLACES = 200
"""Places that the details of a score name."""
_MOST_COMPARED = 1_000_000
"""Characters of answer and contexts in which absent words are looked for."""
_MOST_ENTAILED = 1_000_000
"""Characters of contexts, times sentences, that a row may ask for; more would hold up all others for minutes."""
_LEAST = 500
"""A short context costs as much as one of so many characters, for it is read with the sentence each time."""


@dataclass(frozen=True)
class _Row:
    answer: UnicodeForm
    contexts: Sequence[str]

    @property
    def is_giant(self) -> bool:
        return len(self.answer.text) + sum(map(len, self.contexts)) > _MOST_COMPARED


@overlap_metric(
    Description(
        asks="Which share of the answer's words stands in what was retrieved?",
        formula="Σ over tokens: min(count in the answer, count in the contexts) / tokens of the answer",
        source="unitxt (faithfulness); Adlakha et al., Evaluating Correctness and Faithfulness of "
        "Instruction-Following Models (K-Precision)",
        odd_cases=OddCases(
            empty_answer="0.0 with `no_answer`, null with it for a missing cell",
            no_contexts="0.0 with `no_contexts` for an empty list (null with `max`, which has no best context), null "
            "with it for a missing cell",
            duplicate_contexts="joined, a word that comes twice in the answer is covered by two copies",
        ),
        disagreement="unitxt takes the best single context, the paper all as one text, as here: three one-word "
        "contexts cover a three-word answer to 1/3 and to 1. unitxt raises an exception without contexts, and counts a "
        "Chinese or Thai text as one token (`faithfulness_kprecision_squad`).",
        aliases=("faithfulness", "faithfulness_k_precision", "k_precision", "knowledge_precision"),
        former_names=("faithfulness_kprecision_any_script",),
    ),
    needs=("answer", "contexts"),
    name="faithfulness_kprecision",
    # The two aggregations are not comparable.
    version=lambda metric: "4" if metric.aggregation == "join" else "2-max",
)
def faithfulness_k_precision(
    answer: str | None,
    contexts: Sequence[str] | None,
    *,
    aggregation: Literal["join", "max"] = option(
        "join", "`join`: all contexts as one text; `max`: the best context, as unitxt"
    ),
    tokenisation: Tokenisation = tokenisation_option(),
) -> Generator[Compared, Overlap, Score]:
    """Share of the answer's tokens that occur in the contexts, from 0 to 1, higher is better.

    Tokens and overlap are unitxt's ("faithfulness"), but for scripts without spaces between words: their texts are cut
    into small tokens, where unitxt takes a text for one. `aggregation="join"` takes all contexts as one text, as the
    paper does (Adlakha et al., "Evaluating Correctness and Faithfulness of Instruction-Following Models"); "max" takes
    the best single context, which with `tokenisation="squad"` is unitxt's number.

    An empty answer is 0.0 with `no_answer`. Nothing retrieved (an empty list) is 0.0 with `no_contexts`, or a dead
    retriever would lift the mean; with "max" there is no best context, and it is null. Contexts that are not known
    (a missing cell) are null with `no_contexts`, a missing answer is null with `no_answer`.

    But for "max", texts are compared in one Unicode form and numbers by value, with their units: 35 is not in a context
    that says 3,5, and 1000 is in one that says 1 000.

    `unsupported` in the details has the words of the answer that stand in no context, and the numbers that are equal to
    none there, as start and end in its characters: the first 200 places, and in `more_unsupported` how many follow.
    """
    contexts = contexts if aggregation == "max" else context_texts(contexts)
    if answer is None:
        return Score(None, UnscoredReason.NO_ANSWER)
    if contexts is None:
        return Score(None, UnscoredReason.NO_CONTEXTS)
    if not contexts:
        return Score(0.0 if aggregation == "join" else None, UnscoredReason.NO_CONTEXTS)
    if aggregation == "max":
        row = _Row(UnicodeForm(answer, answer), contexts)
        overlap = yield Compared(answer, contexts)
    else:
        row = _Row(UnicodeForm.of(answer), [in_one_form(" ".join(contexts))])
        said = row.answer.text
        overlap = yield Compared(said if row.is_giant else with_numbers_of(row.contexts[0], said), row.contexts)
    if not overlap.total:
        return Score(0.0, None if row.answer.text.strip() else UnscoredReason.NO_ANSWER)
    return Score(max(overlap.shared) / overlap.total, None, LateDetails(partial(_details, row, overlap, tokenisation)))


def _details(row: _Row, overlap: Overlap, tokenisation: Tokenisation) -> dict[str, Any]:
    answer = row.answer.text
    if row.is_giant:
        return {}
    is_covered = max(overlap.shared) == overlap.total
    words = [] if is_covered else absent_words(answer, row.contexts, tokenisation)
    numbers = absent_numbers(answer, row.contexts)
    places = [row.answer.span(*place) for place in joined_places(answer, [*words, *numbers])]
    left = len(places) - _MOST_PLACES
    found = {"unsupported": places[:_MOST_PLACES]} if places else {}
    return found | ({"more_unsupported": left} if left > 0 else {})


def _entailments(models: Models, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
    """Return the probability of entailment for each pair, over the windows of its context the greatest."""
    classifier = text_classifier(models, "entailment")
    column = _entailment(models, classifier)
    logits, of_pair = classifier.window_logits(pairs)
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True, initial=-np.inf))
    best = np.zeros(len(pairs))
    np.maximum.at(best, of_pair, powers[:, column] / powers.sum(axis=1))
    found: list[float] = best.tolist()
    return found


def _entailment(models: Models, classifier: TextClassifier) -> int:
    columns = [column for label, column in classifier.labels.items() if label.startswith("entail")]
    if len(columns) != 1:
        raise ModelUnavailableError(
            f"model {models.entailment!r} has no label `entailment` but {', '.join(classifier.labels)}; set "
            "evaluator.models.entailment to a model of natural language inference"
        )
    return columns[0]


@model_metric(
    Description(
        asks="Does what was retrieved entail what the answer says, sentence by sentence?",
        formula="mean over sentences of the answer: max over contexts: P(entailment | context, sentence)",
        source="Laban et al., SummaC: Re-Visiting NLI-based Models for Inconsistency Detection in Summarization "
        "(SummaC-ZS, with contexts as its units)",
        odd_cases=OddCases(
            empty_answer="null with `no_answer`; `no_claims` where no sentence has a letter or digit",
            no_contexts="null with `no_contexts`",
            duplicate_contexts="no difference",
        ),
    ),
    needs=("answer", "contexts"),
    version="3",
    role="entailment",
    run=_entailments,
)
def faithfulness_nli(
    answer: str | None, contexts: Sequence[str] | None
) -> Generator[list[tuple[str, str]], list[float], Score]:
    """Mean over the answer's sentences of the greatest probability that a context entails it; 0 to 1, higher is better.

    Any model of natural language inference with a label `entailment` serves. A context that is longer than the model
    reads is read in windows that overlap, the best of which counts. A sentence that is said twice counts once, one
    without a letter or digit is no claim. `sentences` in the details has, for each sentence, its text, its probability
    and the rank of the context from 0.

    A sentence that only several contexts together entail is not found. A row whose contexts' characters times its
    sentences are more than 1,000,000 (a context counting as 500 at least) is null with `too_long`.
    """
    contexts = context_texts(contexts)
    if answer is None or not answer.strip():
        return Score(None, UnscoredReason.NO_ANSWER)
    if not contexts:
        return Score(None, UnscoredReason.NO_CONTEXTS)
    claims = [claim for claim in dict.fromkeys(sentences(answer)) if any(letter.isalnum() for letter in claim)]
    checked_size(len(claims) * sum(max(len(context), _LEAST) for context in contexts), _MOST_ENTAILED)
    if not claims:
        return Score(None, UnscoredReason.NO_CLAIMS)
    found = yield [(context, claim) for claim in claims for context in contexts]
    said: list[dict[str, Any]] = []
    for number, claim in enumerate(claims):
        values = found[number * len(contexts) : (number + 1) * len(contexts)]
        best = max(values)
        said.append({"sentence": claim, "probability": best, "context": values.index(best)})
    return Score(fmean(one["probability"] for one in said), None, {"sentences": said})
