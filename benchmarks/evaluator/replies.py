"""Benchmark of reading a judge: odd replies, and quotes that are nearly copied or invented.

    python -m benchmarks.evaluator.replies

`tests/evaluator/metrics/llm/odd_replies.json` has replies to one prompt of claims, each with the value that a person
reads in it, null where it may mean several things. A scripted endpoint gives the same reply whenever it is asked. The
quotes are of sentences of HaluEval's contexts in the demo's data, written as judges copy them, and changed so that they
say something else. Prints markdown.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.regression.tables import print_table
from evaluator.ground_truth.citations import checked_facts, numbered_sentences
from evaluator.judges.blocking_client import JudgeClient
from evaluator.judges.settings import JudgeSettings
from tests.evaluator.judges.scripted_server import says, serving
from tests.evaluator.metrics.llm.judging import scored
from tests.evaluator.metrics.llm.test_reply_forms import ODD_REPLIES, RIVERS

RECORDS = Path(__file__).parents[2] / "dialwatch" / "demo" / "data" / "halueval_qa.jsonl"
_SETS = {"forms": "forms of the field", "models": "as small models write"}
_QUOTED, _SEED = 100, 1
_JOINED = re.compile(r"(?<=[a-z)\"]\.)(?=[A-Z\"])")

Change = Callable[[str, str, random.Random], str | None]
"""Makes a quote of a sentence and the next one; None where the sentence has nothing to change."""


def _changed(pattern: str, to: str | Callable[[re.Match[str]], str]) -> Change:
    def change(sentence: str, _next: str, _chance: random.Random) -> str | None:
        quote = re.sub(pattern, to, sentence, count=1)
        return None if quote == sentence else quote

    return change


def _words_swapped(sentence: str, _next: str, chance: random.Random) -> str | None:
    words = sentence.rstrip(".").split()
    at = chance.randrange(1, len(words) - 1)
    first, second = words[at], words[at + 1]
    if first.lower() == second.lower() or not (first.isalpha() and second.isalpha()):
        return None
    return " ".join([*words[:at], second, first, *words[at + 2 :]])


def _without_middle(sentence: str, _next: str, _chance: random.Random) -> str | None:
    words = sentence.split()
    return " ".join([*words[:3], "...", *words[-3:]]) if len(words) > 8 else None


RIGHT: Mapping[str, Change] = {
    "as it stands": lambda sentence, _next, _chance: sentence,
    "a full stop more": lambda sentence, _next, _chance: f"{sentence.rstrip('.')}..",
    "a list's mark before it": lambda sentence, _next, _chance: f"- {sentence}",
    "other capitals": lambda sentence, _next, _chance: sentence[0].swapcase() + sentence[1:],
    "in quotation marks": lambda sentence, _next, _chance: f"\u201c{sentence}\u201d",
    "curly apostrophe": _changed("'", "\u2019"),
    "en dash for hyphen": _changed(r"(?<=\w)-(?=\w)", "\u2013"),
    "spaces around a comma": _changed(r",\s", " , "),
    "an omission": _without_middle,
    "a table's bars left out": _changed(r"^\|(.*)\|(.*)\|$", r"\1\2"),
    "sentence number off by one": lambda _sentence, following, _chance: following,
    "two sentences": lambda sentence, following, _chance: f"{sentence} {following}",
}
INVENTED: Mapping[str, Change] = {
    "another digit": _changed(r"\d", lambda found: str((int(found[0]) + 1) % 10)),
    "a not more": _changed(r"\b(is|was|are|were|has|had)\b", r"\1 not"),
    "words more": lambda sentence, _next, _chance: f"{sentence.rstrip('.')} in the north of Peru.",
    "words in another order": _words_swapped,
    "a sign less": _changed(r"(?<![\w)])[-<≥$](?=\d)|(?<=\d)%", ""),
}
_SIGNED = ("The margin fell by {}.2% in the year.", "The dose is <{} mg per litre.", "A ticket costs ${} in the city.",
           "The night was as cold as -{} degrees.", "The film is for those of ≥{} years.")  # fmt: skip
TABLE = [f"| Plan {number} | {number} euros a month |" for number in range(10, 60)]
SIGNED = [text.format(number) for number in range(10, 30) for text in _SIGNED]


def read_replies(kind: str) -> tuple[int, int, int, int]:
    """Count the replies of a kind: all, those with the right value, needlessly lost and silently wrong ones."""
    right = lost = wrong = 0
    replies = [one for one in ODD_REPLIES if one["set"] == kind]
    with serving() as stage, tempfile.TemporaryDirectory() as folder:
        for number, odd in enumerate(replies):
            server = stage.fresh()
            server.always = says(None, message=odd["message"], finish_reason=odd["finish_reason"])
            given: dict[str, Any] = {"base_url": f"{server.url}/v1", "model": "m", "prompt_price": 0}
            settings = JudgeSettings.model_validate(given | {"completion_price": 0})
            with JudgeClient({"strict": settings}, Path(folder, f"{number}.sqlite"), sleep=_at_once) as client:
                (score,) = scored(client, "faithfulness_claims", RIVERS)
            right += score.value == odd["value"]
            lost += score.value is None and odd["value"] is not None
            wrong += score.value not in (None, odd["value"])
    return len(replies), right, lost, wrong


async def _at_once(_seconds: float) -> None:
    await asyncio.sleep(0)


def kept(changes: Mapping[str, Change], chunks: Sequence[tuple[str, str]]) -> Iterator[tuple[str, int, int]]:
    """Yield for each change how many quotes there are, and how many are taken."""
    for name, change in changes.items():
        chance, quotes, taken = random.Random(_SEED), 0, 0
        for first, second in chunks:
            quote = change(first, second, chance)
            if quote is None or quotes == _QUOTED:
                continue
            quotes += 1
            joint = "\n" if first.startswith("|") else " "
            given = {"statement": "It is so.", "sentences": [1], "quote": quote}
            taken += bool(checked_facts([given], numbered_sentences([f"{first}{joint}{second}"])).facts)
        yield name, quotes, taken


def chunks_of_records() -> list[tuple[str, str]]:
    """Give pairs of sentences that stand one after the other in the contexts of the demo's records."""
    found = []
    for line in RECORDS.read_text("utf-8").splitlines():
        knowledge = _JOINED.sub(" ", json.loads(line)["knowledge"])
        sentences = [one.text for one in numbered_sentences([knowledge])]
        if len(sentences) > 1 and all(len(one.split()) > 4 for one in sentences[:2]):
            found.append((sentences[0], sentences[1]))
    return found


def main() -> None:
    """Print both tables."""
    logging.disable(logging.WARNING)
    replies = [(title, *read_replies(kind)) for kind, title in _SETS.items()]
    heads = ("written", "replies", "right", "needlessly lost", "silently wrong")
    print_table("Odd replies", heads, [(title, *map(str, counts)) for title, *counts in replies])
    chunks = chunks_of_records()
    signed = [(sentence, "It was so in both years.") for sentence in (*SIGNED, *TABLE)]
    rows = []
    for title, changes in (("right", RIGHT), ("invented", INVENTED)):
        counted = [*kept(changes, [*chunks, *signed])]
        counted.append(("all", sum(all_ for _, all_, _ in counted), sum(taken for *_, taken in counted)))
        rows += [(title, name, str(quotes), f"{taken} ({taken / quotes:.1%})") for name, quotes, taken in counted]
    print_table("Quotes", ("quotes are", "written", "quotes", "kept"), rows)


if __name__ == "__main__":
    main()
