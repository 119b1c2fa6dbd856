"""The documents that a conversation is about: what its user attached."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from collector.parsing.json_text.bodies import objects, text_or_none


def documents_of(custom_contents: Iterable[object]) -> tuple[str, ...]:
    """Distinct documents attached to user messages, of which these are the `custom_content`; first seen first.

    A document is named by its url, else its title, else `inline:` and a hash of its data (SHA-256, 32 hex digits).
    """
    names: dict[str, None] = {}
    for custom_content in custom_contents:
        if isinstance(custom_content, dict):
            for attachment in objects(custom_content.get("attachments")):
                if name := _name(attachment):
                    names[name] = None
    return tuple(names)


def _name(attachment: Mapping[str, Any]) -> str | None:
    name = text_or_none(attachment.get("url")) or text_or_none(attachment.get("title"))
    data = text_or_none(attachment.get("data"))
    if name is None and data is not None:
        return "inline:" + hashlib.sha256(data.encode("utf-8", "replace")).hexdigest()[:32]
    return name
