"""The answer's facts, each checked in a call of its own: what joint calls can be compared with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from evaluator.judges.answer import Answer, JudgeError, Request, Spend
from evaluator.judges.fence import fenced
from evaluator.judges.prompts import NUMBER, TEXT, Prompt, because, list_of, object_of
from evaluator.judges.schema import MisfitError
from evaluator.metrics.llm.claims.answer import (
    VERDICT,
    AnswerFindings,
    Fact,
    check_numbers,
    contexts_of,
    fact_of,
    first_error,
    once_each,
)
from evaluator.metrics.llm.claims.asking import Findings
from evaluator.metrics.llm.claims.row import Row, portions, told, usual_facts

if TYPE_CHECKING:
    from evaluator.judges import BoundJudge

_FACTS = Prompt.read("facts", object_of(sentences=list_of(object_of(sentence=NUMBER, facts=list_of(TEXT)))))
_FACT = {
    reasons: Prompt.read(
        "fact", object_of(**because(reasons), chunks=list_of(NUMBER), verdict=VERDICT), reasons=reasons
    )
    for reasons in (False, True)
}

Replies = Sequence[Answer | JudgeError]


def prompts_apart(*, reasons: bool) -> tuple[str, str]:
    """Give the versions of both prompts, the second with or without reasons."""
    return _FACTS.version, _FACT[reasons].version


def find_apart(judge: BoundJudge, rows: Sequence[Row]) -> list[Findings]:
    """Ask for the facts of each answer without showing its contexts, then about each fact beside the contexts.

    That is one call a row and one a fact. What only joint calls tell, which contexts are useful and which sentences
    address the question, is missing.
    """
    first = _asked(judge, [_for_facts(row) for row in rows])
    facts = [list(_facts(row, replies)) for row, replies in zip(rows, first, strict=True)]
    reasons = judge.settings.reasons
    about = [[_about(row, text, reasons=reasons) for _, text in mine] for row, mine in zip(rows, facts, strict=True)]
    second = _asked(judge, about)
    return [_findings(*each) for each in zip(rows, first, facts, second, strict=True)]


def _asked(judge: BoundJudge, requests: Sequence[Sequence[Request]]) -> list[Replies]:
    answers = iter(judge.ask_all(chain.from_iterable(requests)))
    return [list(islice(answers, len(mine))) for mine in requests]


def _for_facts(row: Row) -> list[Request]:
    texts = fenced("question", row.question), fenced("sentence", *row.answer)
    return [
        _FACTS.request(
            *texts,
            values={"which": told("sentences", numbers)},
            check=partial(_check_facts, numbers),
            usual={"sentences": [{"sentence": one, "facts": usual_facts(row.answer[one - 1])} for one in numbers]},
        )
        for numbers in portions(len(row.answer))
    ]


def _about(row: Row, fact: str, *, reasons: bool) -> Request:
    return _FACT[reasons].request(*row.prefix, fenced("fact", fact), check=partial(_check_fact, row, fact))


def _facts(row: Row, replies: Replies) -> Iterator[tuple[int, str]]:
    for numbers, reply in zip(portions(len(row.answer)), replies, strict=True):
        if not isinstance(reply, JudgeError):
            found = once_each(reply.parsed["sentences"], "sentence")
            yield from ((number, text) for number in numbers if number in found for text in found[number]["facts"])


def _findings(row: Row, first: Replies, facts: Sequence[tuple[int, str]], second: Replies) -> Findings:
    known = {
        number
        for numbers, reply in zip(portions(len(row.answer)), first, strict=True)
        if not isinstance(reply, JudgeError)
        for number in set(numbers) & once_each(reply.parsed["sentences"], "sentence").keys()
    }
    found = AnswerFindings(
        facts=tuple(_fact(row, *fact, reply) for fact, reply in zip(facts, second, strict=True)),
        addresses=(None,) * len(row.answer),
        useful=(None,) * len(row.contexts),
        refusal=None,
        missing=tuple(number for number in range(1, len(row.answer) + 1) if number not in known),
        error=first_error([*first, *second]),
    )
    return Findings(row, found, None, sum((reply.spend for reply in (*first, *second)), Spend()))


def _fact(row: Row, sentence: int, text: str, reply: Answer | JudgeError) -> Fact:
    if isinstance(reply, JudgeError):
        return Fact(text, sentence, (), (), None)
    return fact_of(row, sentence, {"fact": text, **reply.parsed})


def _check_facts(numbers: range, reply: Any) -> None:
    check_numbers(reply["sentences"], "sentence", numbers, "sentences")


def _check_fact(row: Row, text: str, reply: Any) -> None:
    if fact_of(row, 1, {"fact": text, **reply}).verdict is None:
        missing = contexts_of(row, reply["chunks"])[1]
        why = f"there is no chunk {missing[0] + 1}" if missing else f"a verdict {reply['verdict']} needs a chunk"
        raise MisfitError("chunks", f"{why}; there are {len(row.contexts)}")
