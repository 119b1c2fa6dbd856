"""Codec of the monitor's state: what is decoded is what was encoded, and nothing else is ever made."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from monitor.service.ingest.codec import Classes, StateError, decode, encode


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Place:
    name: str
    at: datetime


class Settings:
    pass


@dataclass
class Box:
    """An object with all that a state may hold."""

    things: dict[Any, Any] = field(default_factory=dict)
    settings: Settings | None = None


SETTINGS = Settings()
CLASSES = Classes([Colour, Place, Box, Counter], {Settings: SETTINGS})

times = st.integers(0, 10**16).map(lambda number: datetime.fromtimestamp(0, UTC) + timedelta(microseconds=number))
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | times
    | st.timedeltas(timedelta(-(10**5)), timedelta(10**5))
    | st.dates(date(1, 1, 1))
    | st.just(Colour.RED)
)
keys = st.text() | st.integers() | st.tuples(st.text(), st.integers()) | st.builds(Place, st.text(), times)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(keys, inner)
        | st.builds(Box, st.dictionaries(keys, inner))
        | st.sets(st.text())
        | st.frozensets(st.integers())
        | st.builds(lambda pairs: Counter(dict(pairs)), st.dictionaries(st.text(), st.integers(0, 9)))
        | st.builds(lambda some: deque(some, 5), st.lists(inner))
    ),
    max_leaves=20,
)


@given(values)
@example(timedelta(10**6, microseconds=1))  # more microseconds than a float tells apart
def test_what_comes_back_is_what_was_kept(value: Any) -> None:
    """Of every kind of value, with the types of containers."""
    coded, texts = encode(value, CLASSES)
    found = decode(coded, texts, CLASSES)
    assert found == value
    assert type(found) is type(value)


def test_arrays_come_back_with_their_types_and_can_be_written_to() -> None:
    """NumPy's of several types and shapes, Arrow's of texts with nulls."""
    for array in (np.arange(6.0).reshape(2, 3), np.empty((0, 3)), np.array([1 + 2j]), np.array([True]), np.arange(3)):
        coded, texts = encode(array, CLASSES)
        found = decode(coded, texts, CLASSES)
        assert found.dtype == array.dtype
        assert np.array_equal(found, array)
        found[:] = 0
    ids = pa.array(["a", None, "b", "a"])
    for arrow in (ids, ids.dictionary_encode()):
        coded, texts = encode(arrow, CLASSES)
        assert decode(coded, texts, CLASSES).equals(arrow)
        assert texts == ["a", "b"]


def test_what_is_shared_stays_shared() -> None:
    """An object in two places is one object again; settings are those of the reader."""
    shared = [1]
    box = Box({"one": shared, "two": shared, "all": defaultdict(Counter, a=Counter(x=1))}, Settings())
    coded, texts = encode(box, CLASSES)
    found = decode(coded, texts, CLASSES)
    assert found.things["one"] is found.things["two"]
    assert found.settings is SETTINGS
    found.things["all"]["new"]["x"] += 1


@given(st.lists(st.text(), min_size=1))
def test_texts_stand_apart(texts: list[str]) -> None:
    """So that one can be replaced without knowing what the state means."""
    coded, kept = encode({"ids": texts}, CLASSES)
    erased = ["gone" if text == texts[0] else text for text in kept]
    expected = ["gone" if text == texts[0] else text for text in texts]
    assert list(decode(coded, erased, CLASSES).values()) == [expected]


@pytest.mark.parametrize("value", [object(), Settings, print, np.array([{}]), 1j])
def test_other_things_are_refused(value: Any) -> None:
    """With the class's name: it must be named to be kept."""
    with pytest.raises(TypeError, match="cannot hold"):
        encode([value], CLASSES)


@given(st.binary())
def test_damaged_states_are_told(state: bytes) -> None:
    """Whatever the bytes are."""
    with suppress(StateError):
        decode(state, ["a"], CLASSES)


@given(st.integers(0, 10**6), st.integers(0, 255))
def test_a_changed_byte_is_told_or_harmless(place: int, byte: int) -> None:
    """No other error comes out, and nothing but a value of known classes."""
    coded, texts = encode(Box({"a": [Place("x", datetime(2026, 1, 1, tzinfo=UTC)), np.arange(3)]}), CLASSES)
    damaged = bytearray(coded)
    damaged[place % len(coded)] = byte
    with suppress(StateError):
        decode(bytes(damaged), texts, CLASSES)


@pytest.mark.parametrize(
    "coded",
    [
        ["object", "Popen", {}],
        ["object", "Place", {"name": ["text", 0]}],
        ["enum", "Colour", "blue"],
        ["text", 7],
        ["same", 3],
        ["no such kind", 1],
        ["shared", "Other"],
        ["defaultdict", "list", []],
        ["object", "Place", {"name": 7, "at": ["time", 0]}],
        ["object", "Place", {"name": ["text", 0], "at": None}],
    ],
)
def test_what_no_encoder_gives_is_refused(coded: Any) -> None:
    """Unknown classes, absent fields, fields of other types, texts that are not there."""
    with pytest.raises(StateError):
        decode(msgspec.msgpack.encode(coded), ["a"], CLASSES)


def test_a_class_whose_fields_are_not_declared_is_refused() -> None:
    """Nothing would tell that it has changed; so every class of the state is an enum or a dataclass."""
    with pytest.raises(TypeError, match="Settings is a class of the monitor's state: make it a dataclass"):
        Classes([Settings], {})
