"""Aspects with a scale, with steps, and with the probabilities of what the judge could have said."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from evaluator.metrics import AspectCritique, Score
from evaluator.own_metrics import AspectSettings, aspects_of
from evaluator.settings import EvaluatorSettings
from tests.evaluator.judges.conftest import Bench
from tests.evaluator.judges.scripted_server import Act, ScriptedServer, completion, fails, gives, says
from tests.evaluator.metrics.llm.judging import frame, prompt, properties, row

ASKS = "How helpful is the answer?"


def token(text: str, alternatives: Mapping[str, float] | None = None) -> dict[str, Any]:
    shown = {text: 1.0} if alternatives is None else alternatives
    tops = [{"token": one, "logprob": math.log(p), "bytes": None} for one, p in shown.items()]
    return {"token": text, "logprob": math.log(shown.get(text, 0.5)), "bytes": None, "top_logprobs": tops}


def written(name: str, *values: dict[str, Any], sentences: str = "[2]") -> Act:
    """A reply of tokens: one for each value, and plain ones for what stands around."""
    text = "".join(one["token"] for one in values)
    before = [
        token('{"'),
        token("sentences"),
        token('":'),
        token(f"{sentences},"),
        token(' "'),
        token(name),
        token('":'),
    ]
    content = "".join(one["token"] for one in before) + text + "}"
    body = completion(content)
    body["choices"][0]["logprobs"] = {"content": [*before, *values, token("}")]}
    return gives(body)


def scores_of(bench: Bench, judge: Mapping[str, Any] | None = None, **options: Any) -> tuple[Score, str]:
    """The score of one row, and the metric's version."""
    with bench.client(**{"concurrency": 1, "logprobs": True, **(judge or {})}) as client:
        metric = AspectCritique("helpfulness", ASKS, judged_by=client.judge("strict"), **options)
        found = metric.score(frame(row()))
        value = found.values.iloc[0]
        details, spend = found.details.iloc[0], found.spends.iloc[0]
        return Score(None if value != value else value, found.reasons.iloc[0], details, spend), metric.version


@pytest.mark.parametrize(
    ("alternatives", "grade"),
    [
        ({"8": 0.7, "9": 0.2, "7": 0.1}, 8.1),
        ({"8": 0.9, "9": 0.005}, 8.0),
        ({"8": 0.9, "9": 0.01}, (0.9 * 8 + 0.01 * 9) / 0.91),
        ({"8": 0.6, " 8": 0.2, "2": 0.2}, (0.8 * 8 + 0.4) / 1.0),
        ({"8": 0.6, "1": 0.3, "10": 0.1}, (0.6 * 8 + 0.3 + 1.0) / 1.0),
        ({"8": 0.5, "11": 0.3, "0": 0.1, "eight": 0.1}, 8.0),
        ({"8": 0.5, "10": 0.5}, 9.0),
    ],
)
def test_a_grade_is_weighted_by_what_it_could_have_been(
    bench: Bench, server: ScriptedServer, alternatives: Mapping[str, float], grade: float
) -> None:
    """Grades of 1 % and more, of the scale alone, whatever blanks stand before them; brought to 0 to 1."""
    server.follow(written("grade", token("8", alternatives), sentences="[2, 8]"))
    score, _ = scores_of(bench, scale=(1, 10))
    assert score.value == pytest.approx((grade - 1) / 9)
    assert score.details["grades"] == [8]
    assert score.details["weighted"] == pytest.approx([(grade - 1) / 9])
    assert score.details["sentences"] == [[2]]
    assert {name: server.requests[0].body[name] for name in ("logprobs", "top_logprobs")} == {
        "logprobs": True, "top_logprobs": 20,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "alternatives", "scale", "grade"),
    [
        ("9", {"9": 0.55, "1": 0.4}, (1, 10), 9.0),
        ("9", {"9": 0.5, "8": 0.25, "1": 0.25}, (1, 10), (0.5 * 9 + 0.25 * 8) / 0.75),
        ("1", {"1": 0.5, "9": 0.5}, (1, 10), 1.0),
        ("7", {"7": 0.5, "9": 0.5}, (0, 100), 7.0),
        ("7", {"7": 0.5, "9": 0.3, "85": 0.2}, (0, 100), 0.5 * 7 + 0.3 * 9 + 0.2 * 85),
        ("85", {"85": 0.5, "10": 0.5}, (0, 100), 85.0),
        ("3", {"3": 0.5, "1": 0.5}, (0, 5), 2.0),
    ],
)
def test_the_beginning_of_a_longer_grade_is_no_grade(
    bench: Bench,
    server: ScriptedServer,
    said: str,
    alternatives: Mapping[str, float],
    scale: tuple[int, int],
    grade: float,
) -> None:
    """`1` may begin 10 where tokens are digits; where a longer grade is among the tokens, it is a 1."""
    server.follow(written("grade", token(said, alternatives)))
    score, _ = scores_of(bench, scale=scale)
    assert score.value == pytest.approx((grade - scale[0]) / (scale[1] - scale[0]))


def test_the_word_of_a_grade_in_a_text_is_none(bench: Bench, server: ScriptedServer) -> None:
    """The probabilities are those in the place of the value, wherever else its name and a number stand."""
    tail = token(', "why": "the grade: '), token("9", {"9": 1.0}), token('"')
    server.follow(written("grade", token("8", {"8": 0.5, "10": 0.5}), *tail))
    assert scores_of(bench, scale=(1, 10))[0].value == pytest.approx(8 / 9)


def test_a_judge_without_logprobs_gives_plain_grades_of_another_version(bench: Bench, server: ScriptedServer) -> None:
    server.always = says('{"sentences": [1], "grade": 8}')
    plain, plain_version = scores_of(bench, {"logprobs": False}, scale=(1, 10))
    assert (plain.value, "weighted" in plain.details) == (pytest.approx(7 / 9), False)
    assert "logprobs" not in server.requests[0].body
    server.always = written("grade", token("8", {"8": 0.5, "10": 0.5}))
    weighted, version = scores_of(bench, scale=(1, 10))
    assert (weighted.value, len(server.requests)) == (pytest.approx(8 / 9), 2)
    assert version != plain_version


def test_an_endpoint_that_gives_no_probabilities_is_told(bench: Bench, server: ScriptedServer) -> None:
    """Null, rather than a plain grade beside weighted ones under one version; a refusal names the setting."""
    server.always = says('{"sentences": [1], "grade": 8}')
    score, _ = scores_of(bench, scale=(1, 10))
    assert (score.value, score.reason, score.details["grades"]) == (None, "no_probabilities", [8])
    server.always = fails(400, message="logprobs is not supported by this model")
    score, _ = scores_of(bench, {"model": "other"}, scale=(1, 10))
    assert score.reason == "judge_unavailable"


def test_a_grade_of_several_tokens_is_taken_as_it_is(bench: Bench, server: ScriptedServer) -> None:
    """Its first token alone would say 1."""
    server.follow(written("grade", token("1", {"1": 0.9, "9": 0.1}), token("0")))
    assert scores_of(bench, scale=(1, 10))[0].value == 1.0


@pytest.mark.parametrize(
    ("verdict", "alternatives", "value"),
    [
        ("true", {"true": 0.6, "false": 0.2, "maybe": 0.2}, 0.75),
        ("false", {"false": 0.9, "true": 0.1}, 0.1),
        ("true", {"true": 0.5, " true": 0.25, " False": 0.25}, 0.75),
        ("true", {"true": 0.995, "false": 0.005}, 0.995),
    ],
)
def test_yes_has_a_probability(
    bench: Bench, server: ScriptedServer, verdict: str, alternatives: Mapping[str, float], value: float
) -> None:
    """Of yes and no alone; another version than that of the bare vote."""
    server.follow(written("verdict", token(verdict, alternatives)))
    score, version = scores_of(bench, probability=True)
    assert score.value == pytest.approx(value)
    assert score.details["votes"] == [verdict == "true"]
    assert version != scores_of(bench, {"budget_per_day": 1e-9})[1]


def test_several_votes_have_the_mean_of_their_probabilities(bench: Bench, server: ScriptedServer) -> None:
    one, other = {"true": 0.8, "false": 0.2}, {"false": 0.5, "true": 0.5}
    server.follow(*(written("verdict", token(next(iter(each)), each)) for each in (one, other, one)))
    assert scores_of(bench, probability=True, strictness=2)[0].value == pytest.approx((0.8 + 0.5 + 0.8) / 3)


def test_grades_are_drawn_as_often_as_is_said(bench: Bench, server: ScriptedServer) -> None:
    """An even number is as good as an odd one; one that is missing leaves bounds."""
    server.follow(*(says(json.dumps({"sentences": [], "grade": grade})) for grade in (0, 4)))
    plain = {"logprobs": False}
    assert scores_of(bench, plain, scale=(0, 4), strictness=2)[0].value == 0.5
    server.follow(says('{"sentences": [], "grade": 4}'), fails(400, "content_filter"))
    score, _ = scores_of(bench, plain | {"model": "other"}, scale=(0, 4), strictness=2)
    assert (score.value, score.reason) == (None, "judge_content_filter")
    assert (score.details["low"], score.details["high"]) == (0.5, 1.0)


def test_a_probability_without_a_judge_that_gives_one_is_null(bench: Bench, server: ScriptedServer) -> None:
    score, _ = scores_of(bench, {"logprobs": False}, probability=True)
    assert (score.reason, len(server.requests)) == ("no_probabilities", 0)


def test_a_verdict_without_a_token_of_its_own_is_null(bench: Bench, server: ScriptedServer) -> None:
    """Nothing is guessed of a token that holds more than the verdict."""
    server.follow(written("verdict", token("true }", {"true }": 0.9})))
    assert scores_of(bench, probability=True)[0].reason == "no_probabilities"


def test_a_grade_off_the_scale_is_asked_for_again(bench: Bench, server: ScriptedServer) -> None:
    server.follow(says('{"sentences": [1], "grade": 11}'), says('{"sentences": [1], "grade": "7"}'))
    score, _ = scores_of(bench, {"logprobs": False}, scale=(1, 10))
    assert (score.value, score.spend.calls if score.spend else 0) == (pytest.approx(6 / 9), 2)


def test_steps_and_scale_stand_in_the_prompt(bench: Bench, server: ScriptedServer) -> None:
    """Another step, and another scale, is another version; a paid grade with probabilities is none without."""
    server.always = says('{"sentences": [1], "grade": 3}')
    plain = {"logprobs": False}
    versions = {
        scores_of(bench, plain, **options)[1]
        for options in (
            {"scale": (1, 5)}, {"scale": (0, 5)}, {"scale": (1, 5), "steps": ("Read it.",)},
            {"scale": (1, 5), "steps": ("Read it.", "Compare it.")}, {"steps": ("Read it.",)}, {},
        )
    }  # fmt: skip
    task = prompt(server.requests[3]).rpartition("TASK.")[2]
    assert re.search(rf"{re.escape(ASKS)}\nGo by these steps:\n1\. Read it\.\n2\. Compare it\.\nFirst give", task)
    assert "a whole number from 1, if it is not so at all, to 5, if it is wholly so" in task
    assert properties(server.requests[0])["grade"] == {"type": "integer", "minimum": 1, "maximum": 5}
    assert len(versions) == 6


@pytest.mark.parametrize("scale", [(5, 1), (1, 1), (-1, 3), (0, 101), (1, 2, 3), (1,)])
def test_a_scale_has_two_ends(scale: Sequence[int]) -> None:
    with pytest.raises(ValueError, match="a scale is two whole numbers"):
        AspectCritique("x", ASKS, scale=scale)


@pytest.mark.parametrize(
    ("aspect", "problem"),
    [
        ({"scale": [10, 1]}, "a scale is two whole numbers"),
        ({"scale": [1, 10], "probability": True}, "probability is that of yes"),
        ({"steps": [" "]}, "steps"),
        ({"probability": True}, "set judges.strict.logprobs if the endpoint gives them"),
    ],
)
def test_a_wrong_aspect_is_an_error_when_it_is_read(aspect: Mapping[str, Any], problem: str) -> None:
    judge = {"base_url": "http://judge", "model": "m", "allow_unpriced": True}
    aspects = {"helpful": {"definition": ASKS} | aspect}
    with pytest.raises(ValueError, match=problem):
        EvaluatorSettings.model_validate(
            {"judges": {"strict": judge}, "aspects": aspects, "metrics": ["aspect_helpful"]}
        )


def test_an_aspect_of_the_configuration_has_all_that_is_set() -> None:
    settings = AspectSettings.model_validate(
        {"definition": ASKS, "scale": [1, 10], "steps": ["Read it."], "direction": "up", "strictness": 2}
    )
    (metric,) = aspects_of({"helpful": settings}).values()
    assert (metric.name, metric.about.binary, metric.about.direction) == ("aspect_helpful", False, "up")
    expected = AspectCritique("helpful", ASKS, direction="up", strictness=2, scale=(1, 10), steps=("Read it.",))
    assert metric == expected
