"""Whether an answer passes against its case of ground truth, and if it does not, which part of the application failed.

A case is a question with a reference answer and the facts that an answer needs. Retrieval is looked at first: where a
needed fact was not retrieved, no generator could have answered rightly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import TYPE_CHECKING, Any

from rapidfuzz.distance import Prefix

from evaluator.metrics.cells import UnreadableCellError, context_texts, ids, text, texts, tool_calls
from evaluator.metrics.decorator import FunctionMetric, made_metric
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.language.detection import language_of
from evaluator.metrics.language.marks import without_citation_marks
from evaluator.metrics.language.number_words import may_have_number_words, number_words_in
from evaluator.metrics.language.numbers import Number, missing_numbers, numbers_in
from evaluator.metrics.language.tokens import shared_tokens, token_counter
from evaluator.metrics.matchers.citation import CITATION
from evaluator.metrics.matchers.matcher import ABSENT, FindFacts, finders_of
from evaluator.metrics.options import checked_cut, option
from evaluator.metrics.scores import Score, Scores, score_rows
from lake.spec.case_vocabulary import FailedPart
from lake.spec.texts.refusals import refusal_in
from lake.spec.texts.unicode_forms import in_one_form
from lake.spec.tool_calls import canonical
from lake.spec.tool_messages import ToolCall
from lake.spec.vocabulary import UnscoredReason
from runtime.words import has_unspaced

if TYPE_CHECKING:
    import pandas as pd

FIRST_CHUNKS = 3
"""A fact that stands in none of the first three chunks is badly ranked, where nothing else is said."""

_LEAST_RECALL = 0.5
_LEAST_NUMBERS = 0.5
_NEAR = 40
"""Characters before and after a number in which its neighbours are looked for."""
_WORD = re.compile(r"[^\W\d_]+")
_FOLLOWING = re.compile(r"[\s-]{0,2}([^\W\d_][^\s\d.,;:!?()\[\]]*)")
_LEAST_COMMON, _MOST_ENDING = 3, 2
"""Letters in which forms of a word, such as page and pages, agree at least and differ at most."""
_COUNT = token_counter("any_script")
_OTHER_COLUMNS = ("context_ids", "reference_context_ids", "tool_calls", "reference_tool_calls")


@dataclass(frozen=True)
class CaseMetric(FunctionMetric):
    """A metric of an answer and its case, whose function gets how facts are found, and cells.

    The cells are those of `needs`, and of `_OTHER_COLUMNS` where the frame has them.
    """

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row."""
        find, function = finders_of(frame).of(CITATION), self.bound
        extra = [frame[name] if name in frame.columns else [None] * len(frame) for name in _OTHER_COLUMNS]
        others = iter(zip(*extra, strict=True))
        return score_rows(self, frame, lambda *cells: function(find, *cells, *next(others)))


def agrees(answer: str, reference: str) -> bool:
    """Return whether an answer has half of the tokens and half of the numbers of a reference, and none instead."""
    said, expected = (in_one_form(without_citation_marks(one)) for one in (answer, reference))
    wanted = _COUNT(expected)
    if not wanted:
        return False
    recall = shared_tokens(wanted, _COUNT(said)) / sum(wanted.values())
    return recall >= _LEAST_RECALL and _has_the_numbers(said, expected)


def _has_the_numbers(said: str, expected: str) -> bool:
    wanted, there = numbers_in(expected), numbers_in(said)
    wanted_words, words_there = list[Number](), list[Number]()
    if wanted or there or may_have_number_words(expected) or may_have_number_words(said):
        language = language_of(f"{expected}\n{said}").code
        wanted_words, words_there = number_words_in(expected, language), number_words_in(said, language)
    missing, others = missing_numbers(wanted, [*there, *words_there]), missing_numbers(there, [*wanted, *wanted_words])
    if len(wanted) - len(missing) < _LEAST_NUMBERS * len(wanted):
        return False
    if any(_is_in_its_place(one, expected, other, said) for one in missing for other in others):
        return False
    missing_words = missing_numbers(wanted_words, [*there, *words_there])
    other_words = missing_numbers(words_there, [*wanted, *wanted_words])
    pairs = chain(product(missing_words, [*others, *other_words]), product(missing, other_words))
    return not any(_counts_the_same(one, expected, other, said) for one, other in pairs)


def _counts_the_same(one: Number, text: str, other: Number, other_text: str) -> bool:
    """Whether the same unit or word follows two numbers; what stands before says too little of a number in words."""
    if one.unit is not None and one.unit == other.unit:
        return True
    word, other_word = (_counted_by(*pair) for pair in ((one, text), (other, other_text)))
    if not word or has_unspaced(word):
        return bool(word) and word == other_word
    common = Prefix.similarity(word, other_word)
    return word == other_word or (common >= _LEAST_COMMON and max(len(word), len(other_word)) - common <= _MOST_ENDING)


def _counted_by(number: Number, text: str) -> str:
    """Return the word that follows a number, of a text without spaces a letter or two."""
    found = _FOLLOWING.match(text, number.end)
    word = found[1].lower() if found else ""
    return word[: 1 if word[0] >= "\u2e80" else 2] if has_unspaced(word[:1]) else word


def _is_in_its_place(one: Number, text: str, other: Number, other_text: str) -> bool:
    if one.unit is not None and one.unit == other.unit:
        return True
    pairs = zip(_words_around(one, text), _words_around(other, other_text), strict=True)
    return any(word and word == other_word for word, other_word in pairs)


def _words_around(number: Number, text: str) -> tuple[str, str]:
    before = _WORD.findall(text[max(0, number.start - _NEAR) : number.start])
    after = _WORD.search(text, number.end, number.end + _NEAR)
    return before[-1].lower() if before else "", after[0].lower() if after else ""


def failed_call(calls: Sequence[ToolCall] | None, needed: Sequence[ToolCall] | None) -> FailedPart | None:
    """Return what became of the calls that a case has: one failed, one was not made; None where neither is known.

    A call was made where its tool was called, with its arguments or others: arguments often hold dates. It failed where
    all calls with its arguments did, or else all of its tool.
    """
    if calls is None or not needed:
        return None
    parts = {_part_of_call(one, [call for call in calls if call["name"] == one["name"]]) for one in needed}
    return next((part for part in (FailedPart.TOOL, FailedPart.WRONG_TOOL) if part in parts), None)


def _calls(cell: object) -> list[ToolCall] | None:
    """Return the calls of a cell; one that cannot be read says nothing, as they tell of the part alone."""
    try:
        return tool_calls(cell, "tool_calls")
    except UnreadableCellError:
        return None


def _part_of_call(needed: ToolCall, made: Sequence[ToolCall]) -> FailedPart | None:
    if not made:
        return FailedPart.WRONG_TOOL
    arguments = canonical(needed["arguments"])
    same = [call for call in made if canonical(call["arguments"]) == arguments] or made
    return FailedPart.TOOL if all(call["is_error"] for call in same) else None


def _failed(part: FailedPart, ranks: Sequence[int] = ()) -> Score:
    details: Mapping[str, Any] = {"failed_part": part.value, **({"facts_ranks": list(ranks)} if ranks else {})}
    return Score(0.0, None, details)


@made_metric(
    CaseMetric,
    Description(
        asks="Does the answer agree with its case, and if not, which part of the application failed?",
        formula="1 if the answer has half of the tokens and half of the numbers of a reference answer, has no other "
        "number in the place of one, and does not refuse, or refuses where every reference does; else 0. The failed "
        "part is the first of: unanswerable (every reference refuses), tool (one that the case calls failed), "
        "wrong_tool (one that the case calls was not called), reference (a retrieved chunk with an id of the "
        f"case lost the fact), retrieval (a fact is in no context), ranking (in none of the first {FIRST_CHUNKS}), "
        "refusal, generation",
        source="dialwatch",
        odd_cases=OddCases(
            empty_answer="0.0, null with `no_answer` for a missing cell",
            no_contexts="0.0 with the part `retrieval` for an empty list if the answer does not agree, null with "
            "`no_contexts` for a missing cell",
            duplicate_contexts="a copy moves what follows one rank down",
            no_reference="null with `no_ground_truth`; without facts null with `no_facts`, unless calls "
            "of tools are known",
        ),
        binary=True,
    ),
    needs=("answer", "reference_answers", "facts", "contexts"),
    version="4",
)
def case_passed(
    find: FindFacts,
    answer_cell: object,
    references_cell: object,
    facts_cell: object,
    contexts_cell: object,
    ids_cell: object,
    own_ids_cell: object,
    calls_cell: object,
    needed_cell: object,
    *,
    k: int | None = option(
        None, f"facts must stand in the first k contexts; None for {FIRST_CHUNKS}", check=checked_cut
    ),
) -> Score:
    """1.0 if the answer agrees with a reference answer, else 0.0 with the part that failed; higher is better.

    An answer agrees with a reference if it has half of its tokens (as `answer_correctness_token_recall`, in one Unicode
    form and without citation marks) and half of its numbers, has no other number in the place of one, and does not
    refuse. Numbers are compared by value and unit; in the place of another stands a number with the same unit, or with
    the same word before or after it. A number in words (thirty, dreißig, 三十) is one too; another number in its place
    is one with the same unit or the same word after it. Where every reference refuses, a refusal passes.

    This is coarse: an answer in other words may fail, and one with a wrong name may pass.

    The details have `failed_part` (`lake.FailedPart`) where it is 0.0. With the columns `context_ids` and
    `reference_context_ids` a retrieved chunk of the case that no longer holds the fact makes it `reference`; with
    `tool_calls` and `reference_tool_calls` a call of the case that failed makes it `tool`, and one that was not made
    `wrong_tool`.

    No reference is null with `no_ground_truth`. No facts are null with `no_facts`, unless every reference refuses, or
    the case and the answer have calls of tools: they then say which part failed. Contexts that are not known are null
    with `no_contexts`.
    """
    answer = text(answer_cell, "answer")
    references = [one for one in texts(references_cell, "reference_answers") or [] if one.strip()]
    if not references:
        return Score(None, UnscoredReason.NO_GROUND_TRUTH)
    if answer is None:
        return Score(None, UnscoredReason.NO_ANSWER)
    refuses = refusal_in(answer) is not None
    saying = [one for one in references if refusal_in(one) is None]
    if not saying:
        return Score(1.0) if refuses else _failed(FailedPart.UNANSWERABLE)
    agrees_with_one = not refuses and any(agrees(answer, one) for one in saying)
    calls, needed = _calls(calls_cell), _calls(needed_cell)
    part = None if agrees_with_one else failed_call(calls, needed)
    facts = [fact for fact in texts(facts_cell, "facts") or [] if CITATION.is_usable(fact)]
    if not facts and calls is not None and needed:
        wrong = part or (FailedPart.REFUSAL if refuses else FailedPart.GENERATION)
        return Score(1.0) if agrees_with_one else _failed(wrong)
    if not facts:
        return Score(None, UnscoredReason.NO_FACTS)
    contexts = context_texts(contexts_cell)
    if contexts is None:
        return Score(None, UnscoredReason.NO_CONTEXTS)
    if agrees_with_one:
        return Score(1.0)
    found = find(facts, contexts)
    ranks = found.ranks
    if part is not None:
        return _failed(part, ranks)
    if ABSENT in ranks:
        own = set(ids(own_ids_cell, "reference_context_ids") or []) - {""}
        retrieved = zip(ids(ids_cell, "context_ids") or [], found.counts, strict=False)
        has_lost_its_facts = any(one in own and not facts_held for one, facts_held in retrieved)
        return _failed(FailedPart.REFERENCE if has_lost_its_facts else FailedPart.RETRIEVAL, ranks)
    if max(ranks) >= (k or FIRST_CHUNKS):
        return _failed(FailedPart.RANKING, ranks)
    return _failed(FailedPart.REFUSAL if refuses else FailedPart.GENERATION, ranks)
