"""Types of an exchange with a judge: request, reply, what it took, and why there is no reply."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from evaluator.judges.completion import Probabilities
from evaluator.judges.schema import Check, Schema
from lake.spec.vocabulary import UnscoredReason


class Reason(StrEnum):
    """Why a judge gave no reply: those values of `scores.reason` that a judge is the cause of.

    Failed is a request or a reply that is of no use, cut a reply that ended at `max_tokens`, unavailable an endpoint
    that does not answer.
    """

    FAILED = UnscoredReason.JUDGE_FAILED
    CUT = UnscoredReason.JUDGE_CUT
    REFUSED = UnscoredReason.JUDGE_REFUSED
    CONTENT_FILTER = UnscoredReason.JUDGE_CONTENT_FILTER
    TIMEOUT = UnscoredReason.JUDGE_TIMEOUT
    BUDGET = UnscoredReason.JUDGE_BUDGET
    UNPRICED = UnscoredReason.JUDGE_UNPRICED
    UNAVAILABLE = UnscoredReason.JUDGE_UNAVAILABLE


TRANSIENT = frozenset({Reason.BUDGET, Reason.TIMEOUT, Reason.UNAVAILABLE, Reason.UNPRICED})
"""Why a judge gave no reply that it may give later."""

NOT_FOR_GOOD = TRANSIENT | {Reason.CUT}
"""Why a score is missing that may come: by itself, or once `max_tokens` is higher."""


@dataclass(frozen=True)
class ChatMessage:
    """One message of a prompt. `images` are data URLs, which are shown before its text."""

    role: Literal["system", "user", "assistant"]
    content: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True)
class JudgeRequest:
    """One question to a judge: what `Judge.ask` takes.

    `check` looks at a reply that fits the schema and raises MisfitError where it does not fit the question, such as
    one that judges a claim which is not there. `optional` are the properties that a second reply may lack. `usual` is
    a reply of usual size, where what is asked next depends on it: for those who count what would be asked. `halves`
    gives two requests for half of what this one asks each, for a reply that was cut. `probabilities` asks for those of
    values too. `usable_cut` says that a reply that was cut is used where `check` passes: only for a question of which
    it is known how much a whole reply has.
    """

    messages: Sequence[ChatMessage]
    schema: Schema
    prompt_version: str
    draw: int = 0
    check: Check = None
    usual: Any = None
    optional: Set[str] = frozenset()
    halves: Callable[[], tuple[JudgeRequest, JudgeRequest]] | None = None
    probabilities: bool = False
    usable_cut: bool = False


@dataclass(frozen=True)
class Spend:
    """Calls that were paid or may have been, with their tokens and money.

    `cost` is in the currency of the judge's prices. A call that may have been paid although its reply did not come has
    no tokens, and its upper bound as cost.
    """

    calls: int = 0
    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: Spend) -> Spend:
        return Spend(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.cached_prompt_tokens + other.cached_prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost + other.cost,
        )


@dataclass(frozen=True)
class JudgeReply:
    """A reply that fits its schema. `spend` is what it took now.

    `probabilities` are those of its values, where they were asked for and the endpoint gave them.
    """

    parsed: Any
    spend: Spend
    probabilities: Probabilities | None = None

    @property
    def from_cache(self) -> bool:
        """Whether no call was made for it: it was kept, or another caller's call gave it."""
        return self.spend.calls == 0


class JudgeError(Exception):
    """There is no answer. `reason` is a short fixed word; `spend` is what the attempt took all the same.

    The message may quote what the endpoint said, and an endpoint may quote the prompt: it is for no log.
    """

    def __init__(self, reason: Reason, message: str, spend: Spend | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.spend = spend or Spend()
