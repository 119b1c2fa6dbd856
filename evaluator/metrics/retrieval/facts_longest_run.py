"""Longest run: how much of a fact that was not found stands in one piece in some context?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING

from evaluator.metrics.cells import checked_size, context_texts, texts
from evaluator.metrics.decorator import FunctionMetric, made_metric
from evaluator.metrics.description import Description
from evaluator.metrics.matchers.canonical import canonical, is_usable
from evaluator.metrics.matchers.citation import CITATION
from evaluator.metrics.matchers.matcher import ABSENT, FindFacts, finders_of
from evaluator.metrics.options import cut_option, option
from evaluator.metrics.retrieval.facts_metric import odd_cases
from evaluator.metrics.scores import Score, Scores, score_rows
from lake.spec.texts.unicode_forms import in_one_form
from lake.spec.vocabulary import UnscoredReason
from runtime.words import with_spaces

if TYPE_CHECKING:
    import pandas as pd

_LONGEST_FACT = 2_000
"""Words of a fact that are looked at; a fact is a sentence or a few, and each word costs a search."""

_MOST = 200_000_000
"""Characters that are searched for one word of a fact each, or for one fact each; some seconds."""


@dataclass(frozen=True)
class CommonRun:
    """The longest run of a fact's words that stands in one context: its length, the fact's, and the context's rank.

    `context` is from 0, and -1 where not even one word is shared.
    """

    words: int
    of_words: int
    context: int


def longest_common_run(fact: str, contexts: Sequence[str], words: Callable[[str], str] | None = None) -> CommonRun:
    """Return the longest run of words that a fact shares with a context; of equally long ones the fact's first.

    Words are what the citation matcher leaves: letters and digits, lower case; in a script without spaces each letter
    is one. `words` brings a text to that form, and may remember it.
    """
    spaced = words or spaced_words
    # Each context on a line of its own, each word between spaces: a run crosses no border and cuts no word.
    lines = "".join(f"\n {spaced(context)} " for context in contexts)
    parts = spaced(fact).split()[:_LONGEST_FACT]
    checked_size(len(parts) * len(lines), _MOST)
    best, at = 0, -1
    for start in range(len(parts)):
        while start + best < len(parts):
            position = lines.find(f" {' '.join(parts[start : start + best + 1])} ")
            if position < 0:
                break
            best, at = best + 1, position
    return CommonRun(best, len(parts), lines.count("\n", 0, at + 1) - 1 if best else -1)


def spaced_words(text: str) -> str:
    """Return a text's words, lower case, with one space between them."""
    return with_spaces(canonical(in_one_form(text)).strip())


@dataclass(frozen=True)
class RunMetric(FunctionMetric):
    """A metric of facts and contexts whose function gets their cells, how facts are found, and words of a text."""

    needs = ("facts", "contexts")

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `facts` and `contexts`; metrics that score the same frame share what is found."""
        find, words, function = finders_of(frame).of(CITATION), cache(spaced_words), self.bound
        return score_rows(self, frame, lambda facts, contexts: function(facts, contexts, find, words))


@made_metric(
    RunMetric,
    Description(
        asks="How much of each fact was retrieved in one piece?",
        formula="Σ over facts: words of the longest run in some context / words of the fact, 1 if found; / |facts|",
        source="dialwatch",
        odd_cases=odd_cases("no difference"),
    ),
    version="2",
)
def facts_longest_run(
    facts_cell: object,
    contexts_cell: object,
    find: FindFacts,
    words: Callable[[str], str],
    *,
    k: int | None = cut_option(),
    near_share: float = option(0.4, "share of a fact's words that makes a run a near miss; details only"),
    near_words: int = option(3, "number of words that makes a run a near miss; details only"),
) -> Score:
    """Mean over the facts of the share of its words that stand in one piece in some context, a found fact being 1.

    From 0 to 1, higher is better, and never below `facts_recall`. A fact that a chunk's border cuts is a near miss
    here and absent there. `missed_facts` in the details has, for each missed fact, its index, the words of the run, the
    words of the fact, the context's rank from 0 (-1 for none), and `near_miss`: the run is at least `near_words` long
    and at least `near_share` of the fact.

    Other cases are as in `facts_recall`, with the citation matcher.
    """
    given, contexts = texts(facts_cell, "facts") or [], context_texts(contexts_cell)
    facts = [fact for fact in given if is_usable(fact)]
    if not facts:
        return Score(None, UnscoredReason.NO_FACTS)
    if contexts is None:
        return Score(None, UnscoredReason.NO_CONTEXTS)
    first = contexts[:k]
    missed = [index for index, rank in enumerate(find(facts, contexts).first(k).ranks) if rank == ABSENT]
    checked_size(len(missed) * sum(map(len, first)), _MOST)
    runs = {index: longest_common_run(facts[index], first, words) for index in missed}
    near = {index: run.words >= max(near_words, near_share * run.of_words) for index, run in runs.items()}
    details = {
        "missed_facts": [{"fact": index, **asdict(run), "near_miss": near[index]} for index, run in runs.items()],
        "ignored_facts": len(given) - len(facts),
    }
    shared = sum(run.words / run.of_words for run in runs.values())
    value = (len(facts) - len(missed) + shared) / len(facts)
    return Score(value, None if contexts else UnscoredReason.NO_CONTEXTS, details)
