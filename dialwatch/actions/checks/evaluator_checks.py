"""Checks of the evaluator: that the models of its metrics are on this machine, and that its judges answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from urllib.parse import urlsplit

import httpx
import pandas as pd

from dialwatch.actions.checks.finding import Finding, failed, guarded, skipped, well
from evaluator import EvaluatorSettings
from evaluator.judge_binding import asks_judge
from evaluator.judges import JudgeSettings
from evaluator.metrics import Metric, ModelUnavailableError
from lake.spec.vocabulary import Origin, origin_headers

_SECONDS = 10.0


def check_models(settings: EvaluatorSettings) -> list[Finding]:
    """Load the model of each metric that has one; metrics without one, and those of judges, need nothing."""
    metrics = [one for name in (None, *settings.deployments) for one in settings.chosen_metrics(name or "")]
    local = {metric.name: metric for metric in metrics if not asks_judge(metric)}
    found = [finding for name, metric in local.items() for finding in _loaded(name, metric)]
    if any(one.verdict == "FAILED" for one in found):
        return found
    return [well("models", f"{len(local)} metrics run on this machine")] if local else []


def _loaded(name: str, metric: Metric) -> list[Finding]:
    try:
        metric.score(pd.DataFrame({column: [] for column in metric.needs}))
    except ModelUnavailableError as error:
        return [failed("models", f"{name} cannot run: {error}")]
    return []


def check_judges(settings: EvaluatorSettings) -> list[Finding]:
    """Ask each judge's endpoint about its model, which costs nothing; no prompt is sent."""
    found = [
        finding
        for name, judge in settings.judges.items()
        for finding in (
            *_small_budgets(name, judge),
            *guarded("judges", partial(_judge, name, judge), f"check evaluator.judges.{name}.base_url"),
        )
    ]
    return found or [skipped("judges", "none is configured")]


def _small_budgets(name: str, judge: JudgeSettings) -> Iterator[Finding]:
    """Name budgets that a call of this judge may exceed alone, so that none is ever made."""
    least = judge.cost(0, judge.max_tokens)
    for setting, budget in (("budget_per_hour", judge.budget_per_hour), ("budget_per_day", judge.budget_per_day)):
        if budget is not None and budget < least:
            yield failed(
                "judges",
                f"{name} is never asked: a reply of max_tokens may cost {least:g}, and {setting} is {budget:g}: raise "
                f"evaluator.judges.{name}.{setting}, or lower max_tokens",
            )


def _judge(name: str, judge: JudgeSettings) -> list[Finding]:
    key = judge.api_key.get_secret_value() if judge.api_key else None
    address = judge.base_url.rstrip("/")
    if judge.deployment is None:
        address, parameters = f"{address}/models", {}
        headers = {"Authorization": f"Bearer {key}"} if key else {}
    else:
        address, parameters = f"{address}/openai/deployments/{judge.deployment}", {"api-version": judge.api_version}
        headers = origin_headers(Origin.JUDGE) | ({"api-key": key} if key else {})
    where = f"{name} at {urlsplit(address).hostname}"
    try:
        status = httpx.get(address, params=parameters, headers=headers, timeout=_SECONDS).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        text = (
            f"{where} does not answer ({type(error).__name__}): check evaluator.judges.{name}.base_url and the network"
        )
        return [failed("judges", text)]
    if status in (401, 403):
        return [failed("judges", f"{where} refuses the key ({status}): check evaluator.judges.{name}.api_key_file")]
    if status >= 500:
        return [failed("judges", f"{where} answers {status}: look at the endpoint")]
    if status >= 300:
        text = f"{where} answers, and does not list its models ({status}): the first call shows whether it has this one"
        return [well("judges", text)]
    return [well("judges", f"{where} answers and takes the key")]
