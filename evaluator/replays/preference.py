"""Preference: which of two answers to a case a judge holds for better, asked in both orders.

A judge leans to the answer that it reads first, or second. So a pair counts only where it chooses the same answer in
both orders (MT-Bench, arXiv 2306.05685).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from evaluator.judge_binding import is_own_model
from evaluator.judges.exchange import JudgeError, JudgeReply, JudgeRequest
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import Prompt, because, object_of
from evaluator.judges.schema import READING
from lake.queries.preferences import EARLIER, LATER, TIE
from lake.spec.case_vocabulary import PREFERENCE
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    from evaluator.judges.blocking_client import BoundJudge
    from evaluator.judges.settings import JudgeSettings

_BETTER = {"type": "string", "enum": ["first", "second", "tie"]}
_PROMPTS = {
    reasons: Prompt.read("preference", object_of(**because(reasons), better=_BETTER), reasons=reasons)
    for reasons in (False, True)
}
_IN_ORDER = {"first": EARLIER, "second": LATER, "tie": TIE}
_SWAPPED = {"first": LATER, "second": EARLIER, "tie": TIE}


@dataclass(frozen=True)
class AnswersToCase:
    """Two answers to the question of a case, and its reference answer, which may be empty."""

    question: str
    reference: str
    earlier: str
    later: str

    @property
    def are_equal(self) -> bool:
        """Whether they differ in blanks alone."""
        return self.earlier.split() == self.later.split()


def preferences(judge: BoundJudge, deployment: str, pairs: Sequence[AnswersToCase]) -> list[dict[str, Any]]:
    """Return a row of `replays.scores` for each pair: 1 if the later answer is preferred, 0 if the earlier, else 0.5.

    That is two calls for a pair, and none for equal answers, which are a tie. The value is null where the two orders
    differ (`judge_orders_differ`), and with the judge's reason where one has no reply.
    """
    if is_own_model(judge.settings, deployment):
        return [_row(judge.settings, None, UnscoredReason.JUDGE_IS_THE_MODEL) for _ in pairs]
    reasons = judge.settings.reasons
    replies = judge.ask_rows([[] if pair.are_equal else _both_orders(pair, reasons=reasons) for pair in pairs])
    return [_row(judge.settings, *_preference(given)) for given in replies]


def _both_orders(pair: AnswersToCase, *, reasons: bool) -> list[JudgeRequest]:
    texts = fenced("question", pair.question), fenced("reference", *([pair.reference] if pair.reference else []))
    orders = (pair.earlier, pair.later), (pair.later, pair.earlier)
    return [_PROMPTS[reasons].request(*texts, fenced("answer", *order)) for order in orders]


def _preference(replies: Sequence[JudgeReply | JudgeError]) -> tuple[float | None, str | None]:
    """Return the value, and why there is none; of no replies it is a tie."""
    if failed := next((reply for reply in replies if isinstance(reply, JudgeError)), None):
        return None, failed.reason
    given = [reply.parsed["better"] for reply in replies if isinstance(reply, JudgeReply)]
    chosen = {values[word] for values, word in zip((_IN_ORDER, _SWAPPED), given, strict=False)} or {TIE}
    return (chosen.pop(), None) if len(chosen) == 1 else (None, UnscoredReason.JUDGE_ORDERS_DIFFER)


def _row(settings: JudgeSettings, value: float | None, reason: str | None) -> dict[str, Any]:
    parts = [settings.model_name, settings.temperature, READING, _PROMPTS[settings.reasons].version]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]
    version = f"1-{PurePosixPath(settings.model_name).name}-{digest}"
    named: Mapping[str, Any] = {"metric": PREFERENCE, "metric_version": version}
    return {**named, "value": value, "reason": reason, "failed_part": None}
