"""Answers that are no independent evidence: of one question with a context in common."""

from __future__ import annotations

from time import perf_counter

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from evaluator.calibration.labelled import rows_of


def questions(contexts: list[list[str]]) -> list[int]:
    count = len(contexts)
    frame = {"score": [1.0] * count, "label": [1.0] * count, "question": ["Summarise."] * count, "contexts": contexts}
    return rows_of(pd.DataFrame(frame)).question.tolist()


def groups(contexts: list[list[str]]) -> list[int]:
    """Number each answer by the first that is joined with it, by joining until nothing changes."""
    texts = [set(one) or {""} for one in contexts]
    leaders = list(range(len(texts)))
    for _ in texts:
        leaders = [min(leaders[j] for j, other in enumerate(texts) if own & other) for own in texts]
    numbers = sorted(set(leaders))
    return [numbers.index(one) for one in leaders]


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=3), min_size=1, max_size=12))
def test_answers_that_share_a_context_are_of_one_question(contexts: list[list[str]]) -> None:
    """Also over others, in whatever order they come; those without any are of one."""
    assert questions(contexts) == groups(contexts)


def test_many_answers_to_one_prompt_are_read_at_once() -> None:
    """An application that summarises has one question, and ten thousands of texts."""
    since = perf_counter()
    found = questions([[f"text {number // 2}", f"part {(number + 1) // 2}"] for number in range(20_000)])
    assert found == [0] * 20_000
    assert len(set(questions([[f"text {number}"] for number in range(20_000)]))) == 20_000
    assert perf_counter() - since < 10
