"""Matching of answers with cases of ground truth: what each kind finds, its errors, and how long it takes.

Run from the repository's root: `python -m benchmarks.ground_truth.case_matching`. The pairs of questions were written
by hand.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np

from benchmarks.ground_truth.case_matching_pairs import HELD_OUT, NEAR_MISSES, NORMALISED, PARAPHRASES
from evaluator.answers import SimilarByEncoder, case_matching
from evaluator.models import Models
from lake.queries.answer_rows import CaseQuestion
from lake.queries.ground_truth.cases import Case, CaseBook
from lake.spec.case_vocabulary import CaseStatus
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.evaluator.models.real_encoder import real_encoder

THRESHOLDS = (0.80, 0.85, 0.90, 0.95)
CASES, ANSWERS = 10_000, 2_000
NOW = datetime(2026, 11, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Asked:
    """An answer, as far as matching looks at it."""

    case_question: CaseQuestion
    documents: tuple[str, ...] = ()
    response_id: str | None = None
    response_ids: tuple[str, ...] = ()
    requested_at: datetime = NOW


class RandomVectors:
    """An encoder that takes no time, so that the comparison alone is measured."""

    def vectors(self, texts: list[str]) -> np.ndarray:
        """Give a vector of each text."""
        return np.random.default_rng(1).normal(size=(len(texts), 384)).astype(np.float32)


def book(questions: list[str], lake: Lake, threshold: float | None) -> CaseBook:
    """Give the cases of these questions."""
    models = Models(sentence_encoder=real_encoder(), device="cpu")
    similar = None if threshold is None else SimilarByEncoder(models, threshold)
    cases = [
        Case(str(number), CaseQuestion(text), frozenset(), (), "", None, 0.9, CaseStatus.ACCEPTED)
        for number, text in enumerate(questions)
    ]
    return CaseBook(cases, lake.table(PARSED_LOGS, "none"), similar)


def found(pair: tuple[str, str], lake: Lake, threshold: float) -> str:
    """Give the kind of match of a pair."""
    matched = book([pair[0]], lake, threshold).earlier([Asked(CaseQuestion(pair[1]))])
    return str(matched[0][1].match) if matched else "none"


def errors(lake: Lake) -> None:
    """Print what is found of the pairs, by threshold."""
    groups = {"spelling": NORMALISED, "paraphrases": PARAPHRASES, **NEAR_MISSES, "held-out near-misses": HELD_OUT}
    for threshold in THRESHOLDS:
        print(f"least_similarity {threshold}")
        for name, pairs in groups.items():
            kinds = Counter(found(pair, lake, threshold) for pair in pairs)
            print(f"  {name} ({len(pairs)}): {dict(kinds)}")


def speed(lake: Lake) -> None:
    """Print how long 2,000 answers take against 10,000 cases, a third of them of no case."""
    generator = random.Random(1)  # seeded, so that it can be repeated
    words = [f"{start}{end}" for start in "bcdfglmnprst" for end in ("alo", "eri", "ita", "one", "umi", "ade")]
    known = [f"What does rule {n} say about {' '.join(generator.sample(words, 4))}?" for n in range(CASES)]
    asked = [generator.choice(known) for _ in range(ANSWERS)]
    asked = [
        (text, text.lower().rstrip("?"), text.replace("What does", "Which words does"))[n % 3]
        for n, text in enumerate(asked)
    ]
    answers = [Asked(CaseQuestion(text)) for text in asked]
    with patch.object(case_matching, "sentence_encoder", lambda _: RandomVectors()):
        _print_times(known, answers, lake)


def _print_times(known: list[str], answers: list[Asked], lake: Lake) -> None:
    for threshold in (None, 0.95):
        cases = book(known, lake, threshold)
        for attempt in ("first", "second"):
            began = time.perf_counter()
            kinds = Counter(str(one.match) for _, one in cases.earlier(answers))
            took = time.perf_counter() - began
            what = "exact and normalised" if threshold is None else "embedding too, without the encoder"
            print(f"{what}, {attempt} time: {took:.3f} s {dict(kinds)}")


def main() -> None:
    """Measure both."""
    with TemporaryDirectory() as folder:
        lake = Lake(str(Path(folder) / "lake"))
        errors(lake)
        speed(lake)


if __name__ == "__main__":
    main()
