"""Words that tell one group of texts from another: log-odds ratios with an informative Dirichlet prior.

Monroe, Colaresi and Quinn (2008), "Fightin' Words: Lexical Feature Selection and Evaluation for Identifying the Content
of Political Conflict", Political Analysis 16 (4), equation 22 and its variance. No list of stop words is needed: a word
that both groups have often is held by the prior.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

_PRIOR_SHARE = 0.4
"""Words that the prior counts for, as a share of those of the smaller group."""
_LEAST_TEXTS = 5
"""Texts of both groups that must have a word."""
_MISTAKES = 0.05
"""Share of pages that show a word by chance, at most."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TellingWord:
    """A word, and how many texts of each group have it."""

    word: str
    texts: int
    others: int


def telling_words(
    texts: Sequence[Collection[str]], others: Sequence[Collection[str]], most: int, tests: int = 1
) -> tuple[TellingWord, ...]:
    """Return the words of `texts` that tell them from `others`, the clearest first.

    A word counts once in a text: said again it is no more evidence. The bound of z is that of a normal distribution
    (Bonferroni), so that of 20 comparisons of groups that do not differ one or none shows a word; `tests` is how many
    comparisons stand on a page.
    """
    said, beside = (Counter(word for text in some for word in set(text)) for some in (texts, others))
    vocabulary = sorted(said.keys() | beside.keys())
    if not said or not beside or len(vocabulary) == 1:
        return ()
    counts, other_counts = (np.array([one[word] for word in vocabulary], np.float64) for one in (said, beside))
    both = counts + other_counts
    prior = _PRIOR_SHARE * min(counts.sum(), other_counts.sum()) * both / both.sum()
    z = np.where(both >= _LEAST_TEXTS, log_odds_z(counts, other_counts, prior), 0.0)
    tried = max(int((both >= _LEAST_TEXTS).sum()), 1)
    bound = NormalDist().inv_cdf(1 - _MISTAKES / (tests * tried))
    order = sorted(np.flatnonzero(z > bound).tolist(), key=lambda place: (-z[place], vocabulary[place]))
    return tuple(TellingWord(vocabulary[one], int(counts[one]), int(other_counts[one])) for one in order[:most])


def log_odds_z(counts: Floats, others: Floats, prior: Floats) -> Floats:
    """Return the z of each word's log-odds ratio: above 0 where the first group has the word more often.

    Each array has a number for each word of the vocabulary: how often the first group has it, how often the other one
    does, and for how often the prior takes it.
    """
    first, second = counts + prior, others + prior
    rest, other_rest = first.sum() - first, second.sum() - second
    ratio = np.log(first / rest) - np.log(second / other_rest)
    # The paper leaves the terms of the rest out, which are small for words; they are not where there are few of them.
    return np.asarray(ratio / np.sqrt(1 / first + 1 / rest + 1 / second + 1 / other_rest))
