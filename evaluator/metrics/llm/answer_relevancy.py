"""Answer relevancy: are questions that are made up from the answer the one that was asked?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from evaluator.judges.exchange import JudgeRequest
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import TEXT, YES_OR_NO, Prompt, object_of
from evaluator.metrics.cells import text
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.llm.claim_metric import unanswered_reason
from evaluator.metrics.llm.prompt_metric import PromptMetric
from evaluator.metrics.llm.verdicts import Judged, answer_relevancy
from evaluator.metrics.model_metric import MODELS_MEANING
from evaluator.metrics.options import option, version_of
from evaluator.metrics.scores import Metric, Score
from evaluator.models import DEFAULT_MODELS, Models, sentence_encoder
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    from evaluator.judges import BoundJudge

_PROMPT = Prompt.read("question", object_of(question=TEXT, noncommittal=YES_OR_NO))


@dataclass(frozen=True)
class AnswerRelevancy(PromptMetric[tuple[str, str]]):
    """Mean cosine of the question and questions that a judge makes up from the answer; -1 to 1, higher is better.

    0 where all replies call the answer noncommittal. It says nothing about truth. Each question is a call of its own,
    with the answer and without contexts; a judge of temperature 0 makes up nearly the same one each time. The details
    have the questions.

    Raises ValueError for less than one question.
    """

    questions: int = option(3, "how many questions are made up, a call each", is_in_version=True)
    _: KW_ONLY
    models: Models = option(DEFAULT_MODELS, MODELS_MEANING)

    name = "answer_relevancy"
    needs = ("question", "answer")
    about = Description(
        asks="Does the answer answer the question, and not another one?",
        formula="Σ over made-up questions: e(question) · e(made-up) / (|e(question)| |e(made-up)|); "
        "/ made-up questions; 0 if all replies call the answer noncommittal",
        source="RAGAS, arXiv 2309.15217; ragas 0.4.3 (ResponseRelevancy)",
        odd_cases=OddCases(empty_answer="null with `no_answer`; a short answer that refuses: 0.0 with `refusal`"),
        low=-1.0,
        disagreement="with its cache on, ragas reads one reply three times. Where no question came back its newer "
        "interface says 0, here it is null.",
        aliases=("ragas_answer_relevancy", "response_relevancy"),
    )

    def __post_init__(self) -> None:
        if self.questions < 1:
            raise ValueError(f"questions is a number of 1 or more, not {self.questions!r}")

    @property
    def prompts(self) -> tuple[str, ...]:
        """The one prompt."""
        return (_PROMPT.version,)

    @property
    def version(self) -> str:
        """The version of a judged metric, the encoder, and the number of questions where it is another."""
        return version_of(self, f"{super().version}-{self.models.version('sentence_encoder')}")

    def read_row(self, *cells: object) -> tuple[str, str] | Score:
        """Give question and answer."""
        question, answer = text(cells[0], "question"), text(cells[1], "answer")
        reason = unanswered_reason(answer)
        if reason:
            return Score(None if reason == UnscoredReason.NO_ANSWER else 0.0, reason)
        if question is None or not question.strip():
            return Score(None, UnscoredReason.NO_QUESTION)
        return question, answer or ""

    def score_all(self, judge: BoundJudge, tasks: Sequence[tuple[str, str]]) -> Iterator[Score]:
        """Embed the questions, so that no judge is paid where there is no encoder, and ask."""
        sentence_encoder(self.models).vectors([question for question, _ in tasks])
        return super().score_all(judge, tasks)

    def requests(self, task: tuple[str, str]) -> Sequence[JudgeRequest]:
        """Ask for one question at a time."""
        _, answer = task
        return [_PROMPT.request(fenced("sentence", answer), draw=draw) for draw in range(self.questions)]

    def read_replies(self, task: tuple[str, str], replies: Sequence[Any]) -> tuple[Judged, dict[str, Any]]:
        """Compare the questions."""
        made_up = [None if reply is None else str(reply["question"]) for reply in replies]
        known = [one for one in made_up if one is not None]
        asked, *vectors = sentence_encoder(self.models).vectors([task[0], *known])
        given = iter(vectors)
        judged = answer_relevancy(
            asked.tolist(),
            [None if one is None else next(given).tolist() for one in made_up],
            [None if reply is None else bool(reply["noncommittal"]) for reply in replies],
        )
        return judged, {"questions": made_up}


METRICS: tuple[Metric, ...] = (AnswerRelevancy(),)
