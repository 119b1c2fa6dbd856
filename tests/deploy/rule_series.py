"""Names of series that the alert rules read, and series as one installation of several has them."""

from __future__ import annotations

COLLECTOR = '{job="dialwatch-collector",instance="c:8080"}'
EVALUATOR = '{job="dialwatch-evaluator",instance="e:9465"}'
MONITOR = '{job="dialwatch",instance="m:9464"}'
LAG = '{job="dialwatch-collector",instance="c:8080",topic="t",partition="0"}'

COMMITTED = f"dialwatch_collector_committed_timestamp_seconds{COLLECTOR}"
TIERS = ("page", "warning")
EVALUATIONS = f"dialwatch_evaluations_total{MONITOR}"
SKIPPED = 'dialwatch_evaluation_skips_total{{job="dialwatch",instance="m:9464",reason="{}"}}'
SKIPS = 'dialwatch_evaluation_skips_total{job="dialwatch",instance="m:9464",reason="no_answer"}'
REFRESHED = f"dialwatch_monitor_last_refresh_timestamp_seconds{MONITOR}"
REFRESH_AGE = f"dialwatch_monitor_refresh_age_seconds{MONITOR}"
BUILD = f"dialwatch_build_info{MONITOR}"
FAILING = 'dialwatch_webhook_failing{receiver="team"}'
HEALTHY = 'dialwatch_part_healthy{{job="dialwatch",instance="m:9464",part="{}",host="h"}}'

ERRORS = '{deployment="a",floor="errors"}'


def of_installation(installation: str, series: dict[str, str]) -> dict[str, str]:
    """The series as one installation has them, on hosts of its own.

    `up` is Prometheus' own and has no such label; what the target exported before says whose it is.
    """
    found = {}
    for name, values in series.items():
        own = name.replace('instance="', f'instance="{installation}-')
        found[own if "installation=" in own or own.startswith("up{") else _labelled(own, installation)] = values
        if own.startswith("up{"):
            found[_labelled(own.replace("up{", "process_start_time_seconds{"), installation)] = "100x30"
    return found


def _labelled(series: str, installation: str) -> str:
    return series.replace("{", f'{{installation="{installation}",', 1)


def last_line(host: str) -> str:
    return f'dialwatch_source_last_line_timestamp_seconds{{job="dialwatch-collector",instance="{host}",source="kafka"}}'


def started(host: str) -> str:
    return f'process_start_time_seconds{{job="dialwatch-collector",instance="{host}"}}'


def lines(outcome: str) -> str:
    return f'dialwatch_lines_total{{job="dialwatch",instance="m:9464",outcome="{outcome}"}}'


def tier(active: str, page: str) -> dict[str, str]:
    """A regression, and whether its evidence is enough to wake someone."""
    stream = '{deployment="a",metric="m"}'
    return {f"dialwatch_regression_active{stream}": active, f"dialwatch_regression_page{stream}": page}


def floor(share: str, active: str) -> dict[str, str]:
    return {
        f"dialwatch_floor_share{ERRORS}": share,
        f"dialwatch_floor_limit{ERRORS}": "0.3x120",
        f"dialwatch_floor_active{ERRORS}": active,
    }
