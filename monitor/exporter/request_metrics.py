"""Metrics of requests: responses, signals, tokens and costs of each deployment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from prometheus_client.core import Metric

from lake.spec.vocabulary import Origin
from monitor.detect.stats.requests import RequestStats
from monitor.exporter.metric_families import counter, gauge
from monitor.service.snapshot import DeploymentState, Snapshot

_Requests = Sequence[tuple[str, str, RequestStats]]
"""Deployment, origin and stats."""


def request_metrics(deployments: Mapping[str, DeploymentState]) -> Iterator[Metric]:
    """Yield responses, tokens and costs by origin, and the signals of production."""
    requests = [
        (name, origin, one)
        for name, state in deployments.items()
        for origin, one in ((Origin.PRODUCTION.value, state.requests), *state.other_requests.items())
        if one.total
    ]
    yield _responses(requests)
    yield _signals(deployments)
    yield _tool_calls(deployments)
    yield _tokens(requests)
    yield from _costs(requests)


def _responses(requests: _Requests) -> Metric:
    return counter(
        "dialwatch_responses_total",
        "Requests of every kind that DIAL answered, by HTTP status and by what made them: production, which alone the "
        "pages, scores and limits are about, evaluation, replay, judge or test.",
        (((name, origin, status), number) for name, origin, t in requests for status, number in t.responses.items()),
        "deployment",
        "origin",
        "status",
    )


def _signals(deployments: Mapping[str, DeploymentState]) -> Metric:
    return counter(
        "dialwatch_signals_total",
        "Signs of what people thought of an answer: like, dislike, regenerate and so on; labels are not counted.",
        (
            ((name, signal), number)
            for name, state in deployments.items()
            for signal, number in state.requests.signals.items()
        ),
        "deployment",
        "signal",
    )


def _tool_calls(deployments: Mapping[str, DeploymentState]) -> Metric:
    return counter(
        "dialwatch_tool_calls_total",
        "Calls of tools in the turns of a deployment that people asked for, by tool and by outcome: ok, error, "
        "or unknown where nothing in the log says whether the call failed.",
        (
            ((name, tool, outcome), number)
            for name, state in deployments.items()
            for tool, calls in state.requests.tools.items()
            for outcome, number in (("ok", calls.ok), ("error", calls.errors), ("unknown", calls.unknown))
        ),
        "deployment",
        "tool",
        "outcome",
    )


def unjoined_metric(snapshot: Snapshot) -> Metric:
    """Return the signals that are joined with no answer."""
    return gauge(
        "dialwatch_unjoined_signals",
        "Signals of the last 7 days that are joined with no answer and so count for none: no answer in the log has "
        "their id (unknown_id), several have it and none of them is of their conversation or person (shared_id), or "
        "they have no id and neither has an answer of their conversation or person (no_id). Counted once an hour.",
        (
            ((name, reason), float(number))
            for name, counts in snapshot.unjoined.items()
            for reason, number in counts.by_reason.items()
        ),
        "deployment",
        "reason",
    )


def _tokens(requests: _Requests) -> Metric:
    directions = [
        ((name, origin, direction), number)
        for name, origin, t in requests
        for direction, number in (("prompt", t.prompt_tokens), ("completion", t.completion_tokens))
    ]
    return counter(
        "dialwatch_tokens_total",
        "Tokens read (prompt) and written (completion). An application's include those of the models it called, so "
        "a sum over deployments counts them twice.",
        directions,
        "deployment",
        "origin",
        "direction",
    )


def _costs(requests: _Requests) -> Iterator[Metric]:
    yield counter(
        "dialwatch_cost_total",
        "Price of the deployment's own calls, without the calls that it made in turn, in the currency of DIAL's "
        "price table. Sums over deployments count nothing twice.",
        (((name, origin), t.own_cost) for name, origin, t in requests),
        "deployment",
        "origin",
    )
    yield counter(
        "dialwatch_entry_cost_total",
        "Price of the deployment's answers to people with all calls that these took, in the currency of DIAL's price "
        "table: what an application costs. What it shares with dialwatch_cost_total of the models it calls is the same "
        "money.",
        (((name, origin), t.entry_cost) for name, origin, t in requests),
        "deployment",
        "origin",
    )
