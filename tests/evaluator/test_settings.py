import re
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import ValidationError

from evaluator.metrics import REGISTRY
from evaluator.service.judge_pool import JudgePool
from evaluator.settings import LOGGED_COLUMNS, EvaluatorSettings
from lake.spec.vocabulary import JUDGE_KINDS

RECALL = "answer_correctness_token_recall"
DEFAULT = ("faithfulness_kprecision", "context_present", "facts_recall", RECALL, "case_passed")


def test_the_default_is_five_metrics_every_minute() -> None:
    """A user who sets nothing gets a few; a metric that is added to the library starts no new stream of scores."""
    names = tuple(metric.name for metric in EvaluatorSettings().chosen_metrics("rag"))
    assert (names, EvaluatorSettings().every) == (DEFAULT, 60)


def test_an_alias_is_stored_under_the_metrics_own_name() -> None:
    """Two names of one metric are one stream of scores."""
    assert EvaluatorSettings(metrics=["faithfulness", "recall@5"]).metrics == (
        "faithfulness_kprecision",
        "id_recall@5",
    )


@pytest.mark.parametrize(("every", "seconds"), [("30s", 30), ("5m", 300), (" 1.5h ", 5400), (2, 2), ("0.5", 0.5)])
def test_an_interval_is_seconds_or_has_a_unit(every: Any, seconds: float) -> None:
    """The command line's `--every 5m` and the environment's text are understood."""
    assert EvaluatorSettings(every=every).every == seconds


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"metrics": ["faithfullness"]}, "no metric 'faithfullness'; did you mean faithfulness"),
        (
            {"metrics": ["non_llm_context_recall"]},
            "needs reference_contexts, which neither logs",
        ),
        ({"metrics": ["context_present@5"]}, "no metric 'context_present@5'"),
        ({"metrics": ["quality"]}, "no metric 'quality'"),
        ({"combinations": {"quality": {"faithfullness": 1}}}, "no metric 'faithfullness'"),
        ({"combinations": {"quality": {"refusal": 1}}}, "no better end"),
        ({"combinations": {"recall": {"faithfulness": 1}}}, "cannot name a combination"),
        ({"combinations": {"quality": {"mean": "geometric", "weights": {"refusal": 1}}}}, "harmonic"),
        ({"combinations": {"My mean": {"faithfulness": 1}}}, "cannot name a combination"),
        ({"combinations": {"dislikes": {"faithfulness": 1}}}, "'dislikes' .* watches people's ratings under this name"),
        ({"combinations": {"mine": {"non_llm_context_recall": 1}}, "metrics": ["mine"]}, "'mine' needs reference_con"),
        ({"aspects": {"correctness": {"definition": "Is it right?"}}}, "'correctness' cannot name an aspect"),
        ({"aspects": {"Polite": {"definition": "Is it polite?"}}}, "'Polite' cannot name an aspect"),
        ({"aspects": {"polite": {"definition": " "}}}, "aspects.polite.definition"),
        ({"aspects": {"polite": {"definition": "Is it?", "direction": "better"}}}, "'up', 'down' or 'none'"),
        ({"aspects": {"polite": {"definition": "Is it?", "strictness": 0}}}, "greater than or equal to 1"),
        (
            {"aspects": {"polite": {"definition": "Is it?"}}, "metrics": ["aspect_polite"]},
            "'aspect_polite' asks a judge",
        ),
        (
            {"aspects": {"a": {"definition": "Is it?"}}, "combinations": {"aspect_a": {"faithfulness": 1}}},
            "'aspect_a' cannot name a combination",
        ),
        (
            {"aspects": {"a": {"definition": "Is it?"}}, "combinations": {"quality": {"aspect_a": 1}}},
            "'aspect_a' cannot be part of 'quality': it has no better end",
        ),
        ({"deployments": {"rag": {"metrics": ["faithfullness"]}}}, "deployment 'rag': there is no metric 'faithf"),
        (
            {"deployments": {"rag": {"metrics": ["non_llm_context_recall"]}}},
            "deployment 'rag': metric 'non_llm_context_recall' needs reference_contexts",
        ),
        ({"deployments": {"rag": {"metric": []}}}, "deployments.rag.metric\n.*not permitted"),
        ({"deployments": {"rag": {}}}, "deployment 'rag' says nothing; give metrics, judge, sampling or topics"),
        ({"metric": []}, "metric\n.*not permitted"),
        ({"every": 0}, "greater than 0"),
        ({"every": "5 days"}, "every"),
        ({"every": float("inf")}, "finite"),
    ],
)
def test_a_wrong_setting_is_an_error_that_names_it(settings: dict[str, Any], message: str) -> None:
    """Nothing that was mistyped is taken for the default."""
    with pytest.raises(ValidationError, match=message):
        EvaluatorSettings(**settings)


def test_a_metric_named_twice_is_scored_once() -> None:
    """A response is scored at most once per metric."""
    assert EvaluatorSettings(metrics=["context_present", "context_present"]).metrics == ("context_present",)


def test_a_combination_can_be_a_harmonic_mean() -> None:
    """A part that is 0 makes it 0; the mean stands in its version."""
    weights = {"context_present": 1, "faithfulness": 1}
    made = {"quality": {"mean": "harmonic", "weights": weights}}
    (chosen,) = EvaluatorSettings(combinations=made, metrics=["quality"]).chosen_metrics("rag")
    assert chosen.version.startswith("1-harmonic-")
    (plain,) = EvaluatorSettings(combinations={"quality": weights}, metrics=["quality"]).chosen_metrics("rag")
    assert plain.version.startswith("1-arithmetic-")


def test_a_combination_can_be_scored_like_another_metric() -> None:
    """Its name stands beside those of the library; what is not named in `metrics` is not scored."""
    quality = {"quality": {"faithfulness": 2.0, "context_present": 1.0}}
    usual = EvaluatorSettings(combinations=quality).chosen_metrics("rag")
    assert tuple(metric.name for metric in usual) == DEFAULT
    (chosen,) = EvaluatorSettings(combinations=quality, metrics=["quality"]).chosen_metrics("rag")
    assert (chosen.name, chosen.version) == (
        "quality",
        "1-arithmetic-2*faithfulness_kprecision:4+1*context_present:2",
    )


def test_a_deployment_has_metrics_of_its_own_in_the_place_of_the_others() -> None:
    """They replace the list, may be combinations and aliases, and other deployments keep the evaluator's."""
    settings = EvaluatorSettings(
        combinations={"quality": {"faithfulness": 1.0}},
        deployments={"support-rag": {"metrics": ["quality", "recall@5", "id_recall@5"]}, "quiet": {"metrics": []}},
    )
    names = {name: [m.name for m in settings.chosen_metrics(name)] for name in ("support-rag", "quiet", "other")}
    assert names == {"support-rag": ["quality", "id_recall@5"], "quiet": [], "other": list(DEFAULT)}


def test_a_deployment_has_topics_of_its_own() -> None:
    """They reach its metrics of topics, also within a combination; others have none. A topic has a word."""
    judge = {"base_url": "http://judge", "model": "m", "allow_unpriced": True}
    given = {"judges": {"strict": judge}, "combinations": {"own": {"topic_adherence_f1": 1, "context_present": 1}}}
    given |= {"metrics": ["topic_adherence_recall", "own"], "deployments": {"shop": {"topics": ["orders", "returns"]}}}
    settings = EvaluatorSettings.model_validate(given)
    found = {
        name: [getattr(recall, "topics", None), *(getattr(part, "topics", None) for part, _ in own.parts)]
        for name in ("shop", "other")
        for recall, own in [cast("list[Any]", settings.chosen_metrics(name))]
    }
    assert found == {"shop": [("orders", "returns"), ("orders", "returns"), None], "other": [(), (), None]}
    assert [
        getattr(one, "topics", None) for one in settings.with_topics([settings.metric("topic_adherence_f1")], "shop")
    ] == [("orders", "returns")]
    with pytest.raises(ValidationError, match="topics"):
        EvaluatorSettings.model_validate({"deployments": {"shop": {"topics": [" "]}}})


@pytest.mark.parametrize("name", [*sorted(map(str, JUDGE_KINDS)), "strict+kind"])
def test_a_judge_cannot_have_a_name_that_means_something_else_in_the_tables(name: str) -> None:
    """A judge called `model` would count as none, and its outages would alarm nobody."""
    judge = {"base_url": "http://judge", "model": "m", "allow_unpriced": True}
    with pytest.raises(ValidationError, match=re.escape(f"a judge cannot be named {name!r}")):
        EvaluatorSettings.model_validate({"judges": {name: judge}})


def test_every_metric_says_what_judges_in_words_that_are_known() -> None:
    """Whoever reads the rows knows of each whether a language model was asked."""
    assert {metric.judge for metric in REGISTRY.values()} <= JUDGE_KINDS


def test_the_service_can_show_every_metric_what_it_needs_but_texts_that_no_case_holds() -> None:
    """Cases hold the ids of the right chunks, not their texts."""
    unknown = {name for name, metric in REGISTRY.items() if not set(metric.needs) <= LOGGED_COLUMNS}
    assert unknown == {"non_llm_context_recall", "non_llm_context_precision"}


def test_an_aspect_of_ones_own_is_a_metric_and_part_of_combinations(tmp_path: Path) -> None:
    """Its version changes with its question and the number of votes."""

    def settings(**changes: Any) -> EvaluatorSettings:
        polite = {"definition": "Is the answer polite?", "direction": "up", "strictness": 2} | changes
        return EvaluatorSettings.model_validate(
            {
                "judge_calls": tmp_path / "calls",
                "aspects": {"polite": polite},
                "combinations": {"good": {"aspect_polite": 1, "aspect_coherence": 1}},
                "deployments": {"rag": {"metrics": ["aspect_polite", "good"]}},
                "judges": {"strict": {"base_url": "http://judge", "model": "m", "allow_unpriced": True}},
            }
        )

    with closing(JudgePool(settings())) as judges:
        aspect, good = judges.bound(settings().chosen_metrics("rag"), "rag")
        (other,) = judges.bound([settings(definition="Is it kind?").metric("aspect_polite")])
    assert (aspect.name, aspect.about.asks, aspect.about.direction) == ("aspect_polite", "Is the answer polite?", "up")
    assert aspect.version != other.version
    assert aspect.version in good.version
