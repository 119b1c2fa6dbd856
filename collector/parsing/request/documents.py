"""The documents that a conversation is about: what its user attached or showed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from lake.spec.message_parts import objects, text_or_none

_TEXTS = ("text", "input_text")
_FILES = ("file", "input_file", "document")
_FILE_NAMES = ("filename", "title", "file_url", "url", "file_id")


def documents_of(custom_contents: Iterable[object]) -> tuple[str, ...]:
    """Distinct documents attached to user messages, of which these are the `custom_content`; first seen first.

    A document is named by its url, else its title, else the url that it refers to, else `inline:` and a hash of its
    data (SHA-256, 32 hex digits).
    """
    names: dict[str, None] = {}
    for custom_content in custom_contents:
        if isinstance(custom_content, dict):
            for attachment in objects(custom_content.get("attachments")):
                if name := _name(attachment):
                    names[name] = None
    return tuple(names)


def shown_in(content: object) -> tuple[str, ...]:
    """Names of the images and files among the parts of a message's content.

    An image is named by its url, else `inline:` and a hash of it; parts are those of chat completions (`image_url`), of
    responses (`input_image`) and of the Messages API (`image`). A file (`file`, `input_file`, `document`) has its name,
    else its url or id.
    """
    found = (_image(part) or _file(part) for part in objects(content) if part.get("type") not in _TEXTS)
    return tuple(_inline(name) if name.startswith("data:") else name for name in found if name)


def _file(part: Mapping[str, Any]) -> str | None:
    if part.get("type") not in _FILES:
        return None
    holders = [part, *(inner for name in ("file", "source") if isinstance(inner := part.get(name), dict))]
    names = (text_or_none(holder.get(name)) for name in _FILE_NAMES for holder in holders)
    return next((name for name in names if name and not name.startswith("data:")), None)


def _image(part: Mapping[str, Any]) -> str | None:
    shown = part.get("image_url")
    if shown is None and part.get("type") == "image" and isinstance(source := part.get("source"), dict):
        data = text_or_none(source.get("data"))
        return text_or_none(source.get("url")) or (f"data:{data}" if data else None)
    return text_or_none(shown.get("url") if isinstance(shown, dict) else shown)


def _inline(data: str) -> str:
    return "inline:" + hashlib.sha256(data.encode("utf-8", "replace")).hexdigest()[:32]


def _name(attachment: Mapping[str, Any]) -> str | None:
    names = (text_or_none(attachment.get(member)) for member in ("url", "title", "reference_url"))
    name = next(filter(None, names), None)
    data = text_or_none(attachment.get("data"))
    if name is None and data is not None:
        return _inline(data)
    return name
