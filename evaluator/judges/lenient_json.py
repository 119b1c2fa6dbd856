"""Lenient reading of replies: the objects that a reply says, whatever its model writes around them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import unescape
from typing import Any

from evaluator.judges.loose_json import closed, decoded, decoder, rewritten
from lake.spec.thoughts import without_thoughts

_MOST_OBJECTS = 1_000
"""Places at which an object is looked for in a reply, so that no reply keeps a judge busy."""
_MOST_REWRITTEN = 20
"""Those of them at which one is looked for that is not quite JSON."""
_DEEPEST_WRAPPER = 5

_THOUGHT = re.compile(
    r"<\|?(?P<end>/|end_of_)?(?:start_of_|begin_of_)?(?:inner_?|internal_?|ant_?|self_?)?(?:think(?:ing)?|thoughts?|reason(?:ing)?"
    r"|reflection|scratch_?pad|analysis|draft|monologue|internal)(?:_process)?(?:\s[^<>]*)?\|?>",
    re.IGNORECASE,
)
_END_OF_TURN = re.compile(
    r"<\|(?:im_end|eot_id|endoftext|end_of_text|eos|return)\|>|</s>|<end_of_turn>|<eos>|\n(?:human|user):",
    re.IGNORECASE,
)
"""Behind it a model goes on as somebody else."""
_NOT_MEANT = frozenset(
    {"draft", "thought", "thoughts", "thinking", "reasoning", "reflection", "scratchpad", "analysis"}
)
"""Names of what stands beside what a model means."""
_FINAL = re.compile(
    r"\b(?:finale?|corrected|correction|correct version|revised|updated|fixed|actually|wait|(?<!\w )answer:"
    r"|let me (?:reconsider|correct|revise|redo|fix|re-?check)|(?:my|here is the) (?:answer|reply|response))",
    re.IGNORECASE,
)
"""What a model writes between a draft and what it means."""
_TAKEN_BACK = re.compile(
    r"\b(?:correction\b|(?:wait|actually)\b,|on second thoughts?\b|i made an? (?:mistake|error)\b"
    r"|(?:that|this|the above) (?:is|was) (?:wrong|incorrect|not (?:right|correct))\b"
    r"|\bshould (?:\w+ )?(?:be|have been) [\"'`*(]*(?:[scn]|(?:un|not )?supported|contradicted|neither|true|false)\b)",
    re.IGNORECASE,
)
"""What a model writes behind what it does not mean after all."""
_LAST_LINES = re.compile(r"[\s`]*\Z")
_BEGINNING = re.compile(r"\{|\[(?=\s*\{)")
_REFERENCE = re.compile(r"&(?:amp;)*(?:quot|apos|#0*3[49]|#x0*2[27]);", re.IGNORECASE)
_ESCAPED = re.compile(r'\{(?:\\[nrt]|\s)*\\"')


@dataclass(frozen=True)
class Found:
    """A value that a reply may mean; the reply may call it final, after others, or take it back behind it."""

    value: Any
    is_final: bool = False
    is_taken_back: bool = False


def values_in(text: str, deepest: int = _DEEPEST_WRAPPER) -> list[Found]:
    """Return what a reply may say: the whole text as JSON, else each object or list of objects in it.

    Blocks of thoughts (`<think>`), what stands before the end of one, and what follows the end of the turn behind an
    object, are not said. An object within another is none of its own. One that contradicts itself anywhere in it is a
    `Contradiction`. JSON may stand in a string of JSON or in HTML's character references, and an object may be written
    as Python or JavaScript write it: with other quotation marks, comments, names without any, commas too many or too
    few.
    """
    whole = decoded(text)
    for _ in range(deepest):
        if isinstance(whole, str):
            text = whole
            whole = decoded(text)
    if isinstance(whole, dict):
        return [Found(whole)]
    for other in _other_writings(text):
        if said := _said(other):
            return said
    if whole is None and isinstance(fenced := decoded(_unfenced(without_thoughts(text))), list):
        whole = fenced
    return [] if whole is None else [Found(whole)]


def _unfenced(text: str) -> str:
    lines = text.strip().splitlines()
    is_fence = len(lines) > 2 and lines[0].startswith("```") and lines[-1].strip() == "```"
    return "\n".join(lines[1:-1]) if is_fence else text


def value_of_cut(text: str) -> Any:
    """Return the object of a reply that was cut, with the items of its first list that are whole; None without any."""
    answer = without_thoughts(text)
    begin = answer.find("{")
    return None if begin < 0 else closed(answer, begin)


def _other_writings(text: str) -> Iterator[str]:
    yield text
    if _REFERENCE.search(text):
        yield unescape(text)
        yield unescape(unescape(text))
    if escaped := _ESCAPED.search(text):
        inner = decoded(f'"{text[escaped.start() : text.rfind("}") + 1]}"')
        if isinstance(inner, str):
            yield inner


def _said(text: str) -> list[Found]:
    """Return the objects of a text that stand in no thoughts."""
    answer = without_thoughts(text)
    if text.strip() and not answer.strip():
        return _last_of_endless_thoughts(text)
    found = list(_objects(answer))
    turn = _end_of_turn(answer, found)
    found = [one for one in found if one[0] < turn]
    thoughts = _thoughts(answer, found)
    said: list[Found] = []
    before = 0
    for begin, end, value in found:
        if not any(first <= begin < last for first, last in thoughts):
            between = answer[before:begin]
            is_final = bool(said) and bool(_FINAL.search(between) or _TAKEN_BACK.search(between))
            said.append(Found(value, is_final))
            before = end
    behind = max([before, *(last for _, last in thoughts)])
    if said and _TAKEN_BACK.search(answer, behind, turn):
        said[-1] = replace(said[-1], is_taken_back=True)
    return said


def _end_of_turn(answer: str, found: Sequence[tuple[int, int, Any]]) -> int:
    """Return where the turn ends behind the first object; the end of the text where it does not say."""
    marks = _END_OF_TURN.finditer(answer, found[0][1]) if found else ()
    return next((mark.start() for mark in marks if not _is_inside(mark.start(), found)), len(answer))


def _thoughts(answer: str, found: Sequence[tuple[int, int, Any]]) -> list[tuple[int, int]]:
    """Return from where to where there are thoughts; a mark of their end alone ends all that stands before it."""
    spans: list[tuple[int, int]] = []
    begin = None
    for mark in _THOUGHT.finditer(answer):
        if _is_inside(mark.start(), found):
            continue
        if mark["end"]:
            spans.append((0 if begin is None else begin, mark.end()))
            begin = None
        elif begin is None:
            begin = mark.start()
    return spans


def _last_of_endless_thoughts(text: str) -> list[Found]:
    """Return the object that ends a text and begins a line of it: thoughts were not ended before what they are for."""
    found = list(_objects(text))
    if not found:
        return []
    begin, end, value = found[-1]
    is_last = _LAST_LINES.match(text, end) is not None
    return [Found(value)] if is_last and text[:begin].rstrip(" ").endswith("\n") else []


def _is_inside(place: int, found: Sequence[tuple[int, int, Any]]) -> bool:
    at = bisect_left(found, place, key=lambda one: one[0]) - 1
    return at >= 0 and place < found[at][1]


def wrapped(value: Any, deepest: int = _DEEPEST_WRAPPER) -> Iterator[dict[str, Any]]:
    """Yield the objects within an object or a list, also those that are written as a string: `{"answer": {...}}`.

    What is called a draft or a thought is none of them.
    """
    if not deepest:
        return
    if isinstance(value, dict):
        inner = [one for name, one in value.items() if name.strip().lower() not in _NOT_MEANT]
    else:
        inner = value if isinstance(value, list) else []
    for one in inner:
        for said in [found.value for found in values_in(one, 1)] if isinstance(one, str) and "{" in one else [one]:
            if isinstance(said, dict):
                yield said
            yield from wrapped(said, deepest - isinstance(said, dict))


def _objects(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yield each object, and each list of objects, with where it begins and ends.

    Once one does not end, a list may be a part of it: objects alone are looked for from then on.
    """
    begin, tried, at = _BEGINNING.search(text), 0, 0
    has_failed = False
    for _ in range(_MOST_OBJECTS):
        if begin is None:
            return
        found: Any
        try:
            found, at = decoder.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            tried += 1
            found, at = rewritten(text, begin.start()) if tried <= _MOST_REWRITTEN else (None, begin.end())
        if found is None:
            has_failed |= begin[0] == "{"
        elif isinstance(found, dict) or not has_failed:
            yield begin.start(), at, found
        else:
            at = begin.end()
        begin = _BEGINNING.search(text, at)
