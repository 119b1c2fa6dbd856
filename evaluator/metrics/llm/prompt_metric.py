"""Base of the metrics that ask a judge with a prompt of their own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from evaluator.judges.exchange import JudgeError, JudgeReply, JudgeRequest, Spend
from evaluator.metrics.llm.llm_metric import LlmMetric, bounds
from evaluator.metrics.llm.verdicts import Judged
from evaluator.metrics.scores import Score
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    from evaluator.judges import BoundJudge

Task = TypeVar("Task")


@dataclass(frozen=True)
class PromptMetric(LlmMetric[Task]):
    """A metric with a prompt of its own."""

    @abstractmethod
    def requests(self, task: Task) -> Sequence[JudgeRequest]:
        """Give what is asked about a row, one request at least."""

    @abstractmethod
    def read_replies(self, task: Task, replies: Sequence[Any]) -> tuple[Judged, dict[str, Any]]:
        """Give the value and the details from the replies to the requests, None for one that did not come."""

    def score_all(self, judge: BoundJudge, tasks: Sequence[Task]) -> Iterator[Score]:
        """Ask about rows, together."""
        asked = [self.requests(task) for task in tasks]
        answers = iter(judge.ask_all(chain.from_iterable(asked)))
        for task, requests in zip(tasks, asked, strict=True):
            yield self._row_score(task, list(islice(answers, len(requests))))

    def _row_score(self, task: Task, answers: Sequence[JudgeReply | JudgeError]) -> Score:
        replies = [None if isinstance(answer, JudgeError) else answer.parsed for answer in answers]
        spend = sum((answer.spend for answer in answers), Spend())
        judged, details = self.read_replies(task, replies)
        if judged.value is None and judged.reason == UnscoredReason.JUDGE_FAILED:
            errors = [answer.reason for answer in answers if isinstance(answer, JudgeError)]
            judged = replace(judged, reason=errors[0] if errors else UnscoredReason.JUDGE_FAILED)
        limits = bounds(judged.low, judged.high) if judged.value is None else {}
        return Score(judged.value, judged.reason, limits | details, spend)
