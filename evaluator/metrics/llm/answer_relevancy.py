"""Answer relevancy: are questions that are made up from the answer the one that was asked?"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluator.judges.exchange import JudgeRequest
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import TEXT, YES_OR_NO, Prompt, object_of
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.llm import verdicts
from evaluator.metrics.llm.claim_metric import unanswered_reason
from evaluator.metrics.llm.prompt_metric import PromptMetric, Row, prompt_metric
from evaluator.metrics.model_metric import MODELS_MEANING
from evaluator.metrics.options import option
from evaluator.metrics.scores import Score
from evaluator.models import DEFAULT_MODELS, Models, sentence_encoder
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    from evaluator.judges.blocking_client import BoundJudge

_PROMPT = Prompt.read("question", object_of(question=TEXT, noncommittal=YES_OR_NO))


@dataclass(frozen=True)
class _EncodingMetric(PromptMetric):
    def score_all(self, judge: BoundJudge, tasks: Sequence[Row]) -> Iterator[Score]:
        """Embed the questions, so that no judge is paid where there is no encoder, and ask."""
        models: Models = self.models  # type: ignore[attr-defined]  # an option of the function
        sentence_encoder(models).vectors([str(question) for (question, _), _ in tasks])
        return super().score_all(judge, tasks)


def _checked_questions(questions: int) -> None:
    if questions < 1:
        raise ValueError(f"questions is a number of 1 or more, not {questions!r}")


@prompt_metric(
    Description(
        asks="Does the answer answer the question, and not another one?",
        formula="Σ over made-up questions: e(question) · e(made-up) / (|e(question)| |e(made-up)|); "
        "/ made-up questions; 0 if all replies call the answer noncommittal",
        source="RAGAS, arXiv 2309.15217; ragas 0.4.3 (ResponseRelevancy)",
        odd_cases=OddCases(empty_answer="null with `no_answer`; a short answer that refuses: 0.0 with `refusal`"),
        low=-1.0,
        disagreement="with its cache on, ragas reads one reply three times. Where no question came back its newer "
        "interface says 0, here it is null.",
        aliases=("ragas_answer_relevancy", "response_relevancy"),
    ),
    needs=("question", "answer"),
    prompts=(_PROMPT,),
    kind=_EncodingMetric,
)
def answer_relevancy(
    question: str | None,
    answer: str | None,
    *,
    questions: int = option(
        3, "how many questions are made up, a call each", check=_checked_questions, is_in_version=True
    ),
    models: Models = option(DEFAULT_MODELS, MODELS_MEANING),
) -> Generator[list[JudgeRequest], list[Any], Score | tuple[verdicts.Judged, dict[str, Any]]]:
    """Mean cosine of the question and questions that a judge makes up from the answer; -1 to 1, higher is better.

    0 where all replies call the answer noncommittal. It says nothing about truth. Each question is a call of its own,
    with the answer and without contexts; a judge of temperature 0 makes up nearly the same one each time. The details
    have the questions.

    Raises ValueError for less than one question.
    """
    if reason := unanswered_reason(answer):
        return Score(None if reason == UnscoredReason.NO_ANSWER else 0.0, reason)
    if question is None or not question.strip():
        return Score(None, UnscoredReason.NO_QUESTION)
    replies = yield [_PROMPT.request(fenced("sentence", answer or ""), draw=draw) for draw in range(questions)]
    made_up = [None if reply is None else str(reply["question"]) for reply in replies]
    asked, *vectors = sentence_encoder(models).vectors([question, *(one for one in made_up if one is not None)])
    given = iter(vectors)
    judged = verdicts.answer_relevancy(
        asked.tolist(),
        [None if one is None else next(given).tolist() for one in made_up],
        [None if reply is None else bool(reply["noncommittal"]) for reply in replies],
    )
    return judged, {"questions": made_up}
