import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing.answer.chunk_merge import WHOLE_STRINGS, ChunkMerge


def merged(*chunks: dict[str, Any]) -> dict[str, Any]:
    merge = ChunkMerge()
    for chunk in chunks:
        merge.add(chunk)
    return merge.result()


@pytest.mark.parametrize(
    ("chunks", "result"),
    [
        ([{"a": "x"}, {"a": "y"}, {"a": None}], {"a": "xy"}),
        ([{"a": None}, {"a": "y"}], {"a": "y"}),
        ([{"a": 1}, {"a": 2.5}], {"a": 2.5}),
        ([{"a": True}, {"a": False}], {"a": False}),
        ([{"role": "assistant"}, {"role": "assistant"}], {"role": "assistant"}),
        ([{"finish_reason": "stop"}, {"finish_reason": ""}], {"finish_reason": "stop"}),
        ([{"a": {"b": "x"}}, {"a": {"b": "y", "c": 1}}], {"a": {"b": "xy", "c": 1}}),
        ([{"a": [{"index": 1, "t": "y"}]}, {"a": [{"index": 0, "t": "x"}]}], {"a": [{"t": "x"}, {"t": "y"}]}),
        ([{"a": [{"index": 2, "t": "z"}]}], {"a": [{}, {}, {"t": "z"}]}),
        ([{"a": [{"t": 1}]}, {"a": [{"t": 2}]}], {"a": [{"t": 1}, {"t": 2}]}),
        ([{"a": [{"index": 0, "t": 1}]}, {"a": [{"t": 2}, 3]}], {"a": [{"t": 1}, {"t": 2}, 3]}),
        ([{"a": [{"index": "0", "t": 1}]}], {"a": [{"index": "0", "t": 1}]}),
        ([{"a": [{"index": True}, {"index": -1}]}], {"a": [{"index": True}, {"index": -1}]}),
        ([{"a": [1]}, {"a": []}], {"a": [1]}),
    ],
)
def test_rules(chunks: list[dict[str, Any]], result: dict[str, Any]) -> None:
    """Core's rules hold, repeated words are not doubled, and null is no value."""
    merge = ChunkMerge()
    for chunk in chunks:
        merge.add(chunk)
    assert (merge.result(), merge.misfits) == (result, 0)


def test_what_does_not_fit_is_counted() -> None:
    """A later value of another type is left out, counted, and costs nothing but itself."""
    merge = ChunkMerge()
    merge.add({"a": "x", "b": [1], "c": {"d": 1}})
    merge.add({"a": 5, "b": {"e": 1}, "c": "z"})
    merge.add({"a": "y"})
    assert merge.result() == {"a": "xy", "b": [1], "c": {"d": 1}}
    assert merge.misfits == 3


def test_a_huge_index_costs_nothing() -> None:
    """An index far beyond the rest neither fills memory nor loses its element."""
    assert merged({"a": [{"index": 10**12, "t": 1}]}) == {"a": [{"index": 10**12, "t": 1}]}
    arrays = merged({"a": [{"x": [{"index": 9_000, "t": 1}]} for _ in range(1_000)]})["a"]
    assert sum(len(array["x"]) for array in arrays) < 200_000
    assert all(array["x"][-1] == {"t": 1} for array in arrays)


def test_chunks_stay_as_they_are() -> None:
    """Merging changes none of the chunks, however deep they are nested."""
    deep: Any = [{"index": 0, "t": "x"}]
    for _ in range(120):
        deep = {"a": deep}
    before = repr(deep)
    merge = ChunkMerge()
    merge.add(deep)
    merge.add(deep)
    merge.result()
    assert repr(deep) == before


# Keys of elements that merge by their index; strings of `WHOLE_STRINGS` come in one piece.
_KEYS = st.sampled_from(["content", "role", "title", "data", "state", "x"])
_MESSAGES = st.dictionaries(
    _KEYS,
    st.recursive(
        st.text(max_size=8) | st.booleans() | st.integers(0, 9),
        lambda inner: (
            st.dictionaries(_KEYS, inner, max_size=3)
            | st.lists(st.dictionaries(_KEYS, inner, max_size=3), min_size=1, max_size=3)
        ),
        max_leaves=8,
    ),
    max_size=4,
)


def pieces(value: Any, key: str, chance: random.Random) -> list[Any]:
    """The value cut into chunks at random places; merged in their order they are the value again."""
    if isinstance(value, dict):
        if not value:
            return [{}]
        return [{name: piece} for name, inner in value.items() for piece in pieces(inner, name, chance)]
    if isinstance(value, list):
        return [
            [{**piece, "index": index}] for index, element in enumerate(value) for piece in pieces(element, "", chance)
        ]
    if isinstance(value, str) and key not in WHOLE_STRINGS:
        cuts = sorted(chance.randint(0, len(value)) for _ in range(chance.randint(0, 3)))
        return [value[start:end] for start, end in zip([0, *cuts], [*cuts, len(value)], strict=True)]
    return [value]


@given(message=_MESSAGES, seed=st.integers(0, 2**32))
def test_a_message_split_anywhere_comes_back(message: dict[str, Any], seed: int) -> None:
    """However a message is cut into chunks, merging the chunks gives the message."""
    assert merged(*pieces(message, "", random.Random(seed))) == message
