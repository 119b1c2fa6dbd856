"""Kind of a call and its deployment, found from the path of its URI."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from lake.spec.vocabulary import Kind

RATE = "rate"
"""A rating. It becomes a signal and never a row of `parsed_logs`."""

MODES = frozenset({Kind.RETRIEVAL, Kind.INDEXING})
"""Modes of DIAL RAG that are set in the body of a chat completion; their calls do not answer a question."""

_INTERCEPTOR = "interceptor"
_CUSTOM = ("applications/", "toolsets/")
_PATHS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (Kind.CHAT_COMPLETION, r"openai/deployments/(?P<id>.+?)/chat/completions"),
        (Kind.COMPLETION, r"openai/deployments/(?P<id>.+?)/completions"),
        (Kind.EMBEDDING, r"openai/deployments/(?P<id>.+?)/embeddings"),
        (Kind.CHAT_COMPLETION, r"openai/(v1/)?chat/completions"),
        (Kind.COMPLETION, r"openai/(v1/)?completions"),
        (Kind.EMBEDDING, r"openai/(v1/)?embeddings"),
        (Kind.RESPONSE, r"openai/(v1/|deployments/(?P<id>.+?)/)?responses"),
        (Kind.TOKENIZE, r"v1/deployments/(?P<id>.+?)/tokenize"),
        (Kind.TRUNCATE_PROMPT, r"v1/deployments/(?P<id>.+?)/truncate_prompt"),
        (Kind.MCP, r"v1/(toolset|deployments)/(?P<id>.+?)/mcp"),
        (Kind.ROUTE, r"v1/deployments/(?P<id>.+?)/route(/.*)?"),
        (RATE, r"v1/(?P<id>.+?)/rate"),
    )
)


@dataclass(frozen=True, slots=True)
class Target:
    """Kind of a call and its deployment, None if it is not known; and whether the call came through an interceptor."""

    kind: str
    deployment: str | None
    is_intercepted: bool = False


def read_target(uri: str | None, deployment: str | None, execution_path: list[str] | None) -> Target:
    """Return the kind and the deployment that a request called.

    `uri` is a raw path with its query; `deployment` is what Core wrote, which always wins over the URI. On
    the URI of an interceptor the last element of `execution_path` is taken. Kinds are those of
    `parsed_logs`, and `rate`. A path that Core does not own is a `route` where no deployment is known (Core
    writes none for global routes), else `other`; one that ends in `/messages` with a deployment is
    Anthropic's `message`.
    """
    path = "" if uri is None else re.split(r"[?#]", uri, maxsplit=1)[0].lstrip("/")
    for kind, pattern in _PATHS:
        match = pattern.fullmatch(path)
        if match:
            named = match.groupdict().get("id")
            return Target(kind, deployment or _deployment(named, execution_path), named == _INTERCEPTOR)
    if deployment is None:
        return Target(Kind.ROUTE if path else Kind.OTHER, None)
    return Target(Kind.MESSAGE if path.endswith("/messages") else Kind.OTHER, deployment)


def _deployment(identifier: str | None, execution_path: list[str] | None) -> str | None:
    if identifier == _INTERCEPTOR:
        return execution_path[-1] if execution_path else None
    if identifier is None:
        return None
    name = re.sub("%2F", "/", identifier, flags=re.IGNORECASE)
    # Core writes a custom application as its resource's URL, whose percent signs are part of the name.
    return name if name.startswith(_CUSTOM) else unquote(name)
