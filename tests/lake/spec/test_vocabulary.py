from __future__ import annotations

from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.spec import case_vocabulary, service_vocabulary, vocabulary
from lake.spec.vocabulary import JUDGE_KINDS, JudgeKind, asks_llm, can_drift, llms_of

NAMES = st.sampled_from(["strict", "gpt-4o", "LEXICAL", "lexical-2"])
CODE = st.sampled_from([JudgeKind.LEXICAL.value, JudgeKind.RATINGS.value])
LOCAL_MODELS = st.sampled_from([JudgeKind.EMBEDDING.value, JudgeKind.MODEL.value])

VOCABULARIES = (vocabulary, case_vocabulary, service_vocabulary)
ENUMS = [
    enum
    for module in VOCABULARIES
    for enum in vars(module).values()
    if isinstance(enum, type) and issubclass(enum, StrEnum) and enum.__module__ == module.__name__
]


@pytest.mark.parametrize("enum", ENUMS, ids=lambda enum: enum.__name__)
def test_a_value_that_stands_in_tables_is_the_name_of_its_member(enum: type[StrEnum]) -> None:
    """Rows of earlier versions have these values, and so have the queries of others: they never change."""
    assert all(member.value == member.name.lower() for member in enum)


@given(names=st.lists(NAMES, min_size=1, max_size=3), others=st.lists(CODE | LOCAL_MODELS, max_size=3))
def test_a_combination_with_a_judge_asks_it_and_can_drift(names: list[str], others: list[str]) -> None:
    """Wherever the names stand among the other words, and all of them are found."""
    for label in ("+".join([*names, *others]), "+".join([*others, *names])):
        assert asks_llm(label)
        assert can_drift(label)
        assert llms_of(label) == names


@given(others=st.lists(CODE | LOCAL_MODELS, min_size=1, max_size=4))
def test_a_combination_without_a_judge_asks_none(others: list[str]) -> None:
    """It can drift where a local model is a part of it."""
    label = "+".join(others)
    assert not asks_llm(label)
    assert llms_of(label) == []
    assert can_drift(label) == bool({"embedding", "model"} & set(others))


def test_what_is_not_known_to_have_judged_asks_nobody_and_may_drift() -> None:
    """A row without a judge; a language model without a name is one all the same."""
    assert not asks_llm(None)
    assert can_drift(None)
    assert asks_llm("llm")
    assert llms_of("lexical+llm") == []
    assert can_drift("outside")
    assert not asks_llm("outside")
    assert {"lexical", "embedding", "model", "llm", "ratings", "outside"} == JUDGE_KINDS
