"""Merging of streamed chunks into one message, by the rules of DIAL Core, but never giving up."""

from __future__ import annotations

from typing import Any, Final

WHOLE_STRINGS: Final = frozenset(
    ("role", "finish_reason", "id", "type", "status", "object", "model", "severity", "reference_type")
)
"""Keys whose strings are sent whole: a repeated one replaces, it is not appended."""

_LARGEST_INDEX: Final = 9_999
_LARGEST_DEPTH: Final = 50
_MOST_PLACEHOLDERS: Final = 100_000


class ChunkMerge:
    """Merges JSON objects in the order of their arrival.

    Strings are appended (except those of `WHOLE_STRINGS`), numbers and booleans replaced, objects merged
    key by key. Array elements with an integer `index` are merged by it, gaps become {} (100,000 at most);
    other elements are appended. The rules are those of `MergeChunks` in ai-dial-core; where that raises, here
    the later value is left out and counted in `misfits`. Below 50 levels of nesting the first value stays.
    """

    def __init__(self) -> None:
        self.misfits = 0
        self._placeholders = 0
        self._merged: dict[str, Any] = {}

    def add(self, chunk: dict[str, Any]) -> None:
        """Merge one more chunk; the chunk itself stays as it is."""
        self._join_objects(self._merged, chunk, 0)

    def result(self) -> dict[str, Any]:
        """The merged object, without the `index` of array elements."""
        return {key: self._finish(value, 1) for key, value in self._merged.items()}

    def _join_objects(self, target: dict[str, Any], source: dict[str, Any], depth: int) -> None:
        for key, value in source.items():
            target[key] = self._join(target.get(key), value, key, depth + 1)

    def _join(self, target: Any, source: Any, key: str, depth: int) -> Any:
        if source is None:
            return target
        if target is None:
            return self._absorb(source, depth)
        if depth > _LARGEST_DEPTH:
            return self._misfit(target)
        if isinstance(source, str):
            return self._join_strings(target, source, key)
        if isinstance(source, dict) and isinstance(target, dict):
            self._join_objects(target, source, depth)
        elif isinstance(source, list) and isinstance(target, _Array):
            self._extend(target, source, depth)
        elif isinstance(source, (int, float)) and isinstance(target, (int, float)):
            return source
        else:
            return self._misfit(target)
        return target

    def _join_strings(self, target: Any, source: str, key: str) -> Any:
        if isinstance(target, str):
            if key in WHOLE_STRINGS:
                return source or target
            return _Pieces((target, source))
        if not isinstance(target, _Pieces):
            return self._misfit(target)
        target.append(source)
        return target

    def _extend(self, array: _Array, elements: list[Any], depth: int) -> None:
        for element in elements:
            index = element.get("index") if isinstance(element, dict) else None
            if type(index) is int and 0 <= index <= _LARGEST_INDEX:
                array.indexed[index] = self._join(array.indexed.get(index), element, "", depth + 1)
            else:
                array.others.append(self._absorb(element, depth + 1))

    def _absorb(self, value: Any, depth: int) -> Any:
        if depth > _LARGEST_DEPTH:
            return value
        if isinstance(value, dict):
            return {key: self._absorb(element, depth + 1) for key, element in value.items()}
        if isinstance(value, list):
            array = _Array()
            self._extend(array, value, depth)
            return array
        return value

    def _finish(self, value: Any, depth: int) -> Any:
        if depth > _LARGEST_DEPTH:
            return value
        if isinstance(value, _Pieces):
            return "".join(value)
        if isinstance(value, dict):
            return {key: self._finish(element, depth + 1) for key, element in value.items()}
        if isinstance(value, _Array):
            indexed = [self._finish(element, depth + 1) for element in self._in_order(value.indexed)]
            unmarked = [{key: member for key, member in element.items() if key != "index"} for element in indexed]
            return unmarked + [self._finish(element, depth + 1) for element in value.others]
        return value

    def _in_order(self, indexed: dict[int, Any]) -> list[Any]:
        self._placeholders += max(indexed, default=-1) + 1 - len(indexed)
        if self._placeholders > _MOST_PLACEHOLDERS:
            return [indexed[index] for index in sorted(indexed)]
        return [indexed.get(index, {}) for index in range(max(indexed, default=-1) + 1)]

    def _misfit(self, target: Any) -> Any:
        self.misfits += 1
        return target


class _Pieces(list[str]):
    """A string still being appended to: joining once keeps long answers linear."""


class _Array:
    """An array still being merged."""

    __slots__ = ("indexed", "others")

    def __init__(self) -> None:
        self.indexed: dict[int, Any] = {}
        self.others: list[Any] = []
