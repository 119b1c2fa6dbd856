"""Images of questions: from the requests as Core logged them, or from the files of DIAL."""

from __future__ import annotations

import hashlib
import logging
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.dataset as ds

from evaluator.answers.answer import LoggedAnswer
from evaluator.answers.core_files import MOST_BYTES, CoreFiles, is_image_file
from lake.tables.table import Table

logger = logging.getLogger(__name__)

_INLINE = "inline:"
_IN_REQUEST = (_INLINE, "http:", "https:")
"""Beginnings of names that alone do not say what it is."""

_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MOST = 8
"""Images of a question that are shown; one that has more is not judged."""
_ROWS = 8
"""Requests that are read at once: with images they are large."""
_MOST_CHARACTERS = MOST_BYTES * 4 // 3 + 100


class QuestionImages:
    """Finds the images among the documents of answers."""

    def __init__(self, files: CoreFiles) -> None:
        self._files = files

    def added(self, logs: Table, some: Sequence[LoggedAnswer]) -> list[LoggedAnswer]:
        """Return answers with the images of their questions as data URLs, None for each that is not at hand."""
        requests = _requests(logs, [one for one in some if any(name.startswith(_IN_REQUEST) for name in one.documents)])
        return [replace(one, images=self._of(one, requests.get(one.event_id, {}))) for one in some]

    def _of(self, answer: LoggedAnswer, shown: Mapping[str, str | None] | None) -> list[str | None] | None:
        if shown is None:
            return [None]
        names = [name for name in answer.documents if name in shown or is_image_file(name)]
        if len(names) > _MOST:
            return [None]
        return [shown[name] if name in shown else self._files.image(name) for name in names] or None


def _requests(logs: Table, some: Sequence[LoggedAnswer]) -> dict[str, Mapping[str, str | None] | None]:
    """Read the images in the requests of answers, by the names that they have among the documents."""
    found: dict[str, Mapping[str, str | None] | None] = {}
    for start in range(0, len(some), _ROWS):
        part = some[start : start + _ROWS]
        days = ds.field("date").isin([pa.scalar(day) for day in {one.date for one in part}])
        where = days & ds.field("event_id").isin([one.event_id for one in part])
        for row in logs.read(["event_id", "request_body"], where).to_pylist():
            found[row["event_id"]] = _looked_through(row["event_id"], row["request_body"])
    return found


def _looked_through(event_id: str, request_body: str | None) -> Mapping[str, str | None] | None:
    """Return the images in a request; None where looking for them fails, which is no reason to score no others."""
    try:
        return dict(_images_in(request_body))
    except Exception as error:
        # Not its message and no trace: they may quote what people wrote.
        place = traceback.extract_tb(error.__traceback__)[-1]
        at = f"{type(error).__name__} at {place.filename}:{place.lineno}"
        text = "the images in the request of event_id %r are not shown, its scores are null (no_image): %s"
        logger.error(text, event_id, at)
        return None


def _images_in(request_body: str | None) -> Iterator[tuple[str, str | None]]:
    """Yield the names of images, with their data URLs; None for one of another host, which is never asked."""
    try:
        body = orjson.loads(request_body or "null")
    except orjson.JSONDecodeError:
        return
    for message in _objects(_member(body, "messages")):
        for part in _objects(message.get("content")):
            yield from _image(part)
        for attachment in _objects(_member(message.get("custom_content"), "attachments")):
            kind, data = attachment.get("type"), attachment.get("data")
            if isinstance(kind, str) and kind in _TYPES and isinstance(data, str):
                yield _name(data), _small(f"data:{kind};base64,{data}")


def _image(part: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    shown, source = part.get("image_url"), part.get("source")
    url = shown.get("url") if isinstance(shown, dict) else shown
    if isinstance(url, str) and not url.startswith("files/"):
        is_inline = url.startswith("data:")
        yield (_name(url) if is_inline else url), (_small(url) if url.startswith("data:image/") else None)
    if isinstance(source, dict):
        kind, data = source.get("media_type"), source.get("data")
        if isinstance(kind, str) and kind in _TYPES and isinstance(data, str):
            yield _name(f"data:{data}"), _small(f"data:{kind};base64,{data}")


def _small(image: str) -> str | None:
    return image if len(image) <= _MOST_CHARACTERS else None


def _name(data: str) -> str:
    """Return the name that the collector gives to what stands in a request itself."""
    return _INLINE + hashlib.sha256(data.encode("utf-8", "replace")).hexdigest()[:32]


def _member(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None


def _objects(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
