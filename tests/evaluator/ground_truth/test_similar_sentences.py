"""Facts of answers that say in other words what their contexts say."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from evaluator.ground_truth import GroundTruthSettings
from evaluator.ground_truth.similar_sentences import SimilarSentences
from evaluator.models import Models
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from tests.evaluator.models.real_encoder import real_encoder

NOW = datetime(2026, 11, 21, tzinfo=UTC)
CONTEXT = "The shop was founded in 1998. Customers may send goods back within 30 days. It sells shoes."


# Without torch they say that they do not run.
pytestmark = pytest.mark.usefixtures("models")


@pytest.fixture(scope="module")
def similar() -> SimilarSentences:
    return SimilarSentences(Models(sentence_encoder=real_encoder(), device="cpu"), 0.6)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (
            "Buyers are allowed to return what they bought for 30 days.",
            ["Customers may send goods back within 30 days"],
        ),
        ("Buyers are allowed to return what they bought for 60 days.", []),
        ("The moon is made of rock.", []),
        ("", []),
    ],
)
def test_the_nearest_sentence_with_the_same_numbers_is_a_fact(
    similar: SimilarSentences, answer: str, found: list[str]
) -> None:
    assert similar.facts(answer, [CONTEXT]) == found


def test_without_the_model_there_are_none(caplog: pytest.LogCaptureFixture) -> None:
    """The pass goes on, and says so once."""
    away = SimilarSentences(Models(sentence_encoder="no/such-model"), 0.6)
    assert [away.facts("Buyers may return goods.", [CONTEXT]) for _ in range(2)] == [[], []]
    assert len(caplog.records) == 1


@pytest.mark.parametrize(("is_on", "made_by"), [(True, "sentence_similarity/3"), (False, "sentences/3")])
def test_the_service_labels_what_it_finds(lake: Any, traffic: Any, is_on: bool, made_by: str) -> None:
    paraphrase: Callable[..., Any] = traffic.answer
    traffic.log(paraphrase("a", answer="New Delhi houses the country's ruling institutions."))
    traffic.rate(traffic.signal("like", "a"))
    settings = EvaluatorSettings(
        metrics=("context_present",),
        models=Models(sentence_encoder=real_encoder(), device="cpu"),
        ground_truth=GroundTruthSettings(facts_by_embedding=is_on, least_fact_similarity=0.5),
    )
    assert Evaluator(lake, settings, clock=lambda: NOW).run_once().cases == 1
    [case] = traffic.cases()
    assert case["extractor"] == made_by
    assert case["facts"] == (["Delhi is the seat of government"] if is_on else [])
    assert case["context"] == (["Delhi is the seat of government. It is large."] if is_on else [])
