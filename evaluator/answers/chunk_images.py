"""Images among the chunks that an application retrieved, in its answer as Core merged it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from evaluator.answers.core_files import checked_data_url, is_image_file
from lake.spec.message_parts import objects, text_or_none

_RETRIEVALS = (
    "application/x.aidial-rag.retrieval-response+json",
    "application/vnd.aidial.rag.retrieval-results+json",
)
_IN_TEXT = re.compile(r"!\[[^\[\]]*\]\((data:[^)\s]*)")
_PLACEHOLDER = re.compile(r"(?:\s*\[Image(?: of the page \d{1,10})?\])+\s*", re.ASCII)


def chunk_images(assembled_response: str | None, names: Sequence[str | None]) -> list[str | None]:
    """Return the images of chunks without text, by their urls or titles: a data URL, a file of DIAL, or None.

    None is one that is not at hand. A chunk that has neither an image nor a text is left out.
    """
    shown: dict[str, list[str | None]] = {}
    for name, image in _images_in(assembled_response):
        of_name = shown.setdefault(name, [])
        of_name += [] if image in of_name else [image]
    found: list[str | None] = []
    for chunk in dict.fromkeys(names):
        of_name = shown.get(chunk or "", [None])
        # The same chunk may stand in several stages, in some of them by a placeholder.
        found += [one for one in of_name if one] or ([None] if None in of_name else [])
    return found


def _images_in(assembled_response: str | None) -> Iterator[tuple[str, str | None]]:
    """Yield the image of each attachment that shows one, and "" for each that has none, by its url or title."""
    try:
        answer = orjson.loads(assembled_response or "null")
    except orjson.JSONDecodeError:
        return
    for choice in objects(_member(answer, "choices")):
        content = _member(_member(choice, "message"), "custom_content")
        for holder in (*objects(_member(content, "stages")), content):
            for attachment in objects(_member(holder, "attachments")):
                if attachment.get("type") in _RETRIEVALS:
                    yield from _retrieved(attachment.get("data"))
                else:
                    yield from _attached(attachment)


def _attached(attachment: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    url, source = text_or_none(attachment.get("url")), text_or_none(attachment.get("reference_url"))
    data, title = text_or_none(attachment.get("data")), text_or_none(attachment.get("title"))
    is_image = (text_or_none(attachment.get("type")) or "").lower().startswith("image/")
    if is_image and data is not None:
        images: list[str | None] = [checked_data_url(f"data:;base64,{data}")]
    elif is_image or (data is None and any(map(_is_file, (url, source)))):
        images = [_at(url) or _at(source)]
    else:
        images = _in_text(data)
    for name in filter(None, (source or url or title,)):
        yield from ((name, image) for image in images)


def _retrieved(data: Any) -> Iterator[tuple[str, str | None]]:
    """Yield the images of a retrieval response: those of pages stand in a list beside the chunks."""
    try:
        found = orjson.loads(data) if isinstance(data, str) else data
    except orjson.JSONDecodeError:
        return
    pages = _member(found, "images")
    for chunk in objects(_member(found, "chunks")):
        source, page = chunk.get("source"), chunk.get("page")
        attached = text_or_none(chunk.get("attachment_url"))
        name = text_or_none(_member(source, "url") if isinstance(source, dict) else source) or attached
        number = _member(page, "image_index") if isinstance(page, dict) else chunk.get("page_image_index")
        if name is None:
            continue
        if isinstance(pages, list) and type(number) is int and 0 <= number < len(pages):
            image = text_or_none(_member(pages[number], "data"))
            yield name, None if image is None else checked_data_url(f"data:;base64,{image}")
        elif _is_file(attached):
            yield name, _at(attached)
        else:
            yield from ((name, one) for one in _in_text(text_or_none(chunk.get("text"))))


def _in_text(text: str | None) -> list[str | None]:
    """Return the images in a chunk's text; None for a placeholder, or where it is not there, "" where it has none."""
    if images := _IN_TEXT.findall(text or ""):
        return [checked_data_url(one) for one in images]
    return [None if text is None or _PLACEHOLDER.fullmatch(text) else ""]


def _is_file(url: str | None) -> bool:
    return url is not None and is_image_file(url)


def _at(url: str | None) -> str | None:
    """Return an image by its address; None for another host, which is never asked."""
    if url is None:
        return None
    if url.startswith("data:"):
        return checked_data_url(url)
    return url if url.startswith("files/") and "#" not in url else None


def _member(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None
