"""Shared tokens of many rows at once against the plain count of one row."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaluator.metrics.language import token_overlap
from evaluator.metrics.language.token_overlap import Compared, Overlap, overlaps
from evaluator.metrics.language.tokens import Tokenisation, tokeniser

TEXTS = st.one_of(
    st.lists(st.sampled_from(["a", "the", "The,", "an", "cat", "Cat's", "3.14", "İs", "你好", "“a”", "\ud800"])).map(
        " ".join
    ),
    st.text(alphabet=st.one_of(st.sampled_from("aA tTheE.,'_1\n\x00\x1f\x85’Σİ你"), st.characters()), max_size=20),
)
ROWS = st.lists(st.builds(Compared, TEXTS, st.lists(TEXTS, max_size=3)), max_size=6)


def plain(row: Compared, tokenisation: Tokenisation) -> Overlap:
    """The multiset intersection as it is written down."""
    split = tokeniser(tokenisation)
    counted, others = Counter(split(row.text)), [Counter(split(other)) for other in row.others]
    return Overlap(
        counted.total(), [other.total() for other in others], [(counted & other).total() for other in others]
    )


@pytest.mark.parametrize("tokenisation", ["squad", "any_script"])
@example([Compared("", []), Compared("the", ["the a"]), Compared("a\x00the b", ["b the", ""])])
@example([Compared("the\x00", ["\x00", "an\x01"])])
@example([Compared("cat cat", ["cat", "cat cat cat"]), Compared("dog", ["cat"])])
@given(ROWS)
def test_rows_together_share_what_each_shares_by_itself(tokenisation: Tokenisation, rows: list[Compared]) -> None:
    """Any texts of any rows: numbers of tokens and of shared ones are those of the multisets."""
    assert overlaps(rows, tokenisation) == [plain(row, tokenisation) for row in rows]


@pytest.mark.parametrize(("rows", "characters"), [(1, 1 << 19), (2, 1 << 19), (64, 1), (64, 40)])
def test_where_rows_are_divided_makes_no_difference(
    rows: int, characters: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are counted in blocks, bounded by their number and their text, and every row is in one."""
    monkeypatch.setattr(token_overlap, "_BLOCK_ROWS", rows)
    monkeypatch.setattr(token_overlap, "_BLOCK_CHARACTERS", characters)
    given = [Compared(f"cat {number}", [f"{number} cat", "dog"] * (number % 3)) for number in range(9)]
    assert overlaps(given) == [plain(row, "squad") for row in given]
    sizes = [len(block) for block in token_overlap._blocks(given)]
    assert sum(sizes) == 9
    assert max(sizes) <= rows
