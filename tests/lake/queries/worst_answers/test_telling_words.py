"""Words that tell groups of texts apart."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

from lake.queries.worst_answers.telling_words import TellingWord, log_odds_z, telling_words


def z_of_the_paper(counts: Sequence[int], others: Sequence[int], prior: Sequence[float], word: int) -> float:
    """Equation 22 of Monroe, Colaresi and Quinn (2008) word by word, with the whole variance."""
    n_i, n_j, a_0, a_w = sum(counts), sum(others), sum(prior), prior[word]
    y_i, y_j = counts[word], others[word]
    odds_i = (y_i + a_w) / (n_i + a_0 - y_i - a_w)
    odds_j = (y_j + a_w) / (n_j + a_0 - y_j - a_w)
    variance = 1 / (y_i + a_w) + 1 / (n_i + a_0 - y_i - a_w) + 1 / (y_j + a_w) + 1 / (n_j + a_0 - y_j - a_w)
    return (math.log(odds_i) - math.log(odds_j)) / math.sqrt(variance)


def test_z_is_that_of_the_paper() -> None:
    counts, others, prior = [30, 4, 0, 12], [5, 40, 9, 11], [3.5, 4.4, 0.9, 2.3]
    found = log_odds_z(*(np.array(one, float) for one in (counts, others, prior)))
    assert found == pytest.approx([z_of_the_paper(counts, others, prior, word) for word in range(4)])
    # LogOddsRatioInformativeDirichletPrior(prior).get_zeta_i_j_given_separate_counts of scattertext 0.2.2.
    assert found == pytest.approx([5.35776618, -4.75932044, -2.00226007, 1.0616805])


def sentence(chance: random.Random, *more: str) -> list[str]:
    """Twelve words, the frequent ones much more often than the others, as in any language."""
    return [*more, *(f"w{int(1000 ** chance.random())}" for _ in range(12))]


def test_a_word_that_only_one_group_has_is_found_and_a_frequent_one_is_not() -> None:
    chance = random.Random(1)
    bad = [sentence(chance, "the", *(("leave",) if n % 2 else ())) for n in range(40)]
    good = [sentence(chance, "the", *(("leave",) if n % 20 == 0 else ())) for n in range(100)]
    assert telling_words(bad, good, 5) == (TellingWord("leave", 20, 5),)
    assert telling_words(good, bad, 5) == ()


def test_a_word_counts_once_in_a_text() -> None:
    """A text that says a word a hundred times is one text."""
    chance = random.Random(2)
    others = [sentence(chance) for _ in range(60)]
    assert telling_words([["leave"] * 100 + sentence(chance) for _ in range(4)], others, 5) == ()


def test_the_clearest_come_first_and_no_more_than_asked_for() -> None:
    chance = random.Random(3)
    often, seldom = [f"often{n}" for n in range(3)], ["seldom"]
    bad = [sentence(chance, *often, *(seldom if n < 25 else ())) for n in range(60)]
    found = telling_words(bad, [sentence(chance) for _ in range(120)], 4)
    assert [one.word for one in found] == [*often, "seldom"]
    assert [one.word for one in telling_words(bad, [sentence(chance) for _ in range(120)], 2)] == often[:2]


def test_noise_shows_a_word_on_one_of_twenty_pages_at_most() -> None:
    """Both groups say the same; a page has two comparisons."""
    chance = random.Random(4)
    pages = [(bad, good) for bad, good in ((20, 60), (60, 60), (150, 300)) for _ in range(60)]
    shown = sum(
        any(telling_words(*([sentence(chance) for _ in range(size)] for size in page), 5, tests=2) for _ in range(2))
        for page in pages
    )
    assert shown <= len(pages) / 20


@pytest.mark.parametrize(("texts", "others"), [([], [["a"]]), ([["a"]] * 9, []), ([[]], [[]]), ([["a"]], [["b"]])])
def test_without_texts_there_is_no_word(texts: list[list[str]], others: list[list[str]]) -> None:
    assert telling_words(texts, others, 5) == ()
