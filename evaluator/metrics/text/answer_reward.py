"""Answer reward: would people like this answer to this question?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.metrics.cells import text
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.metric import Metric, Score
from evaluator.metrics.model_metric import ModelMetric
from evaluator.models import ModelUnavailableError, text_classifier
from lake.spec.vocabulary import UnscoredReason


@dataclass(frozen=True)
class AnswerReward(ModelMetric[tuple[str, str], tuple[float, bool]]):
    """Sigmoid of the one logit of a reward model for (question, answer); 0 to 1, higher is better.

    Such a model is trained to compare two answers to one question: as an absolute number it is not calibrated. A pair
    that is longer than the model reads is cut, the longer text first, and `cut` in the details says so.
    """

    role = "answer_reward"
    name = "answer_reward"
    needs = ("question", "answer")
    about = Description(
        asks="Would people prefer this answer to another one?",
        formula="1 / (1 + exp(-logit(question, answer)))",
        source="unitxt (metrics.rag.reward: answer reward), OpenAssistant/reward-model-deberta-v3-large-v2",
        odd_cases=OddCases(empty_answer="what the model says of it, with `no_answer`; null for a missing cell"),
    )

    def inputs(self, *cells: object) -> Sequence[tuple[str, str]] | Score:
        """Pair question and answer."""
        question, answer = text(cells[0], "question"), text(cells[1], "answer")
        if question is None or not question.strip():
            return Score(None, UnscoredReason.NO_QUESTION)
        return Score(None, UnscoredReason.NO_ANSWER) if answer is None else [(question, answer)]

    def run(self, inputs: Sequence[tuple[str, str]]) -> Sequence[tuple[float, bool]]:
        """Give the sigmoid for each pair, and whether it was cut."""
        classifier = text_classifier(self.models, "answer_reward")
        if len(classifier.labels) != 1:
            raise ModelUnavailableError(
                f"model {self.models.answer_reward!r} is no reward model: it has {len(classifier.labels)} outputs, not "
                "one; set evaluator.models.answer_reward to one that has"
            )
        logits, cut = classifier.logits(inputs)
        return [(_sigmoid(float(logit)), is_cut) for logit, is_cut in zip(logits[:, 0], cut, strict=True)]

    def row_score(self, found: Sequence[tuple[tuple[str, str], tuple[float, bool]]]) -> Score:
        """Give the one pair's value."""
        ((_, answer), (value, is_cut)) = found[0]
        return Score(value, None if answer.strip() else UnscoredReason.NO_ANSWER, {"cut": True} if is_cut else {})


def _sigmoid(logit: float) -> float:
    # exp of a large number overflows, of a small one it does not.
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


METRICS: tuple[Metric, ...] = (AnswerReward(),)
