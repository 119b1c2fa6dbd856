"""`dialwatch demo`: the whole of dialwatch in one process, on a simulated day of traffic that it writes to a log."""

from __future__ import annotations

import base64
import logging
import secrets
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from heapq import merge
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from rich.console import Console

from collector.pipeline.collector import Collector
from dialwatch.config import Settings
from dialwatch.demo.agent import Outage, agent_traffic
from dialwatch.demo.checks import ScoredAnswers, all_told, check_all, check_tool
from dialwatch.demo.display import Display
from dialwatch.demo.receiver import WebhookReceiver
from dialwatch.demo.replays import run_agent_replays, run_replays
from dialwatch.demo.traffic import Plan, TrafficLine, make_plan, make_traffic
from dialwatch.services import running
from dialwatch.services.collecting import collecting
from dialwatch.services.ending import wait_for_signal
from dialwatch.services.evaluating import evaluating
from dialwatch.services.heartbeats import ProcessParts
from dialwatch.serving.addresses import free_address, is_free
from lake.spec.service_vocabulary import ServicePart
from lake.tables.lake import Lake

SEED = 7
DAY = timedelta(hours=16)
DROP_BEFORE_END = timedelta(hours=5)
TOOL_BREAKS_BEFORE_END, TOOL_MENDED_BEFORE_END = timedelta(hours=8), timedelta(hours=5)
WRITING_SECONDS = 15.0
GIVE_UP_SECONDS = 120.0
QUIET_SECONDS = 3.0
POLL_SECONDS = 0.2
TELL_SECONDS = 30.0
USUAL_ADDRESS = "127.0.0.1:9464"
_LEAST_WAIT_SECONDS = 0.05


def run_demo(*, once: bool, keep: Path | None) -> int:
    """Run the demo; returns the exit code: 0 if each stage did its work and just the planted regression was found.

    With `once` it ends by itself, else it serves its pages until Ctrl+C. Logs and lake are in the new folder `keep`,
    or in one that is gone at the end.
    """
    for name in (None, "apscheduler"):
        logging.getLogger(name).setLevel(logging.ERROR)
    with ExitStack() as stack:
        folder = keep.absolute() if keep else Path(stack.enter_context(TemporaryDirectory(prefix="dialwatch-")))
        (folder / "logs").mkdir(parents=True)
        now = datetime.now(UTC)
        drop_at = now - DROP_BEFORE_END
        display = Display(Console())
        display.say(f"DIAL Core writes a simulated day of four applications to {folder / 'logs'}")
        outage = Outage(now - TOOL_BREAKS_BEFORE_END, now - TOOL_MENDED_BEFORE_END)
        agent = agent_traffic(SEED, now - DAY, now, outage)
        traffic = list(merge(make_traffic(SEED, now - DAY, now, drop_at), agent, key=attrgetter("at")))
        plan = make_plan(traffic, drop_at)

        secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
        receiver = stack.enter_context(WebhookReceiver(secret, display.delivered))
        settings = _settings(folder, receiver.url, secret)
        lake = settings.lake.open()
        parts = ProcessParts(lake, [part for part in ServicePart if part is not ServicePart.UPKEEP])
        stack.enter_context(parts.running())
        collector = stack.enter_context(collecting(settings, lake, parts[ServicePart.COLLECTOR]))
        stack.enter_context(evaluating(settings, lake, parts))
        url = stack.enter_context(running.monitoring(settings, lake, parts=parts))
        log = folder / "logs" / f"aidial-{now:%Y-%m-%d}.0.log"
        with CoreLog(log, traffic, DAY.total_seconds() / WRITING_SECONDS) as core, display:
            _watch(display, plan, outage, core, collector, lake)
        display.say("The liked answers that are cases by now are asked again, of the applications whole and broken")
        replayed = [run_replays(lake, plan.degraded_deployment), run_agent_replays(lake)]
        _wait_until_told(lake)
        checks = [
            *check_all(plan, collector.totals, lake, receiver.received),
            check_tool(outage, lake, receiver.received),
            *replayed,
        ]
        display.checked(checks)
        display.say("It served, while it ran:" if once else "Serving until Ctrl+C:")
        display.say(f"overview  {url}/\nmetrics   {url}/metrics\nhealth    {url}/healthz\nlake      {lake.root}")
        if not once:
            wait_for_signal()
    return 0 if all(check.passed for check in checks) else 1


def _settings(folder: Path, webhook: str, secret: str) -> Settings:
    address = USUAL_ADDRESS if is_free(USUAL_ADDRESS) else free_address()
    return Settings.model_validate(
        {
            "lake": {"root": str(folder / "lake")},
            "collector": {"files": {"paths": [str(folder / "logs")], "poll_seconds": POLL_SECONDS}, "flush_seconds": 1},
            "evaluator": {"every": 1, "context_grace": 0},
            "monitor": {
                "listen": address,
                "external_url": f"http://{address}/",
                "refresh_seconds": 1,
                "currency": "USD",
                "regression": {
                    "batch": timedelta(minutes=15),
                    "reference_observations": 50,
                    "reference_time": timedelta(0),
                    "tolerance": 0.05,
                },
                # The replays at the end ask an application that is broken on purpose.
                "limits": {"replay": False},
                "webhooks": [{"name": "demo receiver", "url": webhook, "secret": secret}],
                "internal_hosts": ["127.0.0.1"],
                "group_seconds": 0,
            },
        }
    )


def _watch(display: Display, plan: Plan, outage: Outage, core: CoreLog, collector: Collector, lake: Lake) -> None:
    """Show what happens until all is done and nothing more has come for a while, or until it takes too long."""
    scored = ScoredAnswers(lake)
    planted = [
        (outage.begins, lambda: display.tool_broke(outage)),
        (plan.drop_at, lambda: display.dropped(plan.degraded_deployment, plan.drop_at)),
    ]
    quiet_since = give_up = time.monotonic() + GIVE_UP_SECONDS
    while (now := time.monotonic()) < min(give_up, quiet_since + QUIET_SECONDS):
        totals, answers = collector.totals, scored.count()
        note = f"{totals.stored} rows, {totals.signals} signals, {totals.rejected} unreadable"
        display.stage("lines arriving", core.written, plan.lines)
        display.stage("lines stored", totals.lines, plan.entries, note)
        display.stage("answers scored", min(answers, plan.answers), plan.answers)
        while planted and core.now is not None and core.now >= planted[0][0]:
            planted.pop(0)[1]()
        done = core.written == plan.lines and answers >= plan.answers and all_told(lake)
        quiet_since = min(quiet_since, now) if done else give_up
        time.sleep(POLL_SECONDS)


def _wait_until_told(lake: Lake) -> None:
    """Wait for the messages of what was found while the replays ran, at most `TELL_SECONDS`."""
    give_up = time.monotonic() + TELL_SECONDS
    while not all_told(lake) and time.monotonic() < give_up:
        time.sleep(POLL_SECONDS)


class CoreLog:
    """Appends lines to a file at the pace of their own times, `speed` times as fast.

    A machine that cannot keep that up takes longer. `written` is the number of lines in the file, `now` the time of
    the last of them.
    """

    def __init__(self, path: Path, traffic: Sequence[TrafficLine], speed: float) -> None:
        self.written = 0
        self.now: datetime | None = None
        self._path = path
        self._traffic = traffic
        self._speed = speed
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write, name="core's log", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _write(self) -> None:
        began, first = time.monotonic(), self._traffic[0].at
        with self._path.open("ab", buffering=0) as file:
            for line in self._traffic:
                due = began + (line.at - first).total_seconds() / self._speed
                if due > time.monotonic() + _LEAST_WAIT_SECONDS and self._stop.wait(due - time.monotonic()):
                    return
                file.write(line.raw + b"\n")
                self.now = line.at
                self.written += 1
