"""Pool of the judges of a service: one client, its file of calls, and the pace of their budgets."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from evaluator.answers import CoreFiles, QuestionImages
from evaluator.judge_binding import Jury, asks_judge, judges_of_all, with_judges
from evaluator.judges.dry_run import COMPLETION_TOKENS
from evaluator.metrics import Metric
from evaluator.sampling import PROMPT_TOKENS, BudgetPacing, Sampling, allowance
from evaluator.scoring import ScoreCounts
from evaluator.service.group import Alone, Group
from evaluator.settings import EvaluatorSettings

if TYPE_CHECKING:
    from evaluator.judges.blocking_client import BoundJudge, JudgeClient
    from evaluator.judges.budget_ledger import BudgetLedger
    from evaluator.judges.calls import Calls, ForgottenReplies
    from evaluator.judges.shared_replies import SharedReplies
    from lake.tables.lake import Lake

logger = logging.getLogger(__name__)

GRACE_SECONDS = 20.0
"""For calls under way when the service ends: orchestrators kill after 30."""

_ZERO = timedelta(0)
"""Less than that has passed where the clock was set back: then nothing waits for its old time."""
_PRUNE_EVERY = timedelta(hours=1)
_PRUNE_SHARED_EVERY = timedelta(days=1)
_SECONDS_A_DAY = 86400.0


class JudgeCallsError(OSError):
    """The file of the judges' calls cannot be used; the message says which and what to do."""


class JudgePool:
    """Gives metrics the judge that they ask. No file of calls is opened as long as no metric asks one.

    `lake` is where budgets are kept for evaluators of all machines, and replies where the settings share them. Without
    it budgets hold for those who use the same file of calls. Evaluators of a `group` pace a budget together: each takes
    the same part of it.
    """

    def __init__(self, settings: EvaluatorSettings, lake: Lake | None = None, group: Group | None = None) -> None:
        self._settings = settings
        self._lake = lake
        self._group = group or Alone()
        self._path = settings.judge_calls.expanduser()
        self._client: JudgeClient | None = None
        self._budgets: BudgetLedger | None = None
        self._pacing: dict[str, BudgetPacing] = {}
        self._pruned: datetime | None = None
        self._pruned_shared: datetime | None = None
        self._closed = False

    def close(self) -> None:
        """Let the calls under way end; those that wait fail. From any thread."""
        self._closed = True
        if self._client is not None:
            self._client.close()

    def bound(self, metrics: Sequence[Metric], deployment: str | None = None) -> list[Metric]:
        """Return the metrics of a deployment, those that ask a judge with the one they ask.

        Raises ValueError where there is none, and JudgeCallsError.
        """
        if not any(map(asks_judge, metrics)):
            return list(metrics)
        self._settings.check_judge(metrics, deployment)
        names, combine = self._settings.jury_of(deployment)
        jury = Jury(tuple(map(self._opened().judge, names)), combine)
        return [with_judges(metric, jury) for metric in metrics]

    def judge(self, name: str) -> BoundJudge:
        """Return a judge by its name. Raises LookupError, and JudgeCallsError."""
        return self._opened().judge(name)

    def sampling(
        self, deployment: str, metrics: Sequence[Metric], answers: pa.Table, now: datetime, demand: str | None = None
    ) -> Sampling:
        """Return how likely new answers of a deployment are to be judged, from their number and their times.

        `demand` names what is asked about in them, where it is not the answers themselves; see `learn`.
        """
        settings = self._settings.sampling_of(deployment)
        judges = judges_of_all(metrics)
        if not judges or not answers.num_rows:
            return Sampling(settings)
        times = pc.min_max(answers["requested_at"]).as_py()
        seconds = max((times["max"] - times["min"]).total_seconds(), self._settings.every)
        demand, count = demand or deployment, answers.num_rows
        share = min(self._share(judge, demand, count, settings.rate, now, seconds) for judge in judges)
        return Sampling(settings, share)

    def _share(self, judge: BoundJudge, demand: str, answers: int, rate: float, now: datetime, seconds: float) -> float:
        with closing(self._calls()) as calls:
            money = allowance(judge.settings, self._spent(judge, calls, now), now, seconds) / self._group.size
            if judge.name not in self._pacing:
                cost = calls.averages(judge.name)[0] or _usual_cost(judge)
                self._pacing[judge.name] = BudgetPacing(cost, self._settings.every)
        share = self._pacing[judge.name].share(demand, answers, rate, money, now)
        if share < 1:
            logger.info("the budget of judge %r does for %.1f %% of the sample of %r", judge.name, 100 * share, demand)
        return share

    def _spent(self, judge: BoundJudge, calls: Calls, now: datetime) -> tuple[float, float]:
        """Return what the judge did cost this hour and this day, by evaluators of all machines."""
        hour, day = calls.spent(judge.name)
        settings = judge.settings
        if self._budgets is None or (settings.budget_per_hour is None and settings.budget_per_day is None):
            return hour, day
        reserved = self._budgets.reserved(judge.name, now)
        return max(hour, reserved[0]), max(day, reserved[1])

    def learn(self, demand: str, metrics: Sequence[Metric], counts: ScoreCounts) -> None:
        """Take in what judging took; `demand` is the deployment whose answers these are, or the word of `sampling`."""
        judges = [judge for judge in judges_of_all(metrics) if judge.name in self._pacing]
        answers, whole = counts.judged + counts.not_sampled, sum(map(_usual_cost, judges))
        for judge in judges:
            # What was paid is known of all together: each had about the part that its prices make.
            part = _usual_cost(judge) / whole if whole else 0.0
            cost = counts.spend.cost * part
            self._pacing[judge.name].learn(demand, answers, counts.expected, counts.judged, cost)

    def spent_today(self) -> dict[str, float]:
        """Return what each judge's calls did cost today (UTC), by any process; nothing where no metric asks one."""
        if self._client is None:
            return {}
        with closing(self._calls()) as calls:
            return {name: calls.spent(name)[1] for name in self._settings.judges}

    def prune(self, now: datetime) -> None:
        """Forget replies that are older than they may be.

        Those of the lake at most once a day, whether they are still shared or not. Those of the file of calls at most
        once an hour, and not before a metric asks a judge.
        """
        self._prune_shared(now)
        if self._client is None or (self._pruned is not None and _ZERO <= now - self._pruned < _PRUNE_EVERY):
            return
        with closing(self._calls()) as calls:
            calls.prune(self._settings.judge_calls_retention / _SECONDS_A_DAY)
        self._pruned = now

    def _prune_shared(self, now: datetime) -> None:
        if self._lake is None or (self._pruned_shared and _ZERO <= now - self._pruned_shared < _PRUNE_SHARED_EVERY):
            return
        self._pruned_shared = now
        shared = _shared_replies(self._lake)
        try:
            shared.forget(now - timedelta(seconds=self._settings.judge_calls_retention))
        except Exception as error:  # what the store refuses is no reason to score nothing
            from lake.store.store_errors import log_failure

            log_failure(logger, error, "old replies of judges are still in %s, and tried again in a day", shared.folder)

    def _opened(self) -> JudgeClient:
        from evaluator.judges.blocking_client import JudgeClient
        from evaluator.judges.budget_ledger import BudgetLedger

        if self._client is None:
            self._calls().close()
            shares = self._settings.share_judge_replies
            shared = _shared_replies(self._lake) if self._lake is not None and shares else None
            self._budgets = BudgetLedger(self._lake) if self._lake is not None else None
            judges, path = self._settings.judges, self._path
            self._client = JudgeClient(judges, path, grace=GRACE_SECONDS, shared=shared, budgets=self._budgets)
            if self._closed:
                self._client.close()
        return self._client

    def _calls(self) -> Calls:
        return opened_calls(self._path)


def question_images(settings: EvaluatorSettings) -> QuestionImages | None:
    """Return what finds the images of questions; None where no judge reads images."""
    return QuestionImages(CoreFiles(settings.images)) if settings.shows_images else None


def _usual_cost(judge: BoundJudge) -> float:
    return judge.settings.cost(PROMPT_TOKENS, COMPLETION_TOKENS)


def forget_replies(calls: Path) -> ForgottenReplies | None:
    """Forget all replies of judges that a file keeps; None where there is no such file.

    A reply may quote an answer, and does not say which: so an erasure forgets them all, which costs no more than new
    calls. Raises JudgeCallsError.
    """
    path = calls.expanduser()
    if not path.exists():
        return None
    with closing(opened_calls(path)) as opened:
        return opened.forget_replies()


def forget_shared_replies(lake: Lake) -> int:
    """Forget all replies of judges that workers share in the lake, and return how many. Raises what the store does."""
    return _shared_replies(lake).forget()


def _shared_replies(lake: Lake) -> SharedReplies:
    from evaluator.judges.shared_replies import SharedReplies

    return SharedReplies.of(lake)


def opened_calls(path: Path) -> Calls:
    """Open the file of calls; raises JudgeCallsError."""
    from evaluator.judges.calls import Calls

    try:
        return Calls(path)
    except (OSError, sqlite3.Error) as error:
        raise JudgeCallsError(
            f"{path}, where the calls of judges are kept, cannot be used: {error}; name a file on a local disk that "
            "the evaluator may write in evaluator.judge_calls"
        ) from None
