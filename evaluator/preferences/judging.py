"""Question to a judge, asked in both orders: which of two answers it holds for better.

A judge leans to the answer that it reads first, or second. So a pair counts only where it chooses the same answer in
both orders (MT-Bench, arXiv 2306.05685).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from evaluator.judges.exchange import JudgeError, JudgeReply, JudgeRequest, Spend
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import Prompt, because, object_of
from evaluator.judges.schema import READING
from lake.queries.preferences import EARLIER, LATER, TIE
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
class TwoAnswers:
    """Two answers to a question, and its reference answer, which may be empty."""

    question: str
    reference: str
    earlier: str
    later: str

    @property
    def are_equal(self) -> bool:
        """Whether they differ in blanks alone."""
        return self.earlier.split() == self.later.split()


@dataclass(frozen=True)
class Preference:
    """What a judge said of two answers: `LATER`, `EARLIER` or `TIE`, or None with the reason; and what that took."""

    value: float | None
    reason: str | None
    spend: Spend = field(default_factory=Spend)


def preferences(judge: BoundJudge, pairs: Sequence[TwoAnswers]) -> list[Preference]:
    """Return which answer of each pair the judge prefers.

    That is two calls for a pair, and none for equal answers, which are a tie. There is no value where the two orders
    differ (`judge_orders_differ`), and, with the judge's reason, where one has no reply. Whether the judge may be asked
    about these answers is for the caller to know (`is_own_model`).
    """
    reasons = judge.settings.reasons
    replies = judge.ask_rows([[] if pair.are_equal else _both_orders(pair, reasons=reasons) for pair in pairs])
    return [_preference(given) for given in replies]


def version_of(settings: JudgeSettings) -> str:
    """Return the version of what a judge with these settings says; that of two versions is never counted together."""
    parts = [settings.model_name, settings.temperature, READING, _PROMPTS[settings.reasons].version]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]
    return f"1-{PurePosixPath(settings.model_name).name}-{digest}"


def _both_orders(pair: TwoAnswers, *, reasons: bool) -> list[JudgeRequest]:
    texts = fenced("question", pair.question), fenced("reference", *([pair.reference] if pair.reference else []))
    orders = (pair.earlier, pair.later), (pair.later, pair.earlier)
    return [_PROMPTS[reasons].request(*texts, fenced("answer", *order)) for order in orders]


def _preference(replies: Sequence[JudgeReply | JudgeError]) -> Preference:
    """Return what the replies in both orders say; of none it is a tie."""
    spend = sum((reply.spend for reply in replies), Spend())
    if failed := next((reply for reply in replies if isinstance(reply, JudgeError)), None):
        return Preference(None, failed.reason, spend)
    given = [reply.parsed["better"] for reply in replies if isinstance(reply, JudgeReply)]
    chosen = {values[word] for values, word in zip((_IN_ORDER, _SWAPPED), given, strict=False)} or {TIE}
    if len(chosen) > 1:
        return Preference(None, UnscoredReason.JUDGE_ORDERS_DIFFER, spend)
    return Preference(chosen.pop(), None, spend)
