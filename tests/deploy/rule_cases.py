"""Series that go through the alert rules, and whether they fire."""

from __future__ import annotations

from dataclasses import dataclass

from tests.deploy.rule_series import (
    BUILD,
    COLLECTOR,
    COMMITTED,
    ERRORS,
    EVALUATIONS,
    EVALUATOR,
    FAILING,
    HEALTHY,
    LAG,
    MONITOR,
    REFRESH_AGE,
    REFRESHED,
    SKIPPED,
    SKIPS,
    TIERS,
    floor,
    last_line,
    lines,
    started,
    tier,
)


@dataclass(frozen=True)
class Case:
    """Series with a value a minute, the rule that is asked after so many hours, and whether it fires."""

    alert: str
    series: dict[str, str]
    fires: bool
    hours: int = 2
    severity: str = ""
    """Of the rule that is asked, where several have the alert's name."""
    is_known: bool = True
    """Whether Prometheus can know which installation it is about."""


CASES = [
    Case("DialwatchLinesUnaccounted", {f"dialwatch_unaccounted_lines{MONITOR}": "0x100 1x20"}, True),
    Case("DialwatchLinesUnaccounted", {f"dialwatch_collector_unaccounted_lines{COLLECTOR}": "0x100 -2x20"}, True),
    Case(
        "DialwatchLinesUnaccounted",
        {
            f"dialwatch_unaccounted_lines{MONITOR}": "0x120",
            f"dialwatch_collector_unaccounted_lines{COLLECTOR}": "0x120",
        },
        False,
    ),
    Case("DialwatchCollectorDown", {f"up{COLLECTOR}": "1x110 0x10"}, True),
    Case("DialwatchCollectorDown", {f"up{COLLECTOR}": "1x117 0x3"}, False),
    Case("DialwatchCollectorDown", {f"up{COLLECTOR}": "1x120"}, False),
    Case("DialwatchEvaluatorDown", {f"up{EVALUATOR}": "1x100 0x20"}, True),
    Case("DialwatchEvaluatorDown", {f"up{EVALUATOR}": "1x112 0x8"}, False),
    Case("DialwatchEvaluatorDown", {f"up{EVALUATOR}": "1x120"}, False),
    Case("DialwatchCollectorAbsent", {COMMITTED: "0+60x80", lines("stored"): "0+5x80 400x40"}, True),
    Case("DialwatchCollectorAbsent", {COMMITTED: "0+60x80"}, True),
    Case("DialwatchCollectorAbsent", {COMMITTED: "0+60x120"}, False),
    # None of a setup's collectors has metrics, whether lines come or not; or one without them goes on alone.
    Case("DialwatchCollectorAbsent", {f"up{MONITOR}": "1x120"}, False),
    Case("DialwatchCollectorAbsent", {f"up{MONITOR}": "1x120", lines("stored"): "0+5x120"}, False),
    Case("DialwatchCollectorAbsent", {f"up{MONITOR}": "1x120", lines("stored"): "400x120"}, False),
    Case("DialwatchCollectorAbsent", {COMMITTED: "0+60x80", lines("stored"): "0+5x120"}, False),
    # Its name was changed, or it had none, as before an update.
    *(
        Case(
            "DialwatchCollectorAbsent",
            {COMMITTED.replace("{", f'{{installation="{before}",'): "0+60x60 _x60", COMMITTED: "_x60 3600+60x60"},
            False,
        )
        for before in ("before", "")
    ),
    Case("DialwatchCollectorAbsent", {COMMITTED.replace("{", '{installation="",'): "0+60x80"}, False),
    # No line ever, or none any more; one that came lately, one that may still come, and one that another process got.
    Case("DialwatchSourceWithoutInput", {last_line("a"): "0x120", started("a"): "60x120"}, True),
    Case("DialwatchSourceWithoutInput", {last_line("a"): "3000x120", started("a"): "60x120"}, True),
    Case("DialwatchSourceWithoutInput", {last_line("a"): "4000x120", started("a"): "60x120"}, False),
    Case("DialwatchSourceWithoutInput", {last_line("a"): "0x120", started("a"): "4000x120"}, False),
    Case(
        "DialwatchSourceWithoutInput",
        {last_line("a"): "0x120", started("a"): "60x120", last_line("b"): "0+60x120", started("b"): "60x120"},
        False,
    ),
    Case(
        "DialwatchCollectorStuck",
        {
            f"dialwatch_collector_commit_age_seconds{COLLECTOR}": "0+60x120",
            f"dialwatch_collector_open_batch_lines{COLLECTOR}": "3x120",
        },
        True,
    ),
    Case(
        "DialwatchCollectorStuck",
        {
            f"dialwatch_collector_commit_age_seconds{COLLECTOR}": "0+60x120",
            f"dialwatch_collector_open_batch_lines{COLLECTOR}": "0x120",
            f"dialwatch_collector_lag_messages{LAG}": "7x120",
        },
        True,
    ),
    Case(
        "DialwatchCollectorStuck",
        {
            f"dialwatch_collector_commit_age_seconds{COLLECTOR}": "0+60x120",
            f"dialwatch_collector_open_batch_lines{COLLECTOR}": "0x120",
            f"dialwatch_collector_lag_messages{LAG}": "0x120",
        },
        False,
    ),
    Case(
        "DialwatchCollectorStuck",
        {
            f"dialwatch_collector_commit_age_seconds{COLLECTOR}": "30x120",
            f"dialwatch_collector_open_batch_lines{COLLECTOR}": "3x120",
        },
        False,
    ),
    Case(
        "DialwatchCollectorLag",
        {
            f"dialwatch_collector_lag_seconds{MONITOR}": "3600x120",
            f"dialwatch_collector_last_commit_timestamp_seconds{MONITOR}": "0+60x120",
        },
        True,
    ),
    Case(
        "DialwatchCollectorLag",
        {
            f"dialwatch_collector_newest_request_age_seconds{COLLECTOR}": "3600x120",
            f"dialwatch_collector_lag_messages{LAG}": "9x120",
        },
        True,
    ),
    Case(
        "DialwatchCollectorLag",
        {
            # Nobody asks anything: what was late once is not late for ever.
            f"dialwatch_collector_lag_seconds{MONITOR}": "3600x120",
            f"dialwatch_collector_last_commit_timestamp_seconds{MONITOR}": "60x120",
            f"dialwatch_collector_newest_request_age_seconds{COLLECTOR}": "0+60x120",
            f"dialwatch_collector_lag_messages{LAG}": "0x120",
        },
        False,
    ),
    Case("DialwatchMessagesMissed", {f"dialwatch_collector_missed_messages_total{COLLECTOR}": "0x100 7x20"}, True),
    Case("DialwatchMessagesMissed", {f"dialwatch_collector_missed_messages_total{COLLECTOR}": "7x120"}, False),
    Case("DialwatchRejectedLines", {lines("stored"): "0+90x120", lines("rejected"): "0+10x120"}, True),
    Case("DialwatchRejectedLines", {lines("stored"): "0+1000x120", lines("rejected"): "0+1x120"}, False),
    Case("DialwatchRejectedLines", {lines("stored"): "5x120", lines("rejected"): "9x120"}, False),
    Case("DialwatchRejectedLines", {lines("stored"): "0+0.5x120", lines("rejected"): "0+0.1x120"}, False),
    Case("DialwatchMonitorDown", {f"up{MONITOR}": "1x110 0x10"}, True),
    Case("DialwatchMonitorDown", {f"up{MONITOR}": "1x80", BUILD: "1x80"}, True),
    Case(
        "DialwatchMonitorDown",
        {
            f"up{MONITOR}": "1x80",
            BUILD: "1x80",
            f"up{MONITOR.replace('m:', 'n:')}": "1x120",
            BUILD.replace("m:", "n:"): "_x80 1x40",
        },
        False,
    ),
    *(
        Case(
            "DialwatchMonitorDown",
            {
                f"up{MONITOR}": "1x120",
                BUILD.replace("{", f'{{installation="{before}",'): "1x60 _x60",
                BUILD: "_x60 1x60",
            },
            False,
        )
        for before in ("before", "")
    ),
    Case("DialwatchMonitorDown", {f"up{COLLECTOR}": "1x120"}, True, is_known=False),
    Case("DialwatchMonitorDown", {f"up{MONITOR}": "1x120"}, False),
    Case("DialwatchInstallationNotUnique", {BUILD: "1x120", BUILD.replace("m:", "n:"): "1x120"}, True),
    Case("DialwatchInstallationNotUnique", {BUILD: "1x120", BUILD.replace("m:", "n:"): "_x90 1x30"}, False),
    Case("DialwatchInstallationNotUnique", {BUILD: "1x120"}, False),
    Case(
        "DialwatchMonitorFailing",
        {'dialwatch_monitor_failures_total{job="dialwatch",instance="m:9464",reason="scores"}': "0+1x120"},
        True,
    ),
    Case(
        "DialwatchMonitorFailing",
        {'dialwatch_monitor_failures_total{job="dialwatch",instance="m:9464",reason="scores"}': "7x100 8x20"},
        False,
    ),
    Case("DialwatchMonitorStale", {REFRESHED: "60x120"}, True),
    Case("DialwatchMonitorStale", {REFRESHED: "0+60x120", REFRESH_AGE: "15x120"}, False),
    # It hangs, and its clock was set back or forward: the age that its clock shows is small, or negative.
    Case("DialwatchMonitorStale", {REFRESHED: "0+60x120", REFRESH_AGE: "15x100 60+60x20"}, True),
    Case("DialwatchMonitorStale", {REFRESHED: "3500+60x120", REFRESH_AGE: "15x120"}, False),
    Case("DialwatchMonitorStale", {REFRESHED: "3700+60x120", REFRESH_AGE: "15x120"}, True),
    *(
        case
        for alert, page in (("DialwatchPartFailing", True), ("DialwatchBackgroundPartFailing", False))
        for part in ("collector", "webhooks", "monitor", "evaluator", "upkeep")
        for case in (
            Case(alert, {HEALTHY.format(part): "1x100 0x20"}, page is (part not in ("evaluator", "upkeep"))),
            Case(alert, {HEALTHY.format(part): "1x112 0x8"}, False),
            Case(alert, {HEALTHY.format(part): "0x100 1x20"}, False),
            # It was stopped, as somebody asked, or its host was forgotten.
            Case(alert, {HEALTHY.format(part): "1x100"}, False),
        )
    ),
    Case("DialwatchClocksApart", {f"dialwatch_collector_lag_seconds{MONITOR}": "-3700x120"}, True),
    Case("DialwatchClocksApart", {f"dialwatch_collector_newest_request_age_seconds{COLLECTOR}": "-4000x120"}, True),
    Case("DialwatchClocksApart", {f"dialwatch_collector_last_commit_timestamp_seconds{MONITOR}": "4000+60x120"}, True),
    Case(
        "DialwatchClocksApart",
        {'dialwatch_evaluation_last_success_timestamp_seconds{deployment="a"}': "4000+60x120"},
        True,
    ),
    Case(
        "DialwatchClocksApart",
        {
            f"dialwatch_collector_lag_seconds{MONITOR}": "0x120",
            f"dialwatch_collector_newest_request_age_seconds{COLLECTOR}": "5000x120",
            f"dialwatch_collector_last_commit_timestamp_seconds{MONITOR}": "3500+60x120",
            'dialwatch_evaluation_last_success_timestamp_seconds{deployment="a"}': "60x120",
        },
        False,
    ),
    Case(
        "DialwatchEvaluatorStale",
        {
            'dialwatch_evaluation_last_success_timestamp_seconds{deployment="a"}': "4000+60x120",
            lines("stored"): "0+5x120",
        },
        True,
    ),
    Case(
        "DialwatchEvaluatorStale",
        {
            'dialwatch_evaluation_last_success_timestamp_seconds{deployment="a"}': "60x120",
            'dialwatch_evaluation_last_success_timestamp_seconds{deployment="b"}': "120x120",
            lines("stored"): "0+5x120",
        },
        True,
    ),
    Case(
        "DialwatchEvaluatorStale",
        {
            'dialwatch_evaluation_last_success_timestamp_seconds{deployment="a"}': "60x120",
            'dialwatch_evaluation_last_success_timestamp_seconds{deployment="b"}': "0+60x120",
            lines("stored"): "0+5x120",
        },
        False,
    ),
    Case(
        "DialwatchEvaluatorStale",
        {
            'dialwatch_evaluation_last_success_timestamp_seconds{deployment="a"}': "60x120",
            lines("stored"): "5x120",
        },
        False,
    ),
    # A third of the evaluations give no score, and a day ago it was a twentieth, or a third too; few are no share.
    Case("DialwatchUnscored", {EVALUATIONS: "0+60x1560", SKIPS: "0+3x1440 4323+20x120"}, True, hours=26),
    Case("DialwatchUnscored", {EVALUATIONS: "0+60x1560", SKIPS: "0+20x1560"}, False, hours=26),
    Case("DialwatchUnscored", {EVALUATIONS: "0+1x1560", SKIPS: "0x1440 0+1x120"}, False, hours=26),
    Case("DialwatchJudgeBudgetSpent", {'dialwatch_judge_budget_remaining{judge="j"}': "5x100 0x20"}, True),
    Case("DialwatchJudgeBudgetSpent", {SKIPPED.format("judge_budget"): "0+1x120"}, True),
    Case(
        "DialwatchJudgeBudgetSpent",
        {'dialwatch_judge_budget_remaining{judge="j"}': "5x120", SKIPPED.format("judge_budget"): "0x110 10x10"},
        False,
    ),
    Case("DialwatchJudgeAway", {SKIPPED.format("judge_timeout"): "0+1x120"}, True),
    Case(
        "DialwatchJudgeAway", {SKIPPED.format("judge_budget"): "0+1x120", SKIPPED.format("no_answer"): "0+9x120"}, False
    ),
    Case("DialwatchWebhookDisabled", {'dialwatch_webhook_disabled{receiver="team"}': "0x110 1x10"}, True),
    Case("DialwatchWebhookDisabled", {'dialwatch_webhook_disabled{receiver="team"}': "0x120"}, False),
    Case("DialwatchWebhooksFailing", {FAILING: "0x100 1x20"}, True),
    Case("DialwatchWebhooksFailing", {FAILING: "0x115 1x5"}, False),
    # It ends when it ends.
    Case("DialwatchWebhooksFailing", {FAILING: "1x118 0x2"}, False),
    *(
        Case("DialwatchRegression", tier("0x110 1x10", "0x110 1x10"), severity == "page", 2, severity)
        for severity in TIERS
    ),
    *(
        Case("DialwatchRegression", tier("0x110 1x10", "0x120"), severity == "warning", 2, severity)
        for severity in TIERS
    ),
    *(Case("DialwatchRegression", tier("1x110 0x10", "1x110 0x10"), False, 2, severity) for severity in TIERS),
    Case("DialwatchAlertWithoutReceiver", {f"dialwatch_alerts_without_receiver{MONITOR}": "0x100 1x20"}, True),
    Case("DialwatchAlertWithoutReceiver", {f"dialwatch_alerts_without_receiver{MONITOR}": "0x118 1x2"}, False),
    Case("DialwatchAlertWithoutReceiver", {f"dialwatch_alerts_without_receiver{MONITOR}": "0x120"}, False),
    Case("DialwatchReplayRegression", {'dialwatch_replay_regression{deployment="a"}': "0x110 1x10"}, True),
    Case("DialwatchReplayRegression", {'dialwatch_replay_regression{deployment="a"}': "1x110 0x10"}, False),
    Case("DialwatchFloor", {f"dialwatch_floor_active{ERRORS}": "0x110 1x10"}, True),
    Case("DialwatchFloor", {f"dialwatch_floor_active{ERRORS}": "1x110 0x10"}, False),
    Case("DialwatchNearFloor", floor("0.2x120", "0x120"), True),
    # Below half the limit, near it for half an hour only, and where it has been passed, which is another alert.
    Case("DialwatchNearFloor", floor("0.1x120", "0x120"), False),
    Case("DialwatchNearFloor", floor("0.1x90 0.2x30", "0x120"), False),
    Case("DialwatchNearFloor", floor("0.4x120", "1x120"), False),
    # Of either tier: by the application's fault, by the judge's alone, and by the judge of another metric.
    *(
        Case(
            "DialwatchRegression",
            tier("1x120", "1x120" if severity == "page" else "0x120")
            | {f'dialwatch_regression_verdict{{deployment="a",metric="{metric}",verdict="{verdict}"}}': "1x120"},
            fires,
            2,
            severity,
        )
        for severity in TIERS
        for metric, verdict, fires in (("m", "system", True), ("m", "judge", False), ("n", "judge", True))
    ),
    Case("DialwatchMeanLimit", {'dialwatch_score_mean_limit_exceeded{deployment="a",metric="m"}': "0x60 1x60"}, True),
    Case("DialwatchMeanLimit", {'dialwatch_score_mean_limit_exceeded{deployment="a",metric="m"}': "0x120"}, False),
    Case(
        "DialwatchJudgeDrift",
        {
            'dialwatch_judge_drift_active{deployment="a",metric="m"}': "0x110 1x10",
            'dialwatch_judge_drift{deployment="a",metric="m"}': "-0.2x120",
        },
        True,
    ),
    Case("DialwatchJudgeDrift", {'dialwatch_judge_drift_active{deployment="a",metric="m"}': "1x120"}, True),
    Case(
        "DialwatchJudgeDrift",
        {
            'dialwatch_judge_drift_active{deployment="a",metric="m"}': "0x120",
            'dialwatch_judge_drift{deployment="a",metric="m"}': "-0.2x120",
        },
        False,
    ),
]


RECORDED = {
    "dialwatch:lines_rejected:ratio_increase1h": (
        {lines("stored"): "0+90x120", lines("rejected"): "0+10x120"},
        {},
        0.1,
    ),
    "dialwatch:evaluations_unscored:ratio_increase1h": ({EVALUATIONS: "0+60x120", SKIPS: "0+15x120"}, {}, 0.25),
    "deployment:dialwatch_regression_active:sum": (
        {f'dialwatch_regression_active{{deployment="a",metric="{metric}"}}': "1x120" for metric in "mn"},
        {"deployment": "a"},
        2,
    ),
    "instance:dialwatch_installation:last1w": (
        {f"process_start_time_seconds{MONITOR}": "100x30"},
        {"instance": "production-m:9464", "job": "dialwatch"},
        1,
    ),
}
"""By name of the recording rule: series, and the further labels and the value that it has after two hours."""
