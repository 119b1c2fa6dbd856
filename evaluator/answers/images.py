"""Images of questions and of retrieved chunks: from what Core logged, or from the files of DIAL."""

from __future__ import annotations

import hashlib
import json
import logging
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import orjson

from evaluator.answers.answer import LoggedAnswer
from evaluator.answers.chunk_images import chunk_images
from evaluator.answers.core_files import CoreFiles, CoreUnavailableError, checked_data_url, is_image_file
from lake.spec.message_parts import objects, text_or_none
from lake.tables.day_reading import DayReader
from lake.tables.table import Table

logger = logging.getLogger(__name__)
T = TypeVar("T")

_FILES, _INLINE = "files/", "inline:"
_MOST = 8
"""Images of an answer that are shown; one that has more is not judged."""
_ROWS = 4
"""Requests that are read at once: with images they are large."""
_CHARACTERS_AT_ONCE = 2**25
"""Of data URLs; answers are given out once theirs are as many."""

_Sources = Mapping[str, Sequence[str | None]]
"""Images by their names among the documents: a data URL, a file of DIAL, or None for one that is not at hand."""


class QuestionImages:
    """Finds the images among the documents of answers, and among the chunks that were retrieved for them."""

    def __init__(self, files: CoreFiles) -> None:
        self._files = files

    def portions(
        self, logs: Table, some: Sequence[LoggedAnswer], is_stopping: Callable[[], bool] = lambda: False
    ) -> Iterator[list[LoggedAnswer]]:
        """Yield answers with the images of their questions and chunks, a few of those that have some at a time.

        An answer whose image may come later says so; so do all once `is_stopping` does.
        """
        if plain := [one for one in some if not _may_show(one)]:
            yield plain
        portion: list[LoggedAnswer] = []
        shown = [one for one in some if _may_show(one)]
        for start in range(0, len(shown), _ROWS):
            portion += self._added(logs, shown[start : start + _ROWS], is_stopping)
            if sum(len(image or "") for one in portion for image in one.images or ()) >= _CHARACTERS_AT_ONCE:
                yield portion
                portion = []
        if portion:
            yield portion

    def _added(self, logs: Table, few: Sequence[LoggedAnswer], is_stopping: Callable[[], bool]) -> list[LoggedAnswer]:
        if is_stopping():
            return [replace(one, is_image_pending=True) for one in few]
        requests = _requests(logs, [one for one in few if not all(map(is_image_file, one.documents))])
        answered = _bodies(logs, [one for one in few if one.image_chunks], "assembled_response")
        return [
            self._with_images(one, requests.get(one.event_id, {}), answered.get(one.event_id), is_stopping)
            for one in few
        ]

    def _with_images(
        self,
        answer: LoggedAnswer,
        shown: _Sources | None,
        answered: str | None,
        is_stopping: Callable[[], bool],
    ) -> LoggedAnswer:
        chunks = _looked_through(answer.event_id, partial(chunk_images, answered, answer.image_chunks))
        if shown is None or chunks is None:
            return replace(answer, images=[None])
        sources = [source for name in answer.documents for source in _sources(name, shown)]
        sources += chunks
        if len(sources) > _MOST:
            return replace(answer, images=[None])
        images: list[str | None] = []
        for source in sources:
            is_file = source is not None and source.startswith(_FILES)
            if is_file and is_stopping():
                return replace(answer, is_image_pending=True)
            try:
                images.append(self._files.read(source) if source is not None and is_file else source)
            except CoreUnavailableError:
                return replace(answer, is_image_pending=True)
        # What was retrieved is known then: the images alone.
        contexts = [] if answer.contexts is None and chunks else answer.contexts
        return replace(answer, images=images or None, contexts=contexts)


def _may_show(answer: LoggedAnswer) -> bool:
    return bool(answer.documents or answer.image_chunks)


def _sources(name: str, shown: _Sources) -> Sequence[str | None]:
    return shown.get(name) or ([name] if is_image_file(name) else [])


def _requests(logs: Table, few: Sequence[LoggedAnswer]) -> dict[str, _Sources | None]:
    """Read the images in the requests of answers; None of one that looking through fails for."""
    documents = {one.event_id: one.documents for one in few}
    bodies = _bodies(logs, few, "request_body")
    return {one: _looked_through(one, partial(_by_name, body, documents[one])) for one, body in bodies.items()}


def _bodies(logs: Table, few: Sequence[LoggedAnswer], column: str) -> dict[str, str | None]:
    """Read a body of answers by their `event_id`."""
    if not few:
        return {}
    days = sorted({one.date for one in few})
    # The bodies of the other answers of these days are not read.
    reader = DayReader(logs, days[0], days[-1])
    rows = reader.read_rows(["event_id"], [one.event_id for one in few], ["event_id", column], days).to_pylist()
    return {row["event_id"]: row[column] for row in rows}


def _looked_through(event_id: str, find: Callable[[], T]) -> T | None:
    """Return what is found in a body; None where looking for it fails, which is no reason to score no others."""
    try:
        return find()
    except Exception as error:
        # Not its message and no trace: they may quote what people wrote.
        place = traceback.extract_tb(error.__traceback__)[-1]
        at = f"{type(error).__name__} at {place.filename}:{place.lineno}"
        text = "the images of event_id %r are not shown, its scores are null (no_image): %s"
        logger.error(text, event_id, at)
        return None


def _by_name(request_body: str | None, documents: Sequence[str]) -> _Sources:
    """Return the images in a request, of one name each once.

    Where the request is no JSON, or was not kept, what was in it may have been an image.
    """
    try:
        body = _decoded(request_body or "")
    except ValueError:
        return {name: [None] for name in documents if name.startswith(_INLINE)}
    found: dict[str, list[str | None]] = {}
    for name, image in _images_in(body):
        of_name = found.setdefault(name, [])
        of_name += [] if image in of_name else [image]
    return found


def _decoded(request_body: str) -> object:
    """Decode a body; as the collector does it, with what few programs write: a mark of the byte order, NaN."""
    try:
        return orjson.loads(request_body)
    except orjson.JSONDecodeError:
        return json.loads(request_body.strip("\ufeff\ufffd \n"))


def _images_in(body: object) -> Iterator[tuple[str, str | None]]:
    """Yield the images that the user shows or attaches, by the names that the collector gives to documents."""
    for message in objects(_member(body, "messages")) or objects(_member(body, "input")):
        if message.get("role") != "user":
            continue
        for part in objects(message.get("content")):
            yield from _shown(part)
        for attachment in objects(_member(message.get("custom_content"), "attachments")):
            yield from _attached(attachment)


def _shown(part: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    shown, source = part.get("image_url"), part.get("source")
    if shown is None and part.get("type") == "image" and isinstance(source, dict):
        url, data = text_or_none(source.get("url")), text_or_none(source.get("data"))
        if url is None and data is not None:
            # The type that the source names is not read: the first bytes decide.
            yield _inline(f"data:{data}"), checked_data_url(f"data:;base64,{data}")
    else:
        url = text_or_none(shown.get("url") if isinstance(shown, dict) else shown)
    if url is not None:
        yield (_inline(url) if url.startswith("data:") else url), _at(url)


def _attached(attachment: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    kind = text_or_none(attachment.get("type"))
    if kind is None or not kind.lower().startswith("image/"):
        return
    url, data = text_or_none(attachment.get("url")), text_or_none(attachment.get("data"))
    name = url or text_or_none(attachment.get("title")) or (_inline(data) if data is not None else None)
    if name is not None:
        yield name, _at(url or "") if data is None else checked_data_url(f"data:;base64,{data}")


def _at(url: str) -> str | None:
    """Return an image by its address: a data URL, or a file of DIAL; None for another host, which is never asked."""
    if url.startswith(_FILES):
        return url
    return checked_data_url(url) if url.startswith("data:") else None


def _inline(data: str) -> str:
    """Return the name that the collector gives to what stands in a request itself."""
    return _INLINE + hashlib.sha256(data.encode("utf-8", "replace")).hexdigest()[:32]


def _member(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None
