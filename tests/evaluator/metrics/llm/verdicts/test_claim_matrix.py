from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evaluator.metrics.llm.verdicts import ClaimMatrix, Judged, Verdict, claim_numbers, noise_sensitivity
from tests.evaluator.metrics.llm.verdicts.completions import assert_bounds

Row = list[Verdict]


@st.composite
def matrices(draw: st.DrawFn, *verdicts: Verdict, missing: int = 5) -> tuple[Row, Row, list[Row], list[Row]]:
    """Up to three claims a side and three contexts, with at most `missing` verdicts missing."""
    answer, reference, contexts = draw(st.integers(0, 3)), draw(st.integers(0, 3)), draw(st.integers(0, 3))
    one = st.sampled_from(verdicts)

    def row(length: int) -> st.SearchStrategy[Row]:
        return st.lists(one, min_size=length, max_size=length)

    def rows(count: int) -> st.SearchStrategy[list[Row]]:
        return st.lists(row(contexts), min_size=count, max_size=count)

    found = draw(st.tuples(row(answer), row(reference), rows(answer), rows(reference)))
    flat = [verdict for side in found for item in side for verdict in (item if isinstance(item, list) else [item])]
    assume(flat.count(None) <= missing)
    return found


KNOWN = matrices(True, False)


def numbers(matrix: tuple[Row, Row, list[Row], list[Row]]) -> dict[str, float | None]:
    return {name: judged.value for name, judged in vars(claim_numbers(ClaimMatrix(*matrix))).items()}


def test_a_wrong_claim_from_a_relevant_context_is_noise() -> None:
    """Three claims, one of them wrong and taken from a context that supports a claim of the reference: 1/3 and 0."""
    found = noise_sensitivity([True, True, False], [[0, 1, 0], [0, 0, 1], [0, 0, 1]], [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    assert (found.relevant, found.irrelevant) == (Judged.known(1 / 3), Judged.known(0.0))


def test_a_wrong_claim_of_no_context_is_a_hallucination_and_no_noise() -> None:
    """What no context says cannot be its noise."""
    found = numbers(([False], [False], [[False, False]], [[True, False]]))
    assert found["noise_sensitivity_in_relevant"] == found["noise_sensitivity_in_irrelevant"] == 0
    assert found["hallucination"] == 1


def test_no_relevant_context_means_no_noise_of_one() -> None:
    """The wrong claim then comes from a context of no use."""
    found = noise_sensitivity([False], [[True]], [[False]])
    assert (found.relevant, found.irrelevant) == (Judged.known(0.0), Judged.known(1.0))


def test_a_wrong_claim_of_both_kinds_of_context_counts_once() -> None:
    """As noise of the relevant one."""
    found = noise_sensitivity([False], [[True, True]], [[True, False]])
    assert (found.relevant, found.irrelevant) == (Judged.known(1.0), Judged.known(0.0))


def test_of_no_claims_no_shares() -> None:
    """An answer without claims states none of the reference's; what is a share of its claims is null."""
    found = claim_numbers(ClaimMatrix([], [False], [], [[True]]))
    nothing = Judged.nothing("no_claims")
    assert found.precision == found.f1 == found.faithfulness == found.hallucination == found.self_knowledge == nothing
    assert found.noise_sensitivity_in_relevant == found.noise_sensitivity_in_irrelevant == nothing
    assert found.recall == found.context_utilization == Judged.known(0.0)
    assert found.claim_recall == found.context_precision == Judged.known(1.0)


def test_a_reference_without_claims_says_nothing_of_contexts() -> None:
    """Whether a context is relevant cannot be known, whether the answer is grounded in it can."""
    found = claim_numbers(ClaimMatrix([False], [], [[True]], []))
    nothing = Judged.nothing("no_claims")
    assert found.recall == found.f1 == found.claim_recall == found.context_utilization == nothing
    assert found.context_precision == found.noise_sensitivity_in_relevant == nothing
    assert (found.precision, found.faithfulness) == (Judged.known(0.0), Judged.known(1.0))


def test_without_contexts_all_that_reads_them_is_null() -> None:
    """What compares answer and reference alone stays."""
    found = claim_numbers(ClaimMatrix([True], [False, True], [[]], [[], []]))
    of_contexts = {name for name, judged in vars(found).items() if judged == Judged.nothing("no_contexts")}
    assert set(vars(found)) - of_contexts == {"precision", "recall", "f1"}
    assert (found.precision.value, found.recall.value, found.f1.value) == (1.0, 0.5, pytest.approx(2 / 3))


def test_what_was_not_retrieved_cannot_be_used() -> None:
    """Utilization is then 0 as in RAGChecker, and says that there was nothing to use."""
    found = claim_numbers(ClaimMatrix([True], [True], [[False]], [[False]]))
    assert found.context_utilization == Judged.known(0.0, "no_claim_retrieved")


@pytest.mark.parametrize(
    ("stated", "retrieved", "low", "high"),
    [
        ([True, None], [True, None], 1 / 2, 1.0),
        ([True, False], [True, None], 1 / 2, 1.0),
        ([False, True], [True, None], 0.0, 1 / 2),
        ([False, None], [True, None], 0.0, 1 / 2),
        ([None, True], [True, True], 1 / 2, 1.0),
        ([True], [None], 0.0, 1.0),
    ],
)
def test_what_is_open_may_count_or_not(stated: Row, retrieved: Row, low: float, high: float) -> None:
    """Utilization's bounds leave out a claim that may not have been retrieved where that makes them wider."""
    found = claim_numbers(ClaimMatrix([], stated, [], [[verdict] for verdict in retrieved])).context_utilization
    assert found == Judged(None, "judge_failed", low, high)


def test_a_verdict_that_does_not_matter_may_be_missing() -> None:
    """A right claim is no noise wherever it comes from."""
    found = noise_sensitivity([True], [[None, None]], [[None, True]])
    assert found.relevant == found.irrelevant == Judged.known(0.0)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (([True], [], [], []), "1 claims of the answer have verdicts, and 0 have a row"),
        (([], [True], [], [[True], [True]]), "1 claims of the reference have verdicts, and 2 have a row"),
        (([True], [True], [[True]], [[True, False]]), "a verdict a context, but they have 1, 2 verdicts"),
    ],
)
def test_verdicts_of_other_claims_or_contexts_are_an_error(matrix: Any, message: str) -> None:
    """A row too many would move every number."""
    with pytest.raises(ValueError, match=message):
        ClaimMatrix(*matrix)


@given(KNOWN)
def test_the_numbers_are_those_of_plain_sets(matrix: tuple[Row, Row, list[Row], list[Row]]) -> None:
    """Each number as its definition reads, over sets of claims and of contexts; 0/0 is null, or 0 for utilization."""
    right, stated = ({claim for claim, verdict in enumerate(side) if verdict} for side in matrix[:2])
    answer, reference = (
        [{context for context, verdict in enumerate(row) if verdict} for row in rows] for rows in matrix[2:]
    )
    contexts = len(next(iter([*matrix[2], *matrix[3]]), []))
    assume(answer and reference and contexts)
    relevant = set().union(*reference)
    grounded = {claim for claim, found in enumerate(answer) if found}
    retrieved = {claim for claim, found in enumerate(reference) if found}
    wrong = set(range(len(answer))) - right
    precision, recall = len(right) / len(answer), len(stated) / len(reference)
    assert numbers(matrix) == pytest.approx(
        {
            "precision": precision,
            "recall": recall,
            "f1": 2 * precision * recall / (precision + recall) if right and stated else 0,
            "claim_recall": len(retrieved) / len(reference),
            "context_precision": len(relevant) / contexts,
            "context_utilization": len(retrieved & stated) / len(retrieved) if retrieved else 0,
            "noise_sensitivity_in_relevant": sum(bool(answer[claim] & relevant) for claim in wrong) / len(answer),
            "noise_sensitivity_in_irrelevant": len({c for c in wrong & grounded if not answer[c] & relevant})
            / len(answer),
            "hallucination": len(wrong - grounded) / len(answer),
            "self_knowledge": len(right - grounded) / len(answer),
            "faithfulness": len(grounded) / len(answer),
        },
        abs=1e-12,
    )


@given(KNOWN)
def test_a_claim_is_grounded_known_or_made_up(matrix: tuple[Row, Row, list[Row], list[Row]]) -> None:
    """Over the answer's claims faithfulness, self-knowledge and hallucination add up to 1; all numbers are 0 to 1."""
    found = numbers(matrix)
    parts = [found[name] for name in ("faithfulness", "self_knowledge", "hallucination")]
    if None not in parts:
        assert sum(part or 0.0 for part in parts) == pytest.approx(1, abs=1e-12)
    assert all(value is None or 0 <= value <= 1 for value in found.values())


@given(KNOWN)
def test_noise_is_a_part_of_what_is_wrong(matrix: tuple[Row, Row, list[Row], list[Row]]) -> None:
    """Noise of both kinds and hallucination are the wrong claims, each once."""
    found = numbers(matrix)
    kinds = ("noise_sensitivity_in_relevant", "noise_sensitivity_in_irrelevant", "hallucination")
    noise = [found[name] for name in kinds]
    if None not in noise:
        assert sum(part or 0.0 for part in noise) == pytest.approx(1 - (found["precision"] or 0.0), abs=1e-12)


@given(KNOWN, st.randoms(use_true_random=False))
def test_the_order_of_contexts_makes_no_difference(matrix: tuple[Row, Row, list[Row], list[Row]], random: Any) -> None:
    """Contexts have no rank here."""
    width = len(next(iter([*matrix[2], *matrix[3]]), []))
    order = random.sample(range(width), width)
    shuffled = [[[row[rank] for rank in order] for row in rows] for rows in matrix[2:]]
    assert numbers((matrix[0], matrix[1], shuffled[0], shuffled[1])) == numbers(matrix)


@given(matrices(True, False, None))
def test_the_bounds_are_those_of_all_completions(matrix: tuple[Row, Row, list[Row], list[Row]]) -> None:
    """Whatever the missing verdicts are, and no wider, for each of the eleven numbers."""
    for name in numbers(matrix):
        assert_bounds(lambda *each, name=name: getattr(claim_numbers(ClaimMatrix(*each)), name), *matrix)
