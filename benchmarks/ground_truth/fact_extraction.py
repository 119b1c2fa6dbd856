"""Facts of cases without a judge: what the words of an answer find, and what a sentence encoder adds.

Run from the repository's root: `python -m benchmarks.ground_truth.fact_extraction --data halueval_qa.jsonl`, with
HaluEval's QA.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.ground_truth.fact_extraction_cases import WRITTEN
from evaluator.ground_truth.facts import supporting_sentences
from evaluator.ground_truth.similar_sentences import SimilarSentences
from evaluator.models import Models
from tests.evaluator.models.real_encoder import real_encoder

THRESHOLDS = (0.4, 0.5, 0.6, 0.7)
_JOINED = re.compile(r"(?<=[a-z)\"]\.)(?=[A-Z\"])")
"""HaluEval joins passages without a space."""

Case = tuple[str, str, list[str], str]
Extractor = Callable[[str, Sequence[str]], list[str]]


def cases(data: Path) -> list[Case]:
    """Give kind, answer, contexts and a piece of the right sentence: each row twice, with its own answer and ours."""
    rows = [json.loads(line) for line in data.read_text().splitlines()]
    found: list[Case] = []
    for one in WRITTEN:
        row = next((row for row in rows if row["question"].strip().startswith(one.question)), None)
        if row is None:
            print(f"not in the data: {one.question}")
            continue
        contexts = [part.strip() for part in _JOINED.split(row["knowledge"])]
        if not any(one.right in context for context in contexts):
            print(f"no such sentence: {one.right}")
            continue
        kind = "paraphrase" if one.language == "en" else "translation"
        found += [("as given", row["right_answer"], contexts, one.right), (kind, one.answer, contexts, one.right)]
    return found


def report(name: str, extract: Extractor, some: Sequence[Case]) -> None:
    """Print, by kind of answer, the cases with a right fact and the facts that are right."""
    for kind in ("as given", "paraphrase", "translation"):
        of_kind = [case for case in some if case[0] == kind]
        made = [(extract(answer, contexts), right) for _, answer, contexts, right in of_kind]
        with_right = sum(any(right in fact for fact in facts) for facts, right in made)
        right_facts = sum(right in fact for facts, right in made for fact in facts)
        total = sum(len(facts) for facts, _ in made)
        print(f"{name} | {kind} | {with_right} of {len(of_kind)} | {right_facts} of {total}")


def main() -> None:
    """Compare the extractors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("dialwatch/demo/data/halueval_qa.jsonl"))
    some = cases(parser.parse_args().data)
    report("sentences/3", supporting_sentences, some)
    models = Models(sentence_encoder=real_encoder(), device="cpu")
    for threshold in THRESHOLDS:
        similar = SimilarSentences(models, threshold)

        def both(answer: str, contexts: Sequence[str], similar: SimilarSentences = similar) -> list[str]:
            return supporting_sentences(answer, contexts) or similar.facts(answer, contexts)

        report(f"then sentence_similarity/3 from {threshold}", both, some)


if __name__ == "__main__":
    main()
