"""Context relevance by sentences: how much of what was retrieved is needed to answer the question?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from evaluator.judges.exchange import JudgeRequest
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import NUMBER, Prompt, list_of, object_of
from evaluator.judges.schema import MisfitError
from evaluator.metrics.cells import context_texts, text
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.language.prose_sentences import prose_sentences
from evaluator.metrics.llm.prompt_metric import PromptMetric
from evaluator.metrics.llm.verdicts import Judged
from evaluator.metrics.llm.verdicts.judged import share
from evaluator.metrics.scores import Metric, Score
from lake.spec.vocabulary import UnscoredReason

_PROMPT = Prompt.read("needed", object_of(needed=list_of(NUMBER)))


@dataclass(frozen=True)
class ContextRelevanceSentences(PromptMetric[tuple[str, list[str]]]):
    """Share of the contexts' sentences that are needed to answer the question, 0 to 1, higher is better.

    The judge names sentences by number, so that it cannot invent one. The details have the numbers, from 1, and how
    many sentences there are.
    """

    base_version = "2"
    name = "context_relevance_sentences"
    needs = ("question", "contexts")
    about = Description(
        asks="How much of what was retrieved is needed to answer the question?",
        formula="sentences of the contexts that are needed / sentences of the contexts",
        source="RAGAS, arXiv 2309.15217; ragas 0.1.9 (ContextRelevancy)",
        odd_cases=OddCases(
            no_contexts="0.0 with `no_contexts`, null with it for a missing cell",
            duplicate_contexts="their sentences count again",
        ),
        disagreement="ragas lets the judge copy sentences out and does not check that they are there.",
        aliases=("ragas_context_relevancy",),
    )

    @property
    def prompts(self) -> tuple[str, ...]:
        """The one prompt."""
        return (_PROMPT.version,)

    def read_row(self, *cells: object) -> tuple[str, list[str]] | Score:
        """Cut the contexts into sentences."""
        question, contexts = text(cells[0], "question"), context_texts(cells[1])
        if contexts is None:
            return Score(None, UnscoredReason.NO_CONTEXTS)
        numbered = [sentence for context in contexts for sentence in prose_sentences(context)]
        if not numbered:
            return Score(0.0, UnscoredReason.NO_CONTEXTS)
        if question is None or not question.strip():
            return Score(None, UnscoredReason.NO_QUESTION)
        return question, numbered

    def requests(self, task: tuple[str, list[str]]) -> Sequence[JudgeRequest]:
        """Ask for the numbers of the sentences."""
        question, numbered = task
        texts = fenced("sentence", *numbered), fenced("question", question)
        return [_PROMPT.request(*texts, check=partial(_check, len(numbered)))]

    def read_replies(self, task: tuple[str, list[str]], replies: Sequence[Any]) -> tuple[Judged, dict[str, Any]]:
        """Give the share of the sentences that exist."""
        (reply,) = replies
        numbers = range(1, len(task[1]) + 1)
        needed = set() if reply is None else set(reply["needed"])
        verdicts = [None if reply is None else number in needed for number in numbers]
        details: dict[str, Any] = {"needed": sorted(needed & set(numbers)), "sentences": len(numbers)}
        absent = sorted(needed - set(numbers))
        return share(verdicts), details | ({"no_such_sentences": absent} if absent else {})


def _check(count: int, reply: Any) -> None:
    if absent := [number for number in reply["needed"] if not 1 <= number <= count]:
        raise MisfitError("needed", f"there is no sentence {absent[0]}; there are 1 to {count}")


METRICS: tuple[Metric, ...] = (ContextRelevanceSentences(),)
