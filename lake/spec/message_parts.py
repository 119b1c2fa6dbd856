"""Texts of a message: the parts of its content and the thoughts beside it, in the words of all senders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum, auto
from typing import Any, NamedTuple


class PartKind(StrEnum):
    """What a part of a message's content is."""

    TEXT = auto()
    THOUGHT = auto()
    REFERENCE = auto()
    """A mark inside a text, such as a citation: the text goes on behind it."""
    REFUSAL = auto()
    ATTACHMENT = auto()
    CALL = auto()
    OTHER = auto()


class MessageParts(NamedTuple):
    """What a message's content holds. `text`, `thoughts` and `refusal` are None where there is none."""

    text: str | None
    thoughts: str | None = None
    refusal: str | None = None
    has_attachment: bool = False
    calls_tool: bool = False


_KINDS: Mapping[str, PartKind] = {
    kind: part
    for part, kinds in {
        PartKind.TEXT: "text input_text output_text text_delta",
        PartKind.THOUGHT: "thinking thought thoughts reasoning reasoning_content reasoning_text reasoning.text "
        "reasoning.summary summary_text thinking_delta",
        PartKind.REFERENCE: "reference tool_reference citation",
        PartKind.REFUSAL: "refusal",
        PartKind.CALL: "tool_use tool_call function_call custom_tool_call",
    }.items()
    for kind in kinds.split()
}
_USUAL = ("text", "output_text")
_MEDIA = frozenset({"image", "audio", "video", "file", "document"})
# Gemini's and Bedrock's parts have no type: a member says what they are.
_MEMBERS: Mapping[str, PartKind] = {
    "reasoningContent": PartKind.THOUGHT,
    "thinking": PartKind.THOUGHT,
    "toolUse": PartKind.CALL,
    "functionCall": PartKind.CALL,
    "inlineData": PartKind.ATTACHMENT,
    "fileData": PartKind.ATTACHMENT,
    "image": PartKind.ATTACHMENT,
}
_TEXT_MEMBERS = ("text", "value")
_THOUGHT_MEMBERS = (
    "thinking",
    "text",
    "reasoning",
    "reasoning_content",
    "reasoningContent",
    "reasoning_text",
    "reasoningText",
    "content",
    "summary",
)
_THOUGHTS_OF_MESSAGE = (
    "reasoning_content",
    "reasoning",
    "thinking",
    "thinking_blocks",
    "reasoning_details",
    "reasoning_text",
)
_REMINDER = "<system-reminder>"
_DEEPEST = 4


def text_or_none(value: object) -> str | None:
    """The value if it is a string with something in it, else None."""
    return value if isinstance(value, str) and value else None


def objects(value: object) -> list[dict[str, Any]]:
    """The JSON objects among a list's elements; [] for what is no list."""
    return [element for element in value if isinstance(element, dict)] if isinstance(value, list) else []


def is_said(content: object) -> bool:
    """Return whether a user's message is more than results of tools, which are given in the user's name.

    The Messages API and Bedrock do so. A reminder that a coding agent puts beside the results is not the user's either.
    """
    parts = objects(content)
    if not parts or not _is_result(parts[0]):  # results come first
        return True
    others = (part for part in parts if not _is_result(part))
    return not all(str(part.get("text")).startswith(_REMINDER) for part in others)


def _is_result(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "tool_result" or "toolResult" in part


def part_kind(part: object) -> PartKind:
    """Return the kind of a part of a message's content."""
    if isinstance(part, str):
        return PartKind.TEXT
    if not isinstance(part, dict):
        return PartKind.OTHER
    kind = part.get("type")
    if part.get("thought") is True:
        return PartKind.THOUGHT
    if kind is None:
        return next((_MEMBERS[name] for name in part if name in _MEMBERS), PartKind.TEXT)
    if not isinstance(kind, str):
        return PartKind.OTHER
    if known := _KINDS.get(kind):
        return known
    # Core joins the words of parts that it merges: "texttext".
    kind = once(kind).replace("-", "_").lower()
    if known := _KINDS.get(kind):
        return known
    return PartKind.ATTACHMENT if _MEDIA.intersection(kind.split("_")[:2]) else PartKind.OTHER


def once(word: str) -> str:
    """Undo the repetition of a word: DIAL Core merges two chunks that both say stop to "stopstop"."""
    return word[: (word + word).find(word, 1)] if word else word


def read_parts(content: object) -> MessageParts:
    """Read the content of a message: a text, a part, or a list of parts and texts.

    Texts that follow each other are one text, cut at citations or by the stream. What stands around a call, its result,
    a thought or an attachment is apart by a blank line.
    """
    if isinstance(content, str):
        return MessageParts(content or None)
    parts = content if isinstance(content, list) else [content] if isinstance(content, dict) else []
    if len(parts) == 1 and isinstance(part := parts[0], dict) and part.get("type") in _USUAL and "thought" not in part:
        text = part.get("text")
        if isinstance(text, str):  # most answers: no more is asked of them
            return MessageParts(text or None)
    runs: dict[PartKind, list[list[str]]] = {PartKind.TEXT: [], PartKind.THOUGHT: [], PartKind.REFUSAL: []}
    seen: set[PartKind] = set()
    last: PartKind | None = None
    for part in parts:
        kind = part_kind(part)
        seen.add(kind)
        if kind is PartKind.REFERENCE:
            continue
        if kind in runs:
            if not (piece := text_of_part(part, kind)):
                continue
            if kind is not last:
                runs[kind].append([])
            runs[kind][-1].append(piece)
        last = kind
    text, thoughts, refusal = (apart(map("".join, found)) for found in runs.values())
    return MessageParts(text, thoughts, refusal, PartKind.ATTACHMENT in seen, PartKind.CALL in seen)


def text_of_part(part: object, kind: PartKind) -> str:
    """Return the text of a part of that kind; "" if it has none."""
    if isinstance(part, str):
        return part
    if kind is PartKind.THOUGHT:
        return _text_in(part, _THOUGHT_MEMBERS, 0)
    return _text_in(part, ("refusal",) if kind is PartKind.REFUSAL else _TEXT_MEMBERS, 0)


def thoughts_of(message: Mapping[str, Any]) -> str | None:
    """Return the thoughts that a message has beside its content; None if there are none.

    The members are those of DeepSeek, vLLM, OpenRouter, Groq, Ollama, LiteLLM and Bedrock. Some senders repeat one in
    another: the first that has a text counts.
    """
    for name in _THOUGHTS_OF_MESSAGE:
        if (value := message.get(name)) and (text := _text_in(value, _THOUGHT_MEMBERS, 0)):
            return text
    return None


def apart(texts: Iterable[str]) -> str | None:
    """Join texts with a blank line between them; a single one stays as it is, None if there is none."""
    found = [text for text in texts if text]
    if not found:
        return None
    if len(found) > 1:
        found = [stripped for text in found if (stripped := text.strip())] or found[:1]
    return "\n\n".join(found)


def _text_in(value: object, members: tuple[str, ...], depth: int) -> str:
    """The text of a value: itself, that of its first member with one, or those of its elements."""
    if isinstance(value, str):
        return value
    if depth == _DEEPEST:
        return ""
    if isinstance(value, list):
        texts = (_text_in(element, members, depth + 1) for element in value)
        return (apart(texts) or "") if _is_summary(value) else "".join(texts)
    if isinstance(value, dict):
        return next((text for name in members if (text := _text_in(value.get(name), members, depth + 1))), "")
    return ""


def _is_summary(parts: list[Any]) -> bool:
    """Whether a list has the summaries of a model's thoughts, each a paragraph."""
    kinds = {part.get("type") for part in parts if isinstance(part, dict)}
    return bool(kinds & {"summary_text", "reasoning_text"})
