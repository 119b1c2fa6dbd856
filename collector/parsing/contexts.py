"""The retrieved chunks behind an answer, in rank order, and where they were found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from collector.parsing.json_text.bodies import read_object
from lake.spec.message_parts import objects, text_or_none
from lake.spec.vocabulary import ContextsOrigin

RETRIEVAL_RESPONSES: Final = (
    "application/x.aidial-rag.retrieval-response+json",
    "application/vnd.aidial.rag.retrieval-results+json",
)
"""Types of an attachment that holds all that was retrieved."""
_LARGEST_PAGE: Final = 2**31 - 1

_DEBUG = "[DEBUG] "
_DURATION = re.compile(r" \[\d{1,9}(?:\.\d{1,9})?s\]\Z", re.ASCII)
_BRACKET = re.compile(r"\[([^\[\]]{1,40})\]\s*")
_URL_PAGE = re.compile(r"#page=(\d{1,10})(?!\d)", re.ASCII)
_TITLE_PAGE = re.compile(r", page (\d{1,10})\Z", re.ASCII)
_INLINE_IMAGE = re.compile(r"!\[[^\[\]]*\]\(data:[^)]*(?:\)|\Z)")
_PLACEHOLDER = re.compile(r"(?:\s*\[Image(?: of the page \d{1,10})?\])*\s*", re.ASCII)
_PROMPT_DOC = re.compile(
    r"(?:^|(?<=<context>)|(?<=</doc>))<doc(?P<attributes>(?: (?:[^\n<]|<(?!/?doc\b)){0,2000}?['\"])?) ?>", re.MULTILINE
)
_ATTRIBUTE = re.compile(r"(\w{1,40})=(['\"])(.*?)\2(?=\s+\w+=['\"]|\s*\Z)")


class Context(msgspec.Struct, frozen=True, gc=False):
    """One retrieved chunk. `text` is "" where it has none (an image); `page` counts from 1; `id` is the app's own."""

    text: str
    title: str | None = None
    url: str | None = None
    page: int | None = None
    id: str | None = None


def read_contexts(
    custom_content: Mapping[str, Any], prompt_contexts: Sequence[Context]
) -> tuple[tuple[Context, ...], str]:
    """Chunks in rank order and their origin: retrieval_response, retrieval_stage, cited, prompt or none.

    The first origin that has any chunk counts; a retrieval response counts even without one. `cited` chunks are
    only those that the answer refers to, in the order of its references.
    """
    if isinstance(custom_content, dict) and custom_content:
        stages, attachments = objects(custom_content.get("stages")), objects(custom_content.get("attachments"))
        response = _of_retrieval_response(attachments, stages)
        if response is not None:
            return response, ContextsOrigin.RETRIEVAL_RESPONSE
        if stages and (stage := _of_fused_stage(stages)):
            return stage, ContextsOrigin.RETRIEVAL_STAGE
        if cited := tuple(_context(attachment) for attachment in attachments if _is_cited_chunk(attachment)):
            return cited, ContextsOrigin.CITED
    return (tuple(prompt_contexts), ContextsOrigin.PROMPT) if prompt_contexts else ((), ContextsOrigin.NONE)


def standalone_question(custom_content: Mapping[str, Any]) -> str | None:
    """The question as DIAL RAG rewrote it to stand without its conversation; None if it did not."""
    stages = custom_content.get("stages") if isinstance(custom_content, dict) else None
    for stage in objects(stages):
        if _stage_name(stage) == "Standalone question":
            content = text_or_none(stage.get("content"))
            return (content.strip() or None) if content else None
    return None


def contexts_of_prompt(question: str) -> tuple[Context, ...]:
    """Chunks that DIAL's RAG applications put into a model's last user message, in the order of the prompt.

    Each stands between `<doc id='1' page_number='3' source='...'>` and `</doc>`, all behind `<context>`.
    """
    start = question.find("<context>")
    if start == -1:
        return ()
    heads = list(_PROMPT_DOC.finditer(question, start))
    ends = [*(head.start() for head in heads[1:]), len(question)]
    return tuple(_prompt_context(head, question, end) for head, end in zip(heads, ends, strict=False))


def _prompt_context(head: re.Match[str], question: str, end: int) -> Context:
    attributes = {name: value for name, _, value in _ATTRIBUTE.findall(head["attributes"])}
    close = question.rfind("</doc>", head.end(), end)
    url = text_or_none(attributes.get("source"))
    return Context(
        text=_usable_text(question[head.end() : close if close != -1 else end].strip("\n")),
        title=attributes.get("title") or attributes.get("document") or None,
        url=url,
        page=_page(attributes.get("page_number")) or _page_of(url, None),
        id=attributes.get("id") or None,
    )


def _of_retrieval_response(
    attachments: Sequence[Mapping[str, Any]], stages: Sequence[Mapping[str, Any]]
) -> tuple[Context, ...] | None:
    for some in (attachments, *(objects(stage.get("attachments")) for stage in stages)):
        for attachment in some:
            if attachment.get("type") in RETRIEVAL_RESPONSES:
                data = read_object(attachment.get("data"))
                if data is not None and isinstance(data.get("chunks"), list):
                    return tuple(_retrieved(chunk) for chunk in objects(data["chunks"]))
    return None


def _retrieved(chunk: Mapping[str, Any]) -> Context:
    """One chunk of a retrieval response; older DIAL RAG writes source and page as plain values."""
    source, page = chunk.get("source"), chunk.get("page")
    if not isinstance(source, dict):
        source = {"url": source, "display_name": chunk.get("source_display_name")}
    number = page.get("number") if isinstance(page, dict) else chunk.get("page_number")
    url = text_or_none(source.get("url")) or text_or_none(chunk.get("attachment_url"))
    return Context(
        text=_usable_text(chunk.get("text")),
        title=text_or_none(source.get("display_name")),
        url=url,
        page=_page(number) or _page_of(url, None),
    )


def _of_fused_stage(stages: Sequence[Mapping[str, Any]]) -> tuple[Context, ...]:
    """Chunks of the stage that joins the results of all searches; it opens before the stages inside it."""
    for stage in _fused_stages(stages):
        if found := tuple(_context(attachment) for attachment in objects(stage.get("attachments")) if attachment):
            return found
    for stage in stages:
        attachments = objects(stage.get("attachments"))
        if any(text_or_none(a.get("data")) and text_or_none(a.get("reference_url")) for a in attachments):
            return tuple(_context(attachment) for attachment in attachments if attachment and not _is_made(attachment))
    return ()


def _fused_stages(stages: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    named = [(_stage_name(stage), stage) for stage in stages]
    yield from (stage for name, stage in named if name.startswith("Combined search"))
    yield from (stage for name, stage in named if name == "All documents")
    yield from (stage for name, stage in named if name.endswith(" (classic)"))


def _stage_name(stage: Mapping[str, Any]) -> str:
    name = text_or_none(stage.get("name")) or ""
    return _DURATION.sub("", name.removeprefix(_DEBUG))


def _is_cited_chunk(attachment: Mapping[str, Any]) -> bool:
    """Whether a message's attachment is a chunk of a document that the answer refers to."""
    return text_or_none(attachment.get("data")) is not None and not _is_made(attachment)


def _is_made(attachment: Mapping[str, Any]) -> bool:
    """Whether the application made what an attachment holds: code, a table, a plot, a text that is from nowhere."""
    is_from_somewhere = text_or_none(attachment.get("reference_url")) is not None
    return not is_from_somewhere and text_or_none(attachment.get("data")) is not None


def _is_text(attachment: Mapping[str, Any]) -> bool:
    kind = text_or_none(attachment.get("type"))
    return kind is None or kind.lower().startswith("text/")


def _context(attachment: Mapping[str, Any]) -> Context:
    title = text_or_none(attachment.get("title"))
    url = text_or_none(attachment.get("reference_url")) or text_or_none(attachment.get("url"))
    bracket = _BRACKET.match(title) if title and title[0] == "[" else None
    name = title[bracket.end() :].strip() if title and bracket else title
    return Context(
        text=_usable_text(attachment.get("data")) if _is_text(attachment) else "",
        title=_unquoted(name),
        url=url,
        page=_page_of(url, name),
        id=bracket[1] if bracket else None,
    )


def _unquoted(name: str | None) -> str | None:
    """DIAL RAG puts a document's name into single quotes."""
    if name and len(name) > 1 and name[0] == name[-1] == "'":
        name = name[1:-1]
    return name or None


def _usable_text(text: object) -> str:
    """A chunk's text without images; "" where nothing but images and their placeholders is there."""
    if not isinstance(text, str):
        return ""
    if "](data:" in text:
        text = _INLINE_IMAGE.sub("", text)
    return "" if _PLACEHOLDER.fullmatch(text) else text


def _page_of(url: str | None, title: str | None) -> int | None:
    match = _URL_PAGE.search(url) if url and "#page=" in url else None
    if match is None and title and ", page " in title:
        match = _TITLE_PAGE.search(title)
    return _page(match[1]) if match else None


def _page(number: object) -> int | None:
    if isinstance(number, str) and number.isascii() and number.isdigit() and len(number) < len(str(_LARGEST_PAGE)) + 1:
        number = int(number)
    return number if type(number) is int and 0 <= number <= _LARGEST_PAGE else None
