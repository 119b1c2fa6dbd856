"""Encoding of the monitor's state in MessagePack, with all texts in a list apart, and its decoding.

A state is a tree of objects of known classes, containers, numbers, times, NumPy and Arrow arrays. Each is a list that
begins with the word for its kind. An object that is met twice is encoded once, so that both places have the same one
again. Nothing but the classes that are given is ever made, and no code of a state is run.
"""

from __future__ import annotations

import gc
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
import pyarrow as pa

_INT64 = 1 << 63
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class StateError(ValueError):
    """A state that cannot be read: it is damaged, or of another version."""


class Classes:
    """The classes whose objects a state may hold, by their names: enums, dataclasses, and containers of the library.

    `shared` are objects that a state refers to and does not hold, such as settings, by their classes.
    """

    def __init__(self, classes: Sequence[type], shared: Mapping[type, Any]) -> None:
        """Raises ValueError for two classes of one name, and TypeError for one whose fields are not declared."""
        self.by_name = {one.__name__: one for one in classes}
        self.shared = {one.__name__: value for one, value in shared.items()}
        self._names = {one: name for name, one in self.by_name.items()}
        if len(self._names) != len(self.by_name):
            raise ValueError("two classes of the state have one name")
        self.fields = {one: _declared(one) for one in classes if not issubclass(one, Enum | dict)}
        """By class the classes that the value of each of its fields may have."""

    def name_of(self, kind: type) -> str:
        """Return the name of a class; raises TypeError for one that is not among them."""
        if kind not in self._names:
            raise TypeError(f"the monitor's state cannot hold a {kind.__module__}.{kind.__qualname__}")
        return self._names[kind]


def _declared(kind: type) -> dict[str, tuple[type, ...]]:
    if not is_dataclass(kind):
        raise TypeError(f"{kind.__name__} is a class of the monitor's state: make it a dataclass, with its fields")
    hints = get_type_hints(kind)
    return {field.name: tuple(_accepted(hints[field.name])) for field in fields(kind)}


def _accepted(hint: Any) -> Iterator[type]:
    """Yield the classes of what a type hint allows, whatever these hold."""
    origin = get_origin(hint) or hint
    if origin in (Union, UnionType):
        for one in get_args(hint):
            yield from _accepted(one)
    elif origin is float:
        yield from (float, int)
    else:
        yield origin if isinstance(origin, type) else object


def encode(state: object, classes: Classes) -> tuple[bytes, list[str]]:
    """Return a state as bytes, and its texts. Raises TypeError for an object of a class that is not among `classes`."""
    encoder = _Encoder(classes)
    return msgspec.msgpack.encode(encoder.value(state)), list(encoder.texts)


def decode(state: bytes, texts: Sequence[str], classes: Classes) -> Any:
    """Return the state of `encode`. Raises StateError for what that cannot have given."""
    try:
        with _no_collection():
            return _Decoder(texts, classes).value(msgspec.msgpack.decode(state))
    except Exception as error:  # whatever a damaged state may lead to
        raise StateError(f"the state cannot be read: {error!r}") from error


@contextmanager
def _no_collection() -> Iterator[None]:
    """Have no search for cycles while the block lasts: thousands of objects are made, and all of them stay."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Encoder:
    def __init__(self, classes: Classes) -> None:
        self.texts: dict[str, int] = {}
        self._classes = classes
        self._met: dict[int, int] = {}
        self._held: list[object] = []
        """So that no two objects that are met have one id."""

    def value(self, value: Any) -> Any:
        if value is None or value is True or value is False:
            return value
        kind = type(value)
        if kind is float:
            return value
        if kind is int:
            return value if -_INT64 <= value < _INT64 else ["int", str(value)]
        if kind is str:
            return ["text", self._text(value)]
        simple = _SIMPLE.get(kind)
        if simple is not None:
            return simple(self, value)
        if isinstance(value, Enum):
            return ["enum", self._classes.name_of(kind), value.value]
        return self._shared_or_met(value, kind)

    def _shared_or_met(self, value: Any, kind: type) -> Any:
        if kind.__name__ in self._classes.shared:
            return ["shared", kind.__name__]
        if id(value) in self._met:
            return ["same", self._met[id(value)]]
        self._met[id(value)] = len(self._met)
        self._held.append(value)
        container = _CONTAINERS.get(kind)
        if container is not None:
            return container(self, value)
        name = self._classes.name_of(kind)
        return ["object", name, {member: self.value(getattr(value, member)) for member in self._classes.fields[kind]}]

    def _text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def many(self, values: Sequence[Any]) -> list[Any]:
        return [self.value(one) for one in values]

    def pairs(self, value: Mapping[Any, Any]) -> list[Any]:
        return [[self.value(key), self.value(one)] for key, one in value.items()]

    def default_dict(self, value: defaultdict[Any, Any]) -> list[Any]:
        factory = value.default_factory
        if not isinstance(factory, type):
            raise TypeError(f"the monitor's state cannot hold a defaultdict of {factory}")
        return ["defaultdict", self._classes.name_of(factory), self.pairs(value)]

    def array(self, value: np.ndarray) -> list[Any]:
        if value.dtype.hasobject:
            raise TypeError("the monitor's state cannot hold an array of objects")
        return ["array", value.dtype.str, list(value.shape), np.ascontiguousarray(value).tobytes()]

    def strings(self, value: pa.Array) -> list[Any]:
        places = [-1 if text is None else self._text(text) for text in value.to_pylist()]
        return ["strings", np.array(places, dtype=np.int32).tobytes()]

    def dictionary(self, value: pa.DictionaryArray) -> list[Any]:
        indices = np.asarray(value.indices.fill_null(-1), dtype=np.int32)
        return ["dictionary", indices.tobytes(), self.strings(value.dictionary)]


_SIMPLE: dict[type, Callable[[_Encoder, Any], Any]] = {
    datetime: lambda _, value: ["time", (value - _EPOCH) // _MICROSECOND],
    timedelta: lambda _, value: ["duration", value // _MICROSECOND],
    date: lambda _, value: ["date", value.toordinal()],
    tuple: lambda coder, value: ["tuple", coder.many(value)],
    frozenset: lambda coder, value: ["frozenset", coder.many(sorted(value, key=repr))],
    np.ndarray: lambda coder, value: coder.array(value),
    bytes: lambda _, value: ["bytes", value],
    np.float64: lambda _, value: float(value),
    np.int64: lambda _, value: int(value),
    np.bool_: lambda _, value: bool(value),
    pa.StringArray: lambda coder, value: coder.strings(value),
    pa.DictionaryArray: lambda coder, value: coder.dictionary(value),
}

_CONTAINERS: dict[type, Callable[[_Encoder, Any], Any]] = {
    list: lambda coder, value: ["list", coder.many(value)],
    set: lambda coder, value: ["set", coder.many(sorted(value, key=repr))],
    dict: lambda coder, value: ["dict", coder.pairs(value)],
    Counter: lambda coder, value: ["counter", coder.pairs(value)],
    defaultdict: lambda coder, value: coder.default_dict(value),
    deque: lambda coder, value: ["deque", value.maxlen, coder.many(value)],
}


class _Decoder:
    def __init__(self, texts: Sequence[str], classes: Classes) -> None:
        self._texts = texts
        self._classes = classes
        self._met: list[Any] = []

    def value(self, coded: Any) -> Any:
        if not isinstance(coded, list):
            return coded
        kind, *parts = coded
        return _READERS[kind](self, *parts)

    def many(self, coded: Sequence[Any]) -> list[Any]:
        return [self.value(one) if isinstance(one, list) else one for one in coded]

    def list_(self, coded: Sequence[Any]) -> list[Any]:
        made: list[Any] = self._meet([])
        made.extend(self.many(coded))
        return made

    def set_(self, coded: Sequence[Any]) -> set[Any]:
        made: set[Any] = self._meet(set())
        made.update(self.many(coded))
        return made

    def dict_(self, made: dict[Any, Any], coded: Sequence[Any]) -> dict[Any, Any]:
        self._meet(made)
        for coded_key, coded_value in coded:
            # In the order in which they were encoded, which an assignment alone would not keep.
            key, value = self.value(coded_key), self.value(coded_value)
            made[key] = value
        return made

    def deque_(self, longest: int | None, coded: Sequence[Any]) -> deque[Any]:
        made: deque[Any] = self._meet(deque(maxlen=longest))
        made.extend(self.many(coded))
        return made

    def object_(self, name: str, members: Mapping[str, Any]) -> Any:
        kind = self._classes.by_name[name]
        declared = self._classes.fields[kind]
        made = self._meet(object.__new__(kind))
        if declared.keys() != members.keys():
            raise StateError(f"{name} has other fields than {sorted(members)}")
        for member, one in members.items():
            value = self.value(one) if isinstance(one, list) else one
            if not isinstance(value, declared[member]):
                raise StateError(f"{name}.{member} cannot be a {type(value).__name__}")
            object.__setattr__(made, member, value)
        return made

    def default_dict(self, name: str, coded: Sequence[Any]) -> dict[Any, Any]:
        return self.dict_(defaultdict(self._classes.by_name[name]), coded)

    def enum(self, name: str, value: Any) -> Any:
        return self._classes.by_name[name](value)

    def text(self, place: int) -> str:
        return self._texts[place]

    def strings(self, places: bytes) -> pa.Array:
        texts = [None if place < 0 else self._texts[place] for place in np.frombuffer(places, np.int32).tolist()]
        return pa.array(texts, pa.string())

    def dictionary(self, indices: bytes, texts: list[Any]) -> pa.DictionaryArray:
        places = np.frombuffer(indices, np.int32)
        return pa.DictionaryArray.from_arrays(pa.array(places, mask=places < 0), self.value(texts))

    def shared(self, name: str) -> Any:
        return self._classes.shared[name]

    def same(self, place: int) -> Any:
        return self._met[place]

    def _meet(self, made: Any) -> Any:
        self._met.append(made)
        return made


def _array(_: _Decoder, kind: str, shape: list[int], data: bytes) -> np.ndarray:
    # A copy: what is read from bytes cannot be written to.
    return np.frombuffer(data, np.dtype(kind)).reshape(shape).copy()


_READERS: dict[str, Callable[..., Any]] = {
    "int": lambda _, text: int(text),
    "text": _Decoder.text,
    "time": lambda _, number: _EPOCH + number * _MICROSECOND,
    "duration": lambda _, number: number * _MICROSECOND,
    "date": lambda _, number: date.fromordinal(number),
    "tuple": lambda coder, coded: tuple(coder.many(coded)),
    "frozenset": lambda coder, coded: frozenset(coder.many(coded)),
    "array": _array,
    "bytes": lambda _, value: value,
    "strings": _Decoder.strings,
    "dictionary": _Decoder.dictionary,
    "enum": _Decoder.enum,
    "shared": _Decoder.shared,
    "same": _Decoder.same,
    "list": _Decoder.list_,
    "set": _Decoder.set_,
    "dict": lambda coder, coded: coder.dict_({}, coded),
    "counter": lambda coder, coded: coder.dict_(Counter(), coded),
    "defaultdict": _Decoder.default_dict,
    "deque": _Decoder.deque_,
    "object": _Decoder.object_,
}
