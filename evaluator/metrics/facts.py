"""Facts recall: how many of the facts that an answer needs were retrieved?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from evaluator.metrics.cells import texts
from evaluator.metrics.citation import ABSENT, canoniser, fact_ranks, is_usable
from evaluator.metrics.metric import Score, Scores, score_rows


@dataclass(frozen=True)
class FactsRecall:
    """Share of the facts that stand in some context, from 0 to 1, higher is better.

    The arithmetic and the matcher are those of aidial-rag-eval 0.7.0 (`recall`). A fact without a letter or digit
    is an input error and not counted; `ignored_facts` in the details says how many there were. `facts_ranks` are
    the ranks of the counted facts, from 0, -1 where absent.

    No facts are null with `no_facts`. Nothing retrieved (an empty list) is 0.0 with `no_contexts`; contexts that
    are not known (a missing cell) are null with `no_contexts`.
    """

    name = "facts_recall"
    version = "1"
    needs = ("facts", "contexts")
    judge = "lexical"

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `facts` and `contexts`."""
        canonise = canoniser()
        return score_rows(self, frame, lambda facts, contexts: _score_row(facts, contexts, canonise))


def _score_row(facts_cell: object, contexts_cell: object, canonise: Callable[[str], str]) -> Score:
    given, contexts = texts(facts_cell, "facts") or [], texts(contexts_cell, "contexts")
    facts = [fact for fact in given if is_usable(fact)]
    if not facts:
        return Score(None, "no_facts")
    if contexts is None:
        return Score(None, "no_contexts")
    ranks = fact_ranks(facts, contexts, canonise)
    found = sum(rank != ABSENT for rank in ranks)
    details = {"facts_ranks": ranks, "ignored_facts": len(given) - len(facts)}
    return Score(found / len(facts), None if contexts else "no_contexts", details)
