"""Decorator of the metrics that ask a judge with a prompt of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluator.judges.exchange import JudgeError, JudgeReply, Spend
from evaluator.judges.prompts import Prompt
from evaluator.metrics.decorator import Asking, Decorator, made_metric
from evaluator.metrics.description import Description
from evaluator.metrics.llm.llm_metric import JudgedMetric, judged_score
from evaluator.metrics.scores import Score

if TYPE_CHECKING:
    from evaluator.judges.blocking_client import BoundJudge

Row = tuple[Sequence[object], Asking]
"""The cells of a row, and its function, which waits for the replies."""


@dataclass(frozen=True)
class PromptMetric(JudgedMetric[Row]):
    """A metric whose function yields what a judge is asked about a row, one request at least, and gets the replies.

    A reply that did not come is None. The function gives a `Judged` and the details; before it asks, it may give a
    `Score` in the place of both.
    """

    def read_row(self, *cells: object) -> Row | Score:
        """Let the function begin."""
        begun = Asking.of(self.of_cells(*cells))
        return (cells, begun) if isinstance(begun, Asking) else begun

    def reply_of(self, reply: JudgeReply) -> Any:
        """Return what the function gets of a reply."""
        return reply.parsed

    def score_all(self, judge: BoundJudge, tasks: Sequence[Row]) -> Iterator[Score]:
        """Ask about rows, together."""
        for (_, row), answers in zip(tasks, judge.ask_rows([row.asked for _, row in tasks]), strict=True):
            replies = [None if isinstance(answer, JudgeError) else self.reply_of(answer) for answer in answers]
            error = next((answer.reason for answer in answers if isinstance(answer, JudgeError)), None)
            judged, details = row.answered(replies)
            yield judged_score(judged, details, error, sum((answer.spend for answer in answers), Spend()))


def prompt_metric(
    about: Description | Callable[[Any], Description],
    *,
    needs: tuple[str, ...],
    prompts: Sequence[Prompt] | Callable[[Any], tuple[str, ...]],
    kind: type[Any] = PromptMetric,
    **more: Any,
) -> Decorator:
    """Make a metric of a function that asks a judge about a row; see `PromptMetric`, and `made_metric` for the rest.

    `prompts` are those that it asks with, or give for a metric their versions and what else the values depend on.
    """
    versions = property(prompts) if callable(prompts) else tuple(prompt.version for prompt in prompts)
    return made_metric(kind, about, needs=needs, prompts=versions, **more)
