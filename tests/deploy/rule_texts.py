"""What the alerts about quality say: with all that is known, and with the least."""

from __future__ import annotations

from dataclasses import dataclass

STREAM = '{deployment="a b",metric="m"}'
ERRORS = '{deployment="a b",floor="errors"}'
RUN = '{deployment="a b"}'
PAGES = {'dialwatch_pages_info{url="https://dialwatch.example"}': "1"}
PAGES_ELSEWHERE = {'dialwatch_pages_info{url="https://a.staging.example"}': "1"}
AT, IN_WORDS = "1790000000", "2026-09-21 14:13 UTC"


@dataclass(frozen=True)
class Text:
    """Values by series, and the summary with them; `least` are those without which the alert would not fire."""

    severity: str
    labels: dict[str, str]
    least: dict[str, str]
    more: dict[str, str]
    least_summary: str
    summary: str
    page: str = "deployment?name=a+b"

    @property
    def series(self) -> dict[str, str]:
        return {**self.least, **self.more}

    @property
    def link(self) -> str:
        return "https://dialwatch.example/" + self.page


_MEANS = {
    f"dialwatch_regression_mean{STREAM}": "0.612",
    f"dialwatch_score_mean{STREAM}": "0.36",
    f"dialwatch_score_reference_mean{STREAM}": "0.803",
    f"dialwatch_regression_since_timestamp_seconds{STREAM}": AT,
}
_OF_STREAM = {"deployment": "a b", "metric": "m"}

TEXTS = {
    "DialwatchRegression": Text(
        "page",
        _OF_STREAM,
        {f"dialwatch_regression_page{STREAM}": "1"},
        _MEANS,
        "a b got worse in m, beyond doubt",
        f"a b got worse in m, beyond doubt: now 0.61, before 0.80, since {IN_WORDS}",
    ),
    "DialwatchReplayRegression": Text(
        "warning",
        {"deployment": "a b"},
        {f"dialwatch_replay_regression{RUN}": "1"},
        {
            f"dialwatch_replay_pass_share{RUN}": "0.5",
            f"dialwatch_replay_last_run_timestamp_seconds{RUN}": AT,
        },
        "a b answers accepted cases worse than before",
        f"a b answers accepted cases worse than before: 50% agree with their case, asked {IN_WORDS}",
    ),
    "DialwatchFloor": Text(
        "page",
        {"deployment": "a b", "floor": "errors"},
        {f"dialwatch_floor_active{ERRORS}": "1"},
        {
            f"dialwatch_floor_share{ERRORS}": "0.52",
            f"dialwatch_floor_limit{ERRORS}": "0.3",
            f"dialwatch_floor_since_timestamp_seconds{ERRORS}": AT,
        },
        "a b has exceeded a fixed limit: errors",
        f"a b has exceeded a fixed limit: errors 52%, limit 30%, since {IN_WORDS}",
    ),
    "DialwatchNearFloor": Text(
        "warning",
        {"deployment": "a b", "floor": "errors"},
        {f"dialwatch_floor_share{ERRORS}": "0.2", f"dialwatch_floor_limit{ERRORS}": "0.3"},
        {},
        "a b has been near a limit for an hour: errors 20%, limit 30%",
        "a b has been near a limit for an hour: errors 20%, limit 30%",
    ),
    "DialwatchMeanLimit": Text(
        "page",
        _OF_STREAM,
        {f"dialwatch_score_mean_limit_exceeded{STREAM}": "1"},
        {f"dialwatch_score_mean_limit{STREAM}": "0.7"},
        "a b is worse than the limit that was set: the mean of m",
        "a b is worse than the limit that was set: the mean of m, limit 0.70",
    ),
    "DialwatchJudgeDrift": Text(
        "warning",
        _OF_STREAM,
        {f"dialwatch_judge_drift_active{STREAM}": "1"},
        {
            f"dialwatch_judge_drift{STREAM}": "-0.08",
            f"dialwatch_judge_drift_since_timestamp_seconds{STREAM}": AT,
        },
        "The judge of m scores answers of a b otherwise than before",
        f"The judge of m scores answers of a b otherwise than before: by -0.08, since {IN_WORDS}",
    ),
    "DialwatchJudgeAway": Text(
        "warning",
        {"reason": "judge_timeout"},
        {'dialwatch_evaluation_skips_total{reason="judge_timeout"}': "0+1"},
        {},
        "A judge does not answer: judge_timeout",
        "A judge does not answer: judge_timeout",
        page="",
    ),
}
