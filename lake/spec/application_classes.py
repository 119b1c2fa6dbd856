"""Classes of applications, by what their answers show, and the metrics that mean something for each class."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from lake.spec.case_vocabulary import CASE_PASSED
from lake.spec.vocabulary import REFUSAL


class ApplicationClass(StrEnum):
    """`_application_classes.classes`: what an application does. It may do both of the first two."""

    RETRIEVES = "retrieves"
    CALLS_TOOLS = "calls_tools"
    MEDIA = "media"
    PLAIN = "plain"


LOOKED_AT: Final = timedelta(days=7)
"""So long a time of answers decides the class, and so long it stays."""
LEAST_ANSWERS: Final = 50
"""With fewer answers nothing is decided yet."""
_LEAST_PLAIN: Final = 10
"""With fewer answers none of which shows anything, an application may still be one that retrieves."""
_LEAST_SHARE, _LEAST_MEDIA_SHARE = 0.1, 0.5

DEFAULT_METRICS: Final = (
    "faithfulness_kprecision",
    "context_present",
    "facts_recall",
    "answer_correctness_token_recall",
    CASE_PASSED,
)
"""What the service scores of an application that retrieves, and of one whose class is not known: a few metrics that say
different things and cost next to nothing."""

CLASS_METRICS: Final = {
    ApplicationClass.RETRIEVES: DEFAULT_METRICS,
    ApplicationClass.CALLS_TOOLS: ("tool_error_share", "repeated_tool_calls", REFUSAL, CASE_PASSED),
    ApplicationClass.MEDIA: (),
    ApplicationClass.PLAIN: (REFUSAL, "repeated_text", "language_match"),
}
JUDGED_CLASS_METRICS: Final = {
    ApplicationClass.RETRIEVES: ("faithful",),
    ApplicationClass.CALLS_TOOLS: ("goal_accuracy", "faithful", "faithfulness_claims"),
}
"""What is scored besides where the configuration names a judge."""


@dataclass(frozen=True)
class SeenAnswers:
    """Counts of answers that people saw: `answers` are all of them."""

    answers: int
    with_contexts: int
    with_tool_calls: int
    media: int

    @property
    def classes(self) -> tuple[ApplicationClass, ...]:
        """The classes of an application with such answers; none as long as they show nothing and are few."""
        found = [
            one
            for one, number in (
                (ApplicationClass.RETRIEVES, self.with_contexts),
                (ApplicationClass.CALLS_TOOLS, self.with_tool_calls),
            )
            if number and number >= _LEAST_SHARE * self.answers
        ]
        if not found and self.media and self.media >= _LEAST_MEDIA_SHARE * self.answers:
            found = [ApplicationClass.MEDIA]
        if not found and self.answers >= _LEAST_PLAIN:
            found = [ApplicationClass.PLAIN]
        return tuple(found)

    @property
    def decides(self) -> bool:
        """Whether these are enough answers for a class that stays."""
        return self.answers >= LEAST_ANSWERS


def class_words(classes: Iterable[ApplicationClass], seen: SeenAnswers) -> str:
    """Say the class and why: "calls tools: 83 of 120 answers that were looked at called a tool"."""
    whole = f"{seen.answers:,} answers that were looked at"
    contexts, calls = f"{seen.with_contexts:,} show what was retrieved", f"{seen.with_tool_calls:,} called a tool"
    match tuple(classes):
        case (ApplicationClass.RETRIEVES,):
            return f"retrieves: {seen.with_contexts:,} of {whole} show what was retrieved"
        case (ApplicationClass.CALLS_TOOLS,):
            return f"calls tools: {seen.with_tool_calls:,} of {whole} called a tool"
        case (ApplicationClass.MEDIA,):
            return f"makes media: {seen.media:,} of {whole} have an attachment and no text"
        case (ApplicationClass.PLAIN,):
            return f"plain: of {whole} {contexts} and {calls}"
        case _:
            return f"retrieves and calls tools: of {whole} {contexts} and {calls}"
