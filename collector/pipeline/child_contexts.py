"""Contexts of an application that logs none: they are found in the prompt of the model call that it made."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

Contexts = list[dict[str, Any]]
_OVERHEAD_BYTES = 200


class RecentChildContexts:
    """Contexts of recent child calls, by the span of their parent; the oldest are dropped above `max_bytes`.

    Core logs a call after its answer, so a child's line normally comes before its parent's.
    """

    def __init__(self, max_bytes: int = 64 << 20) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._contexts: OrderedDict[tuple[str, str], tuple[Contexts, int]] = OrderedDict()

    def remember(self, trace_id: str, parent_span_id: str, contexts: Contexts) -> None:
        """Keep the contexts of a child of this span; a later child of the same span replaces an earlier one."""
        self._forget((trace_id, parent_span_id))
        size = _OVERHEAD_BYTES + sum(map(_size, contexts))
        self._contexts[trace_id, parent_span_id] = (contexts, size)
        self._bytes += size
        while self._bytes > self._max_bytes:
            self._forget(next(iter(self._contexts)))

    def contexts_for(self, trace_id: str, span_id: str) -> Contexts | None:
        """Return the contexts in the prompt of the last child of this span; None if no child is kept."""
        found = self._contexts.get((trace_id, span_id))
        return None if found is None else found[0]

    def _forget(self, key: tuple[str, str]) -> None:
        _, size = self._contexts.pop(key, (None, 0))
        self._bytes -= size


def _size(context: dict[str, Any]) -> int:
    return _OVERHEAD_BYTES + sum(len(value) for value in context.values() if isinstance(value, str))
