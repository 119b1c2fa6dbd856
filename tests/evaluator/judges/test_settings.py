from typing import Any

import pytest
from pydantic import ValidationError

from evaluator.judges.settings import JudgeSettings
from evaluator.settings import EvaluatorSettings

URL = "https://dial.example.com"


def test_a_judge_is_named_by_its_model_or_else_by_its_deployment() -> None:
    """DIAL's deployments need no second name."""
    assert JudgeSettings(base_url=URL, deployment="gpt-4o").model_name == "gpt-4o"
    assert JudgeSettings(base_url=URL, deployment="judge", model="gpt-4o-2024-11-20").model_name == "gpt-4o-2024-11-20"


def test_a_call_costs_tokens_times_prices() -> None:
    """1,000 prompt tokens at 2 a million, 400 of them cached at 0.5, and 100 of the reply at 8: 0.0022."""
    judge = JudgeSettings(base_url=URL, model="m", prompt_price=2, cached_prompt_price=0.5, completion_price=8)
    assert judge.cost(1000, 100, 400) == pytest.approx(0.0022)
    dear = JudgeSettings(base_url=URL, model="m", prompt_price=2, completion_price=8)
    assert dear.cost(1000, 100, 400) == pytest.approx(0.0028)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "neither a model nor a deployment"),
        ({"model": ""}, "at least 1 character"),
        ({"model": "m", "base_url": "dial.example.com"}, "base_url"),
        ({"model": "m", "prompt_price": 1}, "belong together"),
        ({"model": "m", "budget_per_day": 5}, "a budget needs prices"),
        ({"model": "m", "allow_unpriced": True, "budget_per_hour": 5}, "a budget needs prices"),
        ({"model": "m", "cached_prompt_price": 1}, "cached_prompt_price needs"),
        ({"model": "m", "prompt_price": -1, "completion_price": 1}, "greater than or equal to 0"),
        ({"model": "m", "concurrency": 0}, "greater than or equal to 1"),
        ({"model": "m", "tempreature": 0}, "not permitted"),
    ],
)
def test_settings_that_cannot_work_are_refused(given: dict[str, Any], message: str) -> None:
    """A judge that could not be called, or not be counted, is an error when the settings are read."""
    with pytest.raises(ValidationError, match=message):
        EvaluatorSettings(judges={"strict": {"base_url": URL} | given})
