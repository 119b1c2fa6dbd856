"""All that a judge could have said where its verdicts are missing: the plain way to the bounds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import strategies as st

from evaluator.metrics.llm.verdicts import UNDECIDED, Judged

KNOWN = st.sampled_from([True, False])
VERDICTS = st.lists(st.sampled_from([True, False, UNDECIDED, None]), max_size=7)
CLAIMS = st.lists(KNOWN, min_size=1, max_size=7)


def completions(verdicts: Any) -> Iterator[Any]:
    """Nested lists of verdicts with each missing one put as True and as False."""
    if verdicts is None:
        yield from (True, False)
    elif isinstance(verdicts, list | tuple):
        yield from (list(each) for each in itertools.product(*(list(completions(one)) for one in verdicts)))
    else:
        yield verdicts


def assert_bounds(function: Callable[..., Judged], *verdicts: Any) -> None:
    """The bounds are the least and greatest value of all completions, and there is a value where these are one."""
    values = [function(*each).value for each in completions(list(verdicts))]
    ours = function(*verdicts)
    if None in values:
        assert set(values) == {None}
        assert (ours.value, ours.low, ours.high) == (None, None, None)
        assert ours.reason
        return
    numbers = [value for value in values if value is not None]
    assert ours.low == pytest.approx(min(numbers), abs=1e-12)
    assert ours.high == pytest.approx(max(numbers), abs=1e-12)
    if len(numbers) == 1:
        assert ours.value == numbers[0]
    if max(numbers) - min(numbers) > 1e-12:
        assert (ours.value, ours.reason) == (None, "judge_failed")
    if ours.value is not None:
        assert ours.low == ours.value == ours.high
