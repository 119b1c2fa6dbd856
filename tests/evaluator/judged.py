"""A metric that asks a judge, one call a row, and settings under which an evaluator scores by it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from evaluator.judges.blocking_client import BoundJudge
from evaluator.judges.exchange import ChatMessage, JudgeError, JudgeRequest
from evaluator.judges.schema import Schema
from evaluator.metrics import Description, OddCases, Score, registry
from evaluator.metrics.llm.llm_metric import LlmMetric
from evaluator.settings import EvaluatorSettings

JUDGED = "addresses"
SCHEMA: Schema = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["S", "C", "N"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Addresses(LlmMetric[str]):
    """1.0 where the judge says S: one call a row."""

    name: ClassVar[str] = JUDGED  # type: ignore[misc]
    needs: ClassVar[tuple[str, ...]] = ("answer",)  # type: ignore[misc]
    about: ClassVar[Description] = Description(asks="?", formula="", source="", odd_cases=OddCases())  # type: ignore[misc]
    prompts: ClassVar[tuple[str, ...]] = ("1",)  # type: ignore[misc]

    def read_row(self, *cells: object) -> str | Score:
        return str(cells[0]) if cells[0] else Score(None, "no_answer")

    def score_all(self, judge: BoundJudge, tasks: Sequence[str]) -> Iterator[Score]:
        answers = judge.ask_all(JudgeRequest([ChatMessage("user", text)], SCHEMA, "1") for text in tasks)
        for answer in answers:
            if isinstance(answer, JudgeError):
                yield Score(None, answer.reason, {"low": 0.0, "high": 1.0}, answer.spend)
            else:
                yield Score(float(answer.parsed["verdict"] == "S"), spend=answer.spend)


def register() -> None:
    """Make it known, in this process."""
    registry.REGISTRY[JUDGED] = Addresses()  # type: ignore[index]


def settings(url: str, folder: Path, judge: dict[str, Any] | None = None, **changes: Any) -> EvaluatorSettings:
    """One judge, whose reply costs 0.0002 and whose calls may cost 0.0012 at most."""
    prices = {"prompt_price": 1, "completion_price": 10, "max_tokens": 100}
    judges = {"strict": {"base_url": url, "model": "m", **prices, **(judge or {})}}
    given = {"metrics": [JUDGED], "judges": judges, "judge_calls": folder / "calls.sqlite", "context_grace": 0}
    given |= {"anchors": {"size": 0}}  # they would be asked about too
    return EvaluatorSettings.model_validate(given | changes)
