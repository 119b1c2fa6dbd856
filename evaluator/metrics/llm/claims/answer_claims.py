"""Claims of the answer, each checked against the contexts: the first call about a row.

The prompts and their replies say "fact" for a claim: another word would be another version of every metric.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from evaluator.judges.exchange import JudgeError, JudgeReply, JudgeRequest, Reason
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import NUMBER, TEXT, YES_OR_NO, Prompt, because, list_of, object_of
from evaluator.judges.schema import MisfitError
from evaluator.metrics.llm.claims.row_texts import RowTexts, in_halves, numbered, portions, usual_claims
from evaluator.metrics.llm.verdicts import Verdict

VERDICT = {"type": "string", "enum": ["S", "C", "N"]}
_OPTIONAL = frozenset({"addresses", "useful", "refusal", "chunks"})
"""What a reply may lack, so that it is not known: no claim hangs on it, but for chunks one that needs them."""
_SPARE_CLAIMS, _LETTERS_A_CLAIM = 3, 4
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class _Prompts:
    """For the first sentences of an answer, and for those that follow: what is said of the whole is asked once."""

    first: Prompt
    more: Prompt


def _prompts(*, reasons: bool) -> _Prompts:
    fact = object_of(fact=TEXT, **because(reasons), chunks=list_of(NUMBER), verdict=VERDICT)
    sentences = list_of(object_of(sentence=NUMBER, facts=list_of(fact), addresses=YES_OR_NO))
    whole = object_of(sentences=sentences, useful=list_of(NUMBER), refusal=YES_OR_NO)
    return _Prompts(
        Prompt.read("answer", whole, reasons=reasons),
        Prompt.read("sentences", object_of(sentences=sentences), reasons=reasons),
    )


_PROMPTS = {reasons: _prompts(reasons=reasons) for reasons in (False, True)}


def version(*, reasons: bool) -> str:
    """Return the version of what is asked, with or without reasons."""
    return f"{_PROMPTS[reasons].first.version}+{_PROMPTS[reasons].more.version}"


@dataclass(frozen=True)
class Claim:
    """A claim of the answer: supported by contexts (S), contradicted (C) or neither (N), None where that is missing.

    `sentence` counts from 1, `contexts` are ranks from 0, and `no_such_contexts` are those that the judge names and
    that do not exist: where there are no others, the verdict is missing. `reason` is what the judge said for it, where
    it was asked to.
    """

    text: str
    sentence: int
    contexts: tuple[int, ...]
    no_such_contexts: tuple[int, ...]
    verdict: Literal["S", "C", "N"] | None
    reason: str | None = None


@dataclass(frozen=True)
class AnswerClaims:
    """The claims of an answer, and what else the judge says of it; `error` is why something is missing.

    `addresses` has for each sentence whether it helps to answer the question, `useful` for each context whether it
    does. `missing` are the sentences, from 1, of which no claims are known.
    """

    claims: tuple[Claim, ...]
    addresses: tuple[Verdict, ...]
    useful: tuple[Verdict, ...]
    refusal: Verdict
    missing: tuple[int, ...]
    error: Reason | None


def requests(row: RowTexts, *, reasons: bool = False) -> list[JudgeRequest]:
    """Ask for an answer's claims, twenty sentences in a call; about the whole answer in the first one."""
    return [_request(row, numbers, reasons=reasons) for numbers in portions(len(row.answer))]


def _request(row: RowTexts, numbers: range, *, reasons: bool) -> JudgeRequest:
    is_first = 1 in numbers or not numbers
    prompt = _PROMPTS[reasons].first if is_first else _PROMPTS[reasons].more
    return prompt.request(
        *row.prefix,
        fenced("sentence", *row.answer),
        values={"which": numbered("sentences", numbers)},
        check=partial(_check, row, numbers),
        usual=_usual(row, numbers),
        optional=_OPTIONAL,
        usable_cut=True,
        images=row.images,
        halves=in_halves(lambda half: _request(row, half, reasons=reasons), numbers),
    )


def _usual(row: RowTexts, numbers: range) -> dict[str, Any]:
    verdict = {"chunks": (), "verdict": "N"}
    claims = {one: [{"fact": claim, **verdict} for claim in usual_claims(row.answer[one - 1])] for one in numbers}
    sentences = [{"sentence": one, "facts": given, "addresses": False} for one, given in claims.items()]
    return {"sentences": sentences, "useful": (), "refusal": False}


def read(row: RowTexts, answers: Sequence[JudgeReply | JudgeError]) -> AnswerClaims:
    """Read the replies to `requests`."""
    claims: list[Claim] = []
    addresses: list[Verdict] = [None] * len(row.answer)
    missing: list[int] = []
    for numbers, answer in zip(portions(len(row.answer)), answers, strict=True):
        by_number = {} if isinstance(answer, JudgeError) else once_each(answer.parsed["sentences"], "sentence")
        for number in numbers:
            if (found := by_number.get(number)) is None:
                missing.append(number)
                continue
            addresses[number - 1] = found.get("addresses")
            if is_padded(row.answer[number - 1], found["facts"]):
                missing.append(number)
                continue
            claims += claims_of(row, number, found["facts"])
    first = answers[0]
    whole = None if isinstance(first, JudgeError) else first.parsed
    return AnswerClaims(
        claims=tuple(claims),
        addresses=tuple(addresses),
        useful=_useful(row, whole),
        refusal=None if whole is None else whole.get("refusal"),
        missing=tuple(missing),
        error=first_error(answers),
    )


def _useful(row: RowTexts, whole: Mapping[str, Any] | None) -> tuple[Verdict, ...]:
    useful = None if whole is None else whole.get("useful")
    return tuple(None if useful is None else rank + 1 in useful for rank in range(len(row.contexts)))


def once_each(items: Iterable[Mapping[str, Any]], name: str) -> dict[int, Mapping[str, Any]]:
    """Return items by their number; where two of a number differ it is not known which is meant, and none is taken."""
    found = _different(items)
    times = Counter(item[name] for item in found)
    return {item[name]: item for item in found if times[item[name]] == 1}


def _different(items: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return list({json.dumps(item, sort_keys=True): item for item in items}.values())


def check_numbers(items: Iterable[Mapping[str, Any]], name: str, expected: range, where: str) -> None:
    """Raise MisfitError unless the items have just the expected numbers, each once."""
    given = Counter(item[name] for item in _different(items))
    if absent := [number for number in expected if number not in given]:
        raise MisfitError(where, f"{name} {absent[0]} is missing")
    if wrong := [number for number, times in given.items() if times > 1 or number not in expected]:
        raise MisfitError(
            where, f"{name} {wrong[0]} comes {given[wrong[0]]} times, and {numbered(name, expected)} are asked"
        )


def contexts_of(row: RowTexts, numbers: Iterable[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the ranks from 0 of numbers from 1: of contexts that exist, and of those that do not."""
    ranks = sorted({number - 1 for number in numbers})
    existing = range(len(row.contexts))
    return tuple(rank for rank in ranks if rank in existing), tuple(rank for rank in ranks if rank not in existing)


def is_padded(sentence: str, facts: Sequence[object]) -> bool:
    """Return whether a reply names clearly more claims of a sentence than it has words: some are made up."""
    words = len(_WORD.findall(sentence))
    letters = sum(map(str.isalnum, sentence))  # some scripts have no blanks between words
    return len(facts) > _SPARE_CLAIMS + max(words, letters // _LETTERS_A_CLAIM)


def claims_of(row: RowTexts, sentence: int, facts: Iterable[Mapping[str, Any]]) -> list[Claim]:
    """Read the claims of a sentence, each once; the verdict is missing where two of the same words differ in it."""
    found: dict[str, Claim] = {}
    for given in facts:
        claim = claim_of(row, sentence, given)
        said = words_of(claim.text)
        same = found.setdefault(said, claim)
        contexts = tuple(sorted({*same.contexts, *claim.contexts}))
        found[said] = replace(same, verdict=claim.verdict if same.verdict == claim.verdict else None, contexts=contexts)
    return list(found.values())


def words_of(text: str) -> str:
    """Return the words of a claim, by which it is the same as another; of a text without words the text."""
    return " ".join(_WORD.findall(text.casefold())) or text


def claim_of(row: RowTexts, sentence: int, given: Mapping[str, Any]) -> Claim:
    """Read a claim of a reply, which has `fact`, `chunks` and `verdict`."""
    contexts, no_such_contexts = contexts_of(row, given.get("chunks", ()))
    # A claim that the judge holds for true without a place to show is what it knows, not what it read.
    unproven = not contexts and (given["verdict"] == "S" or (given["verdict"] == "C" and no_such_contexts))
    verdict = None if unproven else given["verdict"]
    return Claim(given["fact"], sentence, contexts, no_such_contexts, verdict, given.get("reason"))


def first_error(answers: Iterable[JudgeReply | JudgeError]) -> Reason | None:
    """Return the reason of the first answer that did not come."""
    return next((answer.reason for answer in answers if isinstance(answer, JudgeError)), None)


def _check(row: RowTexts, numbers: range, reply: Any) -> None:
    check_numbers(reply["sentences"], "sentence", numbers, "sentences")
    for i, sentence in enumerate(reply["sentences"]):
        number, facts, where = sentence["sentence"], sentence["facts"], f"sentences[{i}].facts"
        if is_padded(row.answer[number - 1], facts):
            raise MisfitError(where, f"{len(facts)} facts are more than the sentence says")
        for j, given in enumerate(facts if row.contexts else ()):
            if claim_of(row, number, given).verdict is None:
                problem = f"a verdict {given['verdict']} needs a chunk, of {len(row.contexts)} there are"
                raise MisfitError(f"{where}[{j}].chunks", problem)
        if row.contexts and any(claim.verdict is None for claim in claims_of(row, number, facts)):
            raise MisfitError(where, "there are different verdicts on a fact")
