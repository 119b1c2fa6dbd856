"""Plain metrics of an answer: its length, language and repeats, whether it is one, what it took."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import Literal

from evaluator.metrics.decorator import metric
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.language.detection import language_of
from evaluator.metrics.options import option
from evaluator.metrics.scores import Score
from lake.spec.texts.refusals import refusal_in
from lake.spec.vocabulary import UnscoredReason
from runtime.words import words


@metric(
    Description(
        asks="How long is the answer?",
        formula="number of words: runs of letters and digits between spaces and marks, or of characters without outer "
        "white space; Chinese counts characters, other scripts without spaces overlapping "
        "pairs of letters",
        source="dialwatch",
        odd_cases=OddCases(empty_answer="0 with `no_answer`, null with it for a missing cell"),
        high=math.inf,
        direction="none",
    ),
    needs=("answer",),
    name=lambda metric: "answer_length" if metric.unit == "words" else f"answer_length_{metric.unit}",
    variants=({"unit": "words"}, {"unit": "characters"}),
)
def answer_length(
    answer: str | None,
    *,
    unit: Literal["words", "characters"] = option(
        "words", "`words`, or `characters` (metric name `answer_length_characters`)"
    ),
) -> Score:
    """Number of words or characters of the answer, 0 or more; neither end is better.

    A word is a run of letters and digits; of scripts without spaces see `split_unspaced`. Characters are those of
    the answer without its outer white space.
    """
    if answer is None:
        return Score(None, UnscoredReason.NO_ANSWER)
    length = len(words(answer)) if unit == "words" else len(answer.strip())
    return Score(float(length), None if answer.strip() else UnscoredReason.NO_ANSWER)


@metric(
    Description(
        asks="What did the answer cost?",
        formula="price of the call and all that it called",
        source="dialwatch; DIAL Core computes it from its price table",
        odd_cases=OddCases(),
        high=math.inf,
        direction="down",
    ),
    needs=lambda metric: (metric.column,),
    version=lambda metric: "1" if metric.column == "price" else f"1-{metric.column}",
)
def cost(
    price: float | None,
    *,
    column: Literal["price", "deployment_price"] = option(  # noqa: ARG001  # it says which price is read
        "price", "`price`: the call and all that it called; `deployment_price`: it alone"
    ),
) -> Score:
    """Price of the answer in the currency of DIAL's price table, 0 or more, lower is better.

    `price` is that of the call and all that it called, which is what an answer costs. `deployment_price` is that of
    the call alone: DIAL gives it for models only.
    """
    return Score(None, UnscoredReason.NO_PRICE) if price is None else Score(price)


@metric(
    Description(
        asks="Was there no answer?",
        formula="1 if the answer has no visible character (only white space, control and format characters), else 0",
        source="dialwatch",
        odd_cases=OddCases(empty_answer="1.0; null with `no_answer` for a missing cell"),
        direction="down",
        binary=True,
    ),
    needs=("answer",),
)
def empty_answer(answer: str | None) -> Score:
    """1.0 if the answer has nothing that can be seen, else 0.0; lower is better."""
    if answer is None:
        return Score(None, UnscoredReason.NO_ANSWER)
    # Unicode's categories C and Z: control, format, surrogate and unassigned characters, and all spaces.
    return Score(float(all(unicodedata.category(character)[0] in "CZ" for character in answer)))


@metric(
    Description(
        asks="Does the answer decline exactly where there is no answer?",
        formula="1 if the answer declines and the question has no answer, or neither, else 0; by the label of the row "
        "(`is_answerable_label`) where there is one, else by whether all reference answers decline",
        source="unitxt (`is_answerable` of the RAG tasks, `is_answerable_label` of their references)",
        odd_cases=OddCases(
            empty_answer="0.0 with `no_answer`, null with it for a missing cell",
            no_reference="null with `no_ground_truth`, unless there is a label",
        ),
        binary=True,
        disagreement="in unitxt a field of the system's reply says whether it answers; a log has no such field, so "
        "here it is read from what it writes.",
    ),
    needs=("answer", "reference_answers"),
    optional=("is_answerable_label",),
    version="3",
)
def is_answerable(answer: str | None, given: Sequence[str] | None, label: bool | None) -> Score:
    """1.0 if the answer declines where no reference answers, or answers where one does; else 0.0, higher is better.

    Whether the question has an answer the label says, of a table or of a case. Where there is none, every reference
    answer of a question without one declines, as in "The documents do not say.", by the lexicon of `refusal`. Blank
    reference answers are left out, and none other is null with `no_ground_truth`. An empty answer neither answers nor
    declines, and is 0.0 with `no_answer`.

    The details have both sides: `{"is_answerable": False, "declines": True}`.
    """
    references = [reference for reference in given or [] if reference.strip()]
    if label is None and not references:
        return Score(None, UnscoredReason.NO_GROUND_TRUTH)
    if answer is None:
        return Score(None, UnscoredReason.NO_ANSWER)
    if not answer.strip():
        return Score(0.0, UnscoredReason.NO_ANSWER)
    has_answer = any(refusal_in(reference) is None for reference in references) if label is None else label
    declines = refusal_in(answer) is not None
    return Score(float(declines != has_answer), None, {"is_answerable": has_answer, "declines": declines})


@metric(
    Description(
        asks="Is the answer in the language of the question?",
        formula="1 if the two languages are one, else 0; a language is recognised by its script and its most frequent "
        "words, a word of n languages being 1/n of a sign of each, where the signs are 1.3 and a tenth of the words or "
        "more, and 1.5 times those of any other language; code, addresses and file names are left out",
        source="dialwatch",
        odd_cases=OddCases(
            empty_answer="0.0 with `no_answer`, null with it for a missing cell; null with `too_short` below three "
            "words, with `unknown_language` where it cannot be recognised"
        ),
        binary=True,
    ),
    needs=("question", "answer"),
)
def language_match(question: str | None, answer: str | None) -> Score:
    """1.0 if question and answer are in one language, 0.0 if not, higher is better.

    The language is recognised by `language_of`. Texts in two scripts do not match, whatever their languages. A text of
    fewer than three words is null with `too_short`, one whose language cannot be recognised with `unknown_language`.

    The details name the two languages, as far as known: `{"question": "en", "answer": "de"}`.
    """
    if answer is None:
        return Score(None, UnscoredReason.NO_ANSWER)
    if question is None or not question.strip():
        return Score(None, UnscoredReason.NO_QUESTION)
    if not answer.strip():
        return Score(0.0, UnscoredReason.NO_ANSWER)
    asked, answered = language_of(question), language_of(answer)
    if asked.script is None or answered.script is None:
        return Score(None, UnscoredReason.TOO_SHORT)
    details = {"question": asked.code or asked.script, "answer": answered.code or answered.script}
    differs = asked.differs(answered)
    if differs is None:
        return Score(None, UnscoredReason.UNKNOWN_LANGUAGE, details)
    return Score(float(not differs), None, details)


@metric(
    Description(
        asks="How many seconds did the answer take?",
        formula="duration_ms / 1000",
        source="dialwatch; DIAL Core measures it from the request's start to the last byte",
        odd_cases=OddCases(),
        high=math.inf,
        direction="down",
    ),
    needs=("duration_ms",),
)
def latency(duration_ms: float | None) -> Score:
    """Seconds from the request to the last byte of its answer, 0 or more, lower is better."""
    return Score(None, UnscoredReason.NO_DURATION) if duration_ms is None else Score(duration_ms / 1000)


def _check_limit(limit: float) -> None:
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit < math.inf:
        raise ValueError(f"limit is a number above 0, not {limit!r}")


@metric(
    Description(
        asks="Did the answer take longer than a limit?",
        formula="1 if duration_ms / 1000 is above the limit, 10 by default, else 0; `latency_over@30` has another one",
        source="dialwatch; `latency` in a form that can get worse: the share of slow answers is watched",
        odd_cases=OddCases(),
        direction="down",
        binary=True,
        aliases=("latency_over",),
    ),
    needs=("duration_ms",),
    name=lambda metric: f"latency_over@{metric.limit:g}",
)
def latency_over(
    duration_ms: float | None, *, limit: float = option(10.0, "seconds; 10 by default", check=_check_limit)
) -> Score:
    """1.0 if the answer took more than `limit` seconds to its last byte, else 0.0; lower is better."""
    return Score(None, UnscoredReason.NO_DURATION) if duration_ms is None else Score(float(duration_ms > 1000 * limit))


@metric(
    Description(
        asks="Did the answer cost more than a limit?",
        formula="1 if the price of the call and all that it called is above the limit, 0.05 by default, else 0; "
        "`cost_over@0.2` has another one",
        source="dialwatch; `cost` in a form that can get worse: the share of dear answers is watched",
        odd_cases=OddCases(),
        direction="down",
        binary=True,
        aliases=("cost_over",),
    ),
    needs=("price",),
    name=lambda metric: f"cost_over@{metric.limit:g}",
)
def cost_over(
    price: float | None,
    *,
    limit: float = option(0.05, "in the currency of DIAL's price table; 0.05 by default", check=_check_limit),
) -> Score:
    """1.0 if the answer cost more than `limit` in the currency of DIAL's price table, else 0.0; lower is better."""
    return Score(None, UnscoredReason.NO_PRICE) if price is None else Score(float(price > limit))


def _check_runs(n: int) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"n is a whole number of 1 or more, not {n!r}")


@metric(
    Description(
        asks="How much of the answer has the answer already said?",
        formula="1 - distinct runs of n words / runs of n words, n = 4, words in lower case",
        source="Welleck et al., Neural Text Generation with Unlikelihood Training (seq-rep-n)",
        odd_cases=OddCases(empty_answer="null with `no_answer`; null with `too_short` below n words"),
        direction="down",
        aliases=("seq_rep_4",),
    ),
    needs=("answer",),
)
def repeated_text(
    answer: str | None,
    *,
    n: int = option(4, "words of a run; 4 as in the paper", check=_check_runs, is_in_version=True),
) -> Score:
    """Share of the answer's runs of n words that stood in it before, from 0 to below 1, lower is better.

    This is seq-rep-n of Welleck et al., "Neural Text Generation with Unlikelihood Training". An answer that cannot
    repeat itself, because it has fewer than n words, is null with `too_short`, an empty one with `no_answer`: silence
    is no virtue here.
    """
    if answer is None or not answer.strip():
        return Score(None, UnscoredReason.NO_ANSWER)
    said = words(answer)
    runs = list(zip(*(said[start:] for start in range(n)), strict=False))
    return Score(1 - len(set(runs)) / len(runs)) if runs else Score(None, UnscoredReason.TOO_SHORT)
