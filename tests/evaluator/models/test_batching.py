"""Batches under a budget of tokens."""

from hypothesis import given
from hypothesis import strategies as st

from evaluator.models.batching import batches


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 1_000))
def test_each_text_is_in_one_batch_and_no_batch_is_over_the_budget(lengths: list[int], budget: int) -> None:
    """Padding counts; only a text that is longer than the budget may be over it, and then it is alone."""
    made = list(batches(lengths, budget))
    assert sorted(index for batch in made for index in batch) == list(range(len(lengths)))
    for batch in made:
        assert len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= budget


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 1_000))
def test_texts_of_like_length_share_a_batch(lengths: list[int], budget: int) -> None:
    """No text of a batch is longer than any of the batch before."""
    flat = [lengths[index] for batch in batches(lengths, budget) for index in batch]
    assert flat == sorted(lengths, reverse=True)
