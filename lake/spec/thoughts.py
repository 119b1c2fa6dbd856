"""Thoughts of a model that stand before its answer, in the marks that models put around them."""

from __future__ import annotations

import re
from typing import NamedTuple

_TAGS = (
    (re.compile(rf"<{name}>", re.IGNORECASE), re.compile(rf"</{name}>", re.IGNORECASE))
    for name in ("think", "thinking", "thought", "thoughts", "reasoning", "seed:think")
)
_MARKS = (
    *_TAGS,
    (re.compile(r"\[THINK\]"), re.compile(r"\[/THINK\]")),
    (re.compile("◁think▷"), re.compile("◁/think▷")),
    (re.compile(r"<\|START_THINKING\|>"), re.compile(r"<\|END_THINKING\|>")),
    (re.compile(r"<\|channel>thought\n?"), re.compile(r"<channel\|>")),
)
_BEGINNING = re.compile(r"\s*(?:<|analysis)")
_LONE_END = re.compile(
    r"(?:</think(?:ing)?>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>)(?=\s*\n|\s*\Z)|"
    r"(?<=\n)(?:</think(?:ing)?>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>)"
)
_ANY_BEGINNING = re.compile(r"<think(?:ing)?>|\[THINK\]|◁think▷|<\|START_THINKING\|>")
_RESPONSE_MARKS = re.compile(r"<\|(?:START_RESPONSE|END_RESPONSE|START_TEXT|END_TEXT)\|>")
_HARMONY = re.compile(
    r"\s*(?:<\|start\|>assistant\s*)?(?:<\|channel\|>)?(?:analysis|commentary|final)\b[^<\n]*<\|message\|>"
)
_CHANNEL = re.compile(
    r"(?:<\|channel\|>)?(?P<name>analysis|commentary|final)\b[^<\n]*(?:<\|constrain\|>[^<\n]*)?<\|message\|>"
    r"(?P<text>.*?)(?=<\|(?:end|return|call|start|channel)\|>|\Z)",
    re.DOTALL,
)
_BARE_CHANNELS = re.compile(r"\s*analysis(?P<thoughts>.*?)assistantfinal(?P<answer>.*)\Z", re.DOTALL)


class Said(NamedTuple):
    """A text in two: the thoughts before the answer, None where there are none, and the answer."""

    thoughts: str | None
    answer: str


def split_thoughts(text: str) -> Said:
    """Split an answer into the thoughts at its beginning and the rest.

    Marks are those of DeepSeek and Qwen (`<think>`), Magistral (`[THINK]`), Kimi, Cohere, Gemma and gpt-oss (channels).
    Only a block at the beginning counts, so that code and XML that was asked for stays; also one whose opening mark the
    chat template has put into the prompt. Thoughts that do not end are all that there is.
    """
    if not may_have_thoughts(text):
        return Said(None, text)
    if _HARMONY.match(text):
        return _of_channels(text)
    if bare := _BARE_CHANNELS.match(text):
        return _said(bare["thoughts"], bare["answer"])
    start = len(text) - len(text.lstrip())
    for begin, end in _MARKS:
        if opened := begin.match(text, start):
            closed = end.search(text, opened.end())
            if closed is None:
                return _said(text[opened.end() :], "")
            return _said(text[opened.end() : closed.start()], text[closed.end() :])
    closed = _LONE_END.search(text)
    if closed is None or _ANY_BEGINNING.search(text, 0, closed.start()) or text.count("`", 0, closed.start()) % 2:
        return Said(None, text)
    return _said(text[: closed.start()], text[closed.end() :])


def may_have_thoughts(text: str) -> bool:
    """Return whether `split_thoughts` may find any, by a quick look."""
    if "think" in text or "THINK" in text:
        return True
    first = text[:1]
    return (first == "a" or not first.isalnum()) and _BEGINNING.match(text) is not None


def without_thoughts(text: str) -> str:
    """Return an answer without the thoughts at its beginning."""
    return split_thoughts(text).answer


def _of_channels(text: str) -> Said:
    """gpt-oss: `analysis` are thoughts, `final` is the answer; `commentary` is what it says where there is no other."""
    channels: dict[str, list[str]] = {}
    for channel in _CHANNEL.finditer(text):
        channels.setdefault(channel["name"], []).append(channel["text"])
    answer = channels.get("final") or channels.get("commentary") or []
    return _said("\n".join(channels.get("analysis", ())), "\n\n".join(answer))


def _said(thoughts: str, answer: str) -> Said:
    return Said(thoughts.strip() or None, _RESPONSE_MARKS.sub("", answer).lstrip())
