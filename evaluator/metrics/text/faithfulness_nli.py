"""Faithfulness by inference: does what was retrieved entail each sentence of the answer?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean

import numpy as np

from evaluator.metrics.cells import checked_size, context_texts, text
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.language.sentences import sentences
from evaluator.metrics.metric import Metric, Score
from evaluator.metrics.model_metric import ModelMetric
from evaluator.models import ModelUnavailableError, TextClassifier, text_classifier
from lake.spec.vocabulary import UnscoredReason

_MOST_CHARACTERS = 1_000_000
"""Characters of contexts, times sentences, that a row may ask for; more would hold up all others for minutes."""

_LEAST = 500
"""A short context costs as much as one of so many characters, for it is read with the sentence each time."""


@dataclass(frozen=True)
class FaithfulnessNli(ModelMetric[tuple[str, str], float]):
    """Mean over the answer's sentences of the greatest probability that a context entails it; 0 to 1, higher is better.

    Any model of natural language inference with a label `entailment` serves. A context that is longer than the model
    reads is read in windows that overlap, the best of which counts. A sentence that is said twice counts once, one
    without a letter or digit is no claim. `sentences` in the details has, for each sentence, its text, its probability
    and the rank of the context from 0.

    A sentence that only several contexts together entail is not found. A row whose contexts' characters times its
    sentences are more than 1,000,000 (a context counting as 500 at least) is null with `too_long`.
    """

    base_version = "3"
    role = "entailment"
    name = "faithfulness_nli"
    needs = ("answer", "contexts")
    about = Description(
        asks="Does what was retrieved entail what the answer says, sentence by sentence?",
        formula="mean over sentences of the answer: max over contexts: P(entailment | context, sentence)",
        source="Laban et al., SummaC: Re-Visiting NLI-based Models for Inconsistency Detection in Summarization "
        "(SummaC-ZS, with contexts as its units)",
        odd_cases=OddCases(
            empty_answer="null with `no_answer`; `no_claims` where no sentence has a letter or digit",
            no_contexts="null with `no_contexts`",
            duplicate_contexts="no difference",
        ),
    )

    def inputs(self, *cells: object) -> Sequence[tuple[str, str]] | Score:
        """Pair each context with each sentence, sentence by sentence."""
        answer, contexts = text(cells[0], "answer"), context_texts(cells[1])
        if answer is None or not answer.strip():
            return Score(None, UnscoredReason.NO_ANSWER)
        if not contexts:
            return Score(None, UnscoredReason.NO_CONTEXTS)
        claims = [claim for claim in dict.fromkeys(sentences(answer)) if any(letter.isalnum() for letter in claim)]
        checked_size(len(claims) * sum(max(len(context), _LEAST) for context in contexts), _MOST_CHARACTERS)
        pairs = [(context, claim) for claim in claims for context in contexts]
        return pairs or Score(None, UnscoredReason.NO_CLAIMS)

    def run(self, inputs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """Give the probability of entailment for each pair, over the windows of its context the greatest."""
        classifier = text_classifier(self.models, "entailment")
        column = self._entailment(classifier)
        logits, of_pair = classifier.window_logits(inputs)
        powers = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True, initial=-np.inf))
        best = np.zeros(len(inputs))
        np.maximum.at(best, of_pair, powers[:, column] / powers.sum(axis=1))
        found: list[float] = best.tolist()
        return found

    def row_score(self, found: Sequence[tuple[tuple[str, str], float]]) -> Score:
        """Give the mean of the sentences' best probabilities."""
        said = []
        for claim, pairs in groupby(found, key=lambda pair: pair[0][1]):
            values = [value for _, value in pairs]
            best = max(values)
            said.append({"sentence": claim, "probability": best, "context": values.index(best)})
        return Score(fmean(one["probability"] for one in said), None, {"sentences": said})

    def _entailment(self, classifier: TextClassifier) -> int:
        columns = [column for label, column in classifier.labels.items() if label.startswith("entail")]
        if len(columns) != 1:
            raise ModelUnavailableError(
                f"model {self.models.entailment!r} has no label `entailment` but {', '.join(classifier.labels)}; set "
                "evaluator.models.entailment to a model of natural language inference"
            )
        return columns[0]


METRICS: tuple[Metric, ...] = (FaithfulnessNli(),)
