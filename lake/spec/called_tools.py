"""Rows of `parsed_logs` that are calls of tools, and which call of an answer's turn each belongs to.

Whether a call failed, and how long it took, stands in the row that DIAL Core logged of the tool: an MCP server, or
another deployment.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from lake.spec.deployment_families import without_version
from lake.spec.message_parts import objects
from lake.spec.tool_calls import canonical, decoded
from lake.spec.tool_messages import ToolCall, json_text
from lake.spec.vocabulary import ANSWERING_KINDS, Kind

_CALL: Final = "tools/call"
_NO_WORD = re.compile(r"[^a-z0-9]+")
_NOT_OF_A_FUNCTION = re.compile(r"[^A-Za-z0-9_-]")
"""Characters that the name of a function must not have at a model: an application writes `_` for them."""
_WORD_OR_MARK = re.compile(r"(?<=[^A-Za-z0-9])[A-Za-z0-9]|[^A-Za-z0-9]")
_MOST_WORDS = 30
"""Words at the end of a deployment's name that a tool may be called by."""
_MOST_ENDS = 60
"""Ends of a tool's name that may be its name at an MCP server."""


class CalledTool(NamedTuple):
    """A row of `parsed_logs` as the call of a tool: of an MCP server, or without `arguments` of a deployment.

    `is_failed` is None where the row does not say which of several calls failed.
    """

    name: str
    arguments: str | None
    is_failed: bool | None
    duration_ms: int | None = None


def called_tools(
    kind: str | None,
    deployment: str | None,
    request_body: str | None,
    error: str | None,
    duration_ms: int | None = None,
) -> list[CalledTool]:
    """Read a row as the call of a tool, or as the calls that a client sent to an MCP server at once; [] for none."""
    if kind in ANSWERING_KINDS:
        return [CalledTool(deployment, None, error is not None, duration_ms)] if deployment else []
    if kind != Kind.MCP or not request_body:
        return []
    try:
        body = decoded(request_body)
    except ValueError:
        return []
    called = list(filter(None, map(_named, objects(body if isinstance(body, list) else [body]))))
    is_failed = None if error is not None and len(called) > 1 else error is not None
    return [CalledTool(name, json_text(arguments or {}), is_failed, duration_ms) for name, arguments in called]


def _named(message: dict[str, Any]) -> tuple[str, Any] | None:
    """Name and arguments of the tool that a message of MCP calls; None for another request, as for a prompt."""
    params = message.get("params")
    if not isinstance(params, dict) or message.get("method", _CALL) != _CALL:
        return None
    name = params.get("name")
    return (name, params.get("arguments")) if isinstance(name, str) and name else None


def lacks_errors(calls: Sequence[ToolCall] | None) -> bool:
    """Return whether it is not known of a call whether it failed."""
    return any(call["is_error"] is None for call in calls or ())


def with_errors(calls: Sequence[ToolCall], called: Sequence[CalledTool]) -> list[ToolCall]:
    """Return the calls with `is_error`, where it is not known, of the rows that DIAL Core logged of them.

    Where the same was called several times, the rows count in their order, and the last one for all that follow.
    """
    unknown = [call for call in calls if call["is_error"] is None]
    rows = iter(rows_of_calls(unknown, called))
    filled = []
    for call in calls:
        row = next(rows) if call["is_error"] is None else None
        filled.append(call if row is None else call | {"is_error": row.is_failed})
    return filled


def rows_of_calls(calls: Sequence[ToolCall], called: Sequence[CalledTool]) -> list[CalledTool | None]:
    """Return the row of each call, None where none is its; the time follows the number of both, not their product.

    Where the same was called several times, the rows count in their order, and the last one for all that follow. Where
    it has more rows than calls, an application tried again: rows of failures that others follow are left out. A row is
    of the call that has its very name, if there is one, and of no longer name that ends in it.
    """
    index = _Index(called, calls)
    rows = [index.rows_of(call) for call in calls]
    numbers = Counter(key for key, _ in rows)
    attempts: dict[Hashable, Sequence[CalledTool]] = {}
    counts: dict[Hashable, int] = defaultdict(int)
    found: list[CalledTool | None] = []
    for key, same in rows:
        if key not in attempts:
            attempts[key] = _last_attempts(same, numbers[key])
        same = attempts[key]
        found.append(same[min(counts[key], len(same) - 1)] if same else None)
        counts[key] += 1
    return found


def _last_attempts(rows: Sequence[CalledTool], number: int) -> Sequence[CalledTool]:
    """Rows of so many calls, without the first failures of those that are too many."""
    spare = len(rows) - number
    kept = []
    for place, row in enumerate(rows, 1):
        if spare > 0 and row.is_failed and place < len(rows):
            spare -= 1
        else:
            kept.append(row)
    return kept


class _Index:
    """Rows of tools: of MCP servers by arguments and name, of deployments by all that a tool may call them."""

    def __init__(self, called: Sequence[CalledTool], calls: Sequence[ToolCall]) -> None:
        self._called_as = {(call["name"], canonical(call["arguments"])) for call in calls}
        self._servers: dict[str, dict[str, list[CalledTool]]] = defaultdict(lambda: defaultdict(list))
        self._deployments: dict[str, list[CalledTool]] = defaultdict(list)
        names: dict[str, list[str]] = {}
        for one in called:
            if one.arguments is not None:
                of_server = self._servers[one.arguments]
                of_server[one.name].append(one)
                if _NOT_OF_A_FUNCTION.search(one.name):
                    of_server[_NOT_OF_A_FUNCTION.sub("_", one.name)].append(one)
                continue
            if one.name not in names:
                names[one.name] = _names_of_deployment(one.name)
            for name in names[one.name]:
                self._deployments[name].append(one)

    def rows_of(self, call: ToolCall) -> tuple[Hashable, Sequence[CalledTool]]:
        """Return the rows that may be those of a call, and what all calls have in common that may have the same."""
        name, arguments = call["name"] or "", canonical(call["arguments"])
        of_servers = self._servers.get(arguments, {})
        found = next((one for one in _names_at_server(name) if one in of_servers), None)
        if found is not None and (found == name or (found, arguments) not in self._called_as):
            return (arguments, found), of_servers[found]
        word = _word(name)
        return word, self._deployments.get(word, ()) if word else ()


def _names_at_server(name: str) -> Iterator[str]:
    """Yield what an MCP server may call a tool, the longest first: an application may put `crm_` before its name.

    A name that begins within a word is another tool's: `deep_research` is no call of `search`.
    """
    yield name
    yield from (name[end.start() :] for end in islice(_WORD_OR_MARK.finditer(name, 1), _MOST_ENDS))


def _names_of_deployment(name: str) -> list[str]:
    """Return what a tool may be called that is a deployment: `dial_rag` is `dial-rag` and `applications/dial-rag`.

    It is `applications/dial-rag__1.0.0`, too: a tool is seldom named after a version.
    """
    found: dict[str, None] = {}
    name = unquote(name)
    for one in dict.fromkeys((name, without_version(name))):
        words = _word(one).split("_")
        first = max(0, len(words) - _MOST_WORDS)
        found |= dict.fromkeys(
            ["_".join(words), *("_".join(words[place:]) for place in range(max(first, 1), len(words)))]
        )
    return list(found)


def _word(name: str) -> str:
    return _NO_WORD.sub("_", name.lower()).strip("_")
