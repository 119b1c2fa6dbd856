"""Calls of tools that count for the limit on failing ones: of a turn only some.

So one that calls a failing tool again and again is no outage.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import pyarrow as pa
import pyarrow.compute as pc

MOST_OF_TOOL, _MOST_OF_TURN = 3, 10
"""Calls that count: the last of each tool of a turn, and of a turn in all."""


def counted_calls(calls: pa.Table) -> pa.Table:
    """Return the calls that count, of those with a known result: the last three of each tool of a turn, ten in all.

    Of a turn with more the last one of each tool comes first, so that every tool is seen.
    """
    calls = calls.filter(pc.is_valid(calls["is_error"]))
    from_last: Counter[tuple[int, str]] = Counter()
    found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    turns, names = calls["turn"].to_pylist(), calls["name"].to_pylist()
    for place in reversed(range(calls.num_rows)):
        key = turns[place], names[place]
        if from_last[key] < MOST_OF_TOOL:
            found[turns[place]].append((from_last[key], -place))
        from_last[key] += 1
    places = [-place for mine in found.values() for _, place in sorted(mine)[:_MOST_OF_TURN]]
    return calls.take(pa.array(sorted(places), pa.int64()))
