"""Rows of the dashboard about people, traffic and the tools of agents."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as build

from deploy.grafana.expressions import AT, DEPLOYMENT, INTERVAL, changed, highest
from deploy.grafana.panels import chart
from lake.spec.vocabulary import Origin, Signal

_PEOPLE = f'{DEPLOYMENT}, origin="{Origin.PRODUCTION}"'


def add_people(board: build.Dashboard) -> None:
    """Add the row of what people think of answers."""
    board.with_row(build.Row("People"))
    signals = f"sum by (deployment, signal) (increase(dialwatch_signals_total{{{DEPLOYMENT}}}[1h]{AT}))"
    board.with_panel(
        chart(
            "Signals an hour",
            "Likes, dislikes and other signs of what people thought of an answer.",
            changed(signals, "deployment, signal", "{{deployment}} {{signal}}", others="sum"),
            "short",
            width=12,
        )
    )
    rated = f'{DEPLOYMENT}, signal=~"{Signal.LIKE}|{Signal.DISLIKE}"'
    disliked = f'{DEPLOYMENT}, signal="{Signal.DISLIKE}"'
    share = " / ".join(
        f"sum by (deployment) (increase(dialwatch_signals_total{{{labels}}}[1h]{AT}))" for labels in (disliked, rated)
    )
    board.with_panel(
        chart(
            "Share of dislikes",
            "Of the ratings of the last hour.",
            changed(share, "deployment", "{{deployment}}"),
            "percentunit",
            width=12,
        )
        .min(0)
        .max(1)
    )


def add_agents(board: build.Dashboard) -> None:
    """Add the row of the tools that answers call."""
    board.with_row(build.Row("Agents"))
    by_tool, legend = "deployment, tool", "{{deployment}} {{tool}}"
    calls = f"sum by ({by_tool}) (rate(dialwatch_tool_calls_total{{{DEPLOYMENT}}}[{INTERVAL}]{AT}))"
    board.with_panel(
        chart(
            "Calls of tools",
            "A second, by tool, in the turns of answers that people asked for.",
            changed(calls, by_tool, legend, others="sum"),
            "reqps",
            stacked=True,
        )
    )
    failed, known = (
        f"sum by ({by_tool}) (increase(dialwatch_tool_calls_total{{{DEPLOYMENT}, outcome{outcome}}}[1h]{AT}))"
        for outcome in ('="error"', '!="unknown"')
    )
    board.with_panel(
        chart(
            "Share of calls that failed",
            "Of the calls of a tool in the last hour of which the log says whether they failed.",
            highest(f"{failed} / {known}", by_tool, legend),
            "percentunit",
        )
        .min(0)
        .max(1)
    )
    steps = " / ".join(
        f"sum by (deployment) (increase({counted}[1h]{AT}))"
        for counted in (
            f"dialwatch_tool_calls_total{{{DEPLOYMENT}}}",
            f"dialwatch_responses_total{{{_PEOPLE}}}",
        )
    )
    board.with_panel(
        chart(
            "Steps an answer",
            "Calls of tools for each request to the deployment in the last hour: an agent that takes more steps than "
            "usual may call the same again and again.",
            changed(steps, "deployment", "{{deployment}}"),
            "short",
        )
    )


def add_traffic(board: build.Dashboard) -> None:
    """Add the row of requests, tokens and costs."""
    board.with_row(build.Row("Traffic"))
    charts = (
        (
            "Responses",
            "A second, by HTTP status, of people alone, without evaluations and tests. Calls that applications make to "
            "models are counted at the model.",
            f"rate(dialwatch_responses_total{{{_PEOPLE}}}[{INTERVAL}]{AT})",
            "status",
            "reqps",
        ),
        (
            "Tokens",
            "A second, those of evaluations and tests too. An application's tokens include those of the models it "
            "calls, so the sum counts them twice.",
            f"rate(dialwatch_tokens_total{{{DEPLOYMENT}}}[{INTERVAL}]{AT})",
            "direction",
            "short",
        ),
        (
            "Cost an hour",
            "Price of each deployment's own calls, those of evaluations and tests too, in the currency of DIAL's price "
            "table. Nothing is counted twice.",
            f"increase(dialwatch_cost_total{{{DEPLOYMENT}}}[1h]{AT})",
            "origin",
            "short",
        ),
        (
            "Cost of answers an hour",
            "Price of each deployment's answers with all calls that these took, in the currency of DIAL's price table: "
            "what an application costs. A model's part is in the other chart too.",
            f"increase(dialwatch_entry_cost_total{{{DEPLOYMENT}}}[1h]{AT})",
            "origin",
            "short",
        ),
    )
    for title, description, expression, label, unit in charts:
        by = f"deployment, {label}"
        queries = changed(f"sum by ({by}) ({expression})", by, f"{{{{deployment}}}} {{{{{label}}}}}", others="sum")
        board.with_panel(chart(title, description, queries, unit, width=12, stacked=title != "Tokens"))
