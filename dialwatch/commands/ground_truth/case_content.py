"""Values that people give to a case: which are wrong, and which change the case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

TEXTS = ("question", "answer")
CALLS = "tool_calls"
"""Column of calls of tools, each of which people write as a line."""
LISTS = ("facts", "documents", "context", CALLS)
CONTENT = (*TEXTS, *LISTS)
"""Columns of a case that people write."""
NOTE = "note"
"""Column that says why a version was written."""

_ADVICE = {"question": "say what is asked", "answer": "give the right answer"}
_SHOWN = 60


def problems_of(case: Mapping[str, Any]) -> list[str]:
    """Say of each wrong value of a case what is wrong and what to do; return nothing if all values can be used.

    `case` is as people write it (`written`).

    Facts must stand in the chunks of the case, if it has any.
    """
    problems = [*_wrong_texts(case), *_wrong_items(case)] or list(wrong_calls(case[CALLS] or []))
    return problems or list(_wrong_facts(case["facts"] or [], case["context"] or []))


def written(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return a case of the table as people read and write it: each call of a tool is a line."""
    from lake.spec.tool_calls import call_line

    calls = case.get(CALLS)
    return {**case, CALLS: None if calls is None else [call_line(call) for call in calls]}


def wrong_calls(lines: Sequence[str]) -> Iterator[str]:
    """Say which lines are no calls of tools."""
    from lake.spec.tool_calls import call_of_line

    for place, line in enumerate(lines, 1):
        try:
            call_of_line(line)
        except ValueError as error:
            yield f"{CALLS}, {_ordinal(place)}: {_quoted(line)} is no call: {error}"


def _wrong_texts(case: Mapping[str, Any]) -> Iterator[str]:
    for name in TEXTS:
        text = case[name]
        if text is None or not isinstance(text, str) or not text.strip():
            yield f"{name} is {'empty' if isinstance(text, str) else 'missing'}: {_ADVICE[name]}"
        elif not is_utf8(text):
            yield f"{name} is not UTF-8: write it again"


def _wrong_items(case: Mapping[str, Any]) -> Iterator[str]:
    for name in LISTS:
        items = case[name] if case[name] is not None else []
        if not isinstance(items, list):
            yield f"{name} must be a list of texts"
            continue
        for place, item in enumerate(items, 1):
            if not isinstance(item, str):
                yield f"{name}, {_ordinal(place)}: it must be a text, and not {item!r}"
            elif not is_utf8(item):
                yield f"{name}, {_ordinal(place)}: it is not UTF-8: write it again"
            elif name == "documents" and not item.strip():
                yield f"{name}, {_ordinal(place)}: it is empty: leave it out"


def _wrong_facts(facts: Sequence[str], chunks: Sequence[str]) -> Iterator[str]:
    from dialwatch.reports.fact_places import found_places
    from evaluator.metrics import CITATION, TRIMMED
    from evaluator.metrics.cells import UnscorableRowError

    try:
        places = found_places(facts, chunks)
    except UnscorableRowError:
        yield "facts: there are too many for contexts of this length: leave some out"
        return
    for number, (fact, place) in enumerate(zip(facts, places, strict=True), 1):
        if not CITATION.is_usable(fact):
            yield f"facts, {_ordinal(number)}: {_quoted(fact)} has neither a letter nor a digit: leave it out"
        elif chunks and place is None:
            trimmed = any(TRIMMED.spans([fact], chunks))
            advice = "leave out the marks around it" if trimmed else "copy it from a chunk, or leave it out"
            yield f"facts, {_ordinal(number)}: {_quoted(fact)} stands in no chunk of context: {advice}"


def changes_of(case: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a case that `content` changes, and those that follow from them; nothing if all are equal.

    The order of documents says nothing. A new question stands by itself, so it loses its conversation.
    """
    from dialwatch.reports.fact_places import found_places
    from lake.queries.ground_truth.cases import citations_of, statements_of
    from lake.spec.tool_calls import call_of_line

    known = written(case)
    changed = {name: value for name, value in content.items() if not _is_equal(name, value, known[name])}
    if changed.get(CALLS) is not None:
        changed[CALLS] = [call_of_line(line) for line in changed[CALLS]]
    if "question" in changed and case["conversation_hash"] is not None:
        changed["conversation_hash"] = None
    if "context" in changed:
        changed["context_ids"] = _ids_of(changed["context"], case)
    if "facts" in changed or "context" in changed:
        new = {**case, **changed}
        changed["citations"] = citations_of(new["facts"] or [], new["context"] or [], statements_of(case), found_places)
    return changed


def _ids_of(context: Sequence[str], case: Mapping[str, Any]) -> list[str | None] | None:
    """Return the ids of the chunks; None for a chunk that the case did not have before."""
    if case["context_ids"] is None:
        return None
    known = dict(zip(case["context"] or (), case["context_ids"], strict=False))
    return [known.get(chunk) for chunk in context]


def _is_equal(name: str, one: Any, other: Any) -> bool:
    if name == "documents":
        return set(one or ()) == set(other or ())
    return list(one or ()) == list(other or ()) if name in LISTS else bool(one == other)


def is_utf8(text: str) -> bool:
    """Return whether a text can be stored: bytes that are not UTF-8 cannot, and half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _ordinal(number: int) -> str:
    return f"no. {number}"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
