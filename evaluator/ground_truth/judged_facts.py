"""Facts of a good answer, named by a judge who points at numbered sentences of the contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from evaluator.ground_truth.citations import CheckedFacts, CitedFact, Sentence, checked_facts, numbered_sentences
from evaluator.judges.exchange import JudgeError, JudgeReply, JudgeRequest, Reason, Spend
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import NUMBER, TEXT, Prompt, list_of, object_of
from evaluator.judges.schema import MisfitError

if TYPE_CHECKING:
    from evaluator.judges.blocking_client import BoundJudge

_FACT = object_of(statement=TEXT, sentences=list_of(NUMBER), quote=TEXT)
_PROMPT = Prompt.read("case_facts", object_of(facts=list_of(_FACT)))
_OPTIONAL = frozenset({"quote"})
"""Without one the whole sentences are the facts."""
_VERSION = "judge/4"
_MOST_SPLITS = 2
"""Contexts are divided in two at most so often: in four parts."""


@dataclass(frozen=True)
class Good:
    """A good answer whose facts are asked for."""

    question: str
    answer: str
    contexts: Sequence[str]


@dataclass(frozen=True)
class JudgedFacts:
    """What a judge named: facts by the place of their context, how many citations were dropped, and what it took.

    `reason` is why there is no reply, where one did not come.
    """

    facts: tuple[CitedFact, ...] = ()
    dropped: int = 0
    spend: Spend = field(default_factory=Spend)
    reason: Reason | None = None

    @property
    def is_unsupported(self) -> bool:
        """Whether the judge, asked for all that the answer needs, cites nothing."""
        return not self.facts and not self.dropped and self.reason is None


def extractor_of(judge: BoundJudge) -> str:
    """Return `ground_truth.extractor` of facts that a judge named: the model's last name, and the prompt's version."""
    return f"{_VERSION}-{PurePosixPath(judge.settings.model_name).name}-{_PROMPT.version[:8]}"


def judged_facts(judge: BoundJudge, good: Sequence[Good]) -> list[JudgedFacts]:
    """Ask a judge for the facts of good answers, all at once.

    Where a reply is cut, or more than half of its citations are wrong, the contexts are divided in two and asked about
    apart.
    """
    parts = [_Part(number, one, list(range(len(one.contexts)))) for number, one in enumerate(good)]
    found = [JudgedFacts() for _ in good]
    for split in range(_MOST_SPLITS + 1):
        replies = judge.ask_all(part.request() for part in parts)
        again: list[_Part] = []
        for part, reply in zip(parts, replies, strict=True):
            checked = part.checked(reply)
            halves = part.halves() if split < _MOST_SPLITS and _is_of_no_use(reply, checked) else []
            again += halves
            found[part.number] = _added(found[part.number], CheckedFacts() if halves else checked, reply, bool(halves))
        parts = again
        if not parts:
            break
    return found


@dataclass(frozen=True)
class _Part:
    """Some of the contexts of a good answer, by their places."""

    number: int
    good: Good
    places: Sequence[int]

    def request(self) -> JudgeRequest:
        sentences = self._sentences()
        texts = fenced("sentence", *(one.text for one in sentences)), fenced("question", self.good.question)
        return _PROMPT.request(
            *texts, fenced("answer", self.good.answer), check=partial(_check, len(sentences)), optional=_OPTIONAL
        )

    def checked(self, reply: JudgeReply | JudgeError) -> CheckedFacts:
        if isinstance(reply, JudgeError):
            return CheckedFacts()
        return checked_facts(reply.parsed["facts"], self._sentences())

    def halves(self) -> list[_Part]:
        """Return the part in two; nothing where it is one context."""
        middle = len(self.places) // 2
        both = (self.places[:middle], self.places[middle:]) if middle else ()
        return [_Part(self.number, self.good, some) for some in both]

    def _sentences(self) -> list[Sentence]:
        own = numbered_sentences([self.good.contexts[place] for place in self.places])
        return [Sentence(self.places[one.chunk], one.start, one.text) for one in own]


def _is_of_no_use(reply: JudgeReply | JudgeError, checked: CheckedFacts) -> bool:
    if isinstance(reply, JudgeError):
        return reply.reason == Reason.CUT
    return 2 * checked.dropped > checked.given


def _added(
    before: JudgedFacts, checked: CheckedFacts, reply: JudgeReply | JudgeError, is_asked_again: bool
) -> JudgedFacts:
    failed = reply.reason if isinstance(reply, JudgeError) and not is_asked_again else None
    return JudgedFacts(
        (*before.facts, *checked.facts),
        before.dropped + checked.dropped,
        before.spend + reply.spend,
        before.reason or failed,
    )


def _check(count: int, reply: Any) -> None:
    for fact in reply["facts"]:
        if absent := [number for number in fact["sentences"] if not 1 <= number <= count]:
            raise MisfitError("facts", f"there is no sentence {absent[0]}; there are 1 to {count}")
