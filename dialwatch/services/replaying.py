"""Replays: what a deployment answers is read as the collector reads it, and runs come every so often."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime

from collector.parsing import read_completion
from dialwatch.config import Settings
from dialwatch.services.heartbeats import Part
from dialwatch.services.schedule import Schedule
from evaluator.metrics import is_of_conversations
from evaluator.replays import DialDeployment, ReplayRun, Reply, last_run_at, replay
from evaluator.service.judge_pool import JudgePool
from lake.spec.case_vocabulary import ReplayVerdict
from lake.store.store_errors import log_failure
from lake.tables.lake import Lake

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 60.0


def read_reply(body: bytes) -> Reply:
    """Read the body of DIAL's response with status 200."""
    found = read_completion(body)
    return Reply(
        answer=found.answer,
        response_id=found.response_id,
        contexts=found.contexts,
        error=found.error,
        cited_only=found.cited_only,
        prompt_tokens=found.prompt_tokens,
        completion_tokens=found.completion_tokens,
        tool_calls=found.tool_calls,
    )


def run_replay(
    settings: Settings, lake: Lake, name: str, is_stopping: Callable[[], bool] = lambda: False, *, accept: bool = False
) -> ReplayRun | None:
    """Ask the accepted cases of a deployment again; None where there is nothing to ask, or it is cut off.

    Raises KeyError where no key is set for the deployment, ValueError where no address is.
    """
    chosen = settings.evaluator
    deployment = DialDeployment(name, chosen.replay, read_reply)
    metrics = [metric for metric in chosen.chosen_metrics(name) if not is_of_conversations(metric)]
    with closing(JudgePool(chosen, lake)) as pool:
        judge = None if chosen.replay.preference is None else pool.judge(chosen.replay.preference)
        return replay(
            lake,
            name,
            deployment,
            chosen.replay,
            metrics,
            accept=accept,
            judge=judge,
            families=settings.monitor.families,
            is_stopping=is_stopping,
        )


@contextmanager
def replaying(
    settings: Settings, lake: Lake, stop: threading.Event, part: Part, is_assigned: Callable[[str], bool]
) -> Iterator[None]:
    """Run the replays of each deployment every `evaluator.replay.every`, until the block ends or `stop` is set.

    Those that are not assigned to this process are left to another evaluator.

    When the last run was stands in the lake, so a start does not run them again.
    """
    every = settings.evaluator.replay.every
    if every is None:
        yield
        return

    def look() -> str | None:
        own = filter(is_assigned, settings.evaluator.replay.deployments)
        failed = [name for name in own if not _run_if_due(settings, lake, name, stop)]
        return f"{len(failed)} deployments were not replayed" if failed else None

    with Schedule(part.watching("replay", look), min(every, _LOOK_SECONDS), stop, of="the replays"):
        yield


def _run_if_due(settings: Settings, lake: Lake, name: str, stop: threading.Event) -> bool:
    every = settings.evaluator.replay.every or 0.0
    try:
        last = last_run_at(lake, name)
        if last is not None and (datetime.now(UTC) - last).total_seconds() < every:
            return True
        run = run_replay(settings, lake, name, stop.is_set)
    except Exception as error:  # what is wrong with one deployment is not wrong with the others
        log_failure(logger, error, "the cases of deployment %r were not asked again", name, extra={"deployment": name})
        return False
    if run is not None:
        _log(run)
    return run is None or run.verdict != ReplayVerdict.INCOMPLETE


def _log(run: ReplayRun) -> None:
    text = "replay %s of deployment %r: %s; %d cases asked, %d without an answer"
    is_bad = run.verdict in (ReplayVerdict.REGRESSION, ReplayVerdict.TOO_FEW, ReplayVerdict.INCOMPLETE)
    level = logging.WARNING if is_bad else logging.INFO
    logger.log(
        level, text, run.run_id, run.deployment, run.verdict, len(run.rows), run.errors,
        extra={"deployment": run.deployment},
    )  # fmt: skip
