"""The evaluator as a service: passes every so many seconds over the deployments that are assigned to it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from dialwatch.config import Settings
from dialwatch.services.evaluator_metrics import PassMeter
from dialwatch.services.heartbeats import ProcessParts
from dialwatch.services.probes import serving_probes
from dialwatch.services.replaying import replaying
from dialwatch.services.schedule import Schedule
from evaluator.service.group import GROUP_HEARTBEAT_SECONDS, LOOK_SECONDS, EvaluatorGroup
from evaluator.service.passes import Evaluator
from lake.spec.heartbeat import HEARTBEAT_SECONDS
from lake.spec.service_vocabulary import ServicePart, StoreUser
from lake.store.request_metrics import StoreRequests
from lake.store.store_errors import without_rows
from lake.tables.lake import Lake
from runtime.durations import duration

logger = logging.getLogger(__name__)


@contextmanager
def evaluating(
    settings: Settings,
    lake: Lake,
    parts: ProcessParts,
    stop: threading.Event | None = None,
    shown: Collection[StoreUser] = tuple(StoreUser),
) -> Iterator[None]:
    """Score what is new, every so many seconds, and run the replays, until the block ends or `stop` is set.

    `parts` are those of this process. Where other evaluators run on the same lake, they share its deployments, and a
    pass begins as soon as one of them comes or goes. Its own `/metrics` has the requests to a store of the parts in
    `shown`.
    """
    lake = lake.used_by(StoreUser.EVALUATOR)
    stop, part = stop or threading.Event(), parts[ServicePart.EVALUATOR]
    group = EvaluatorGroup(lake, part.run)
    chosen, meter = settings.evaluator, PassMeter(group, lake.installation)
    meter.registry.register(StoreRequests(shown))
    evaluator = Evaluator(lake, chosen, monotonic=time.monotonic, group=group)

    def evaluate() -> str | None:
        with meter.measured() as note:
            failures = note(evaluator.run_once(stop.is_set)).failures
        return f"{len(failures)} deployments were not evaluated" if failures else None

    passes = Schedule(part.watching("pass", evaluate), chosen.every, stop, of="the evaluator")

    def look() -> str | None:
        try:
            is_changed = group.look()
        except Exception as error:  # passes go on with the group as it was
            return f"the heartbeats of other evaluators cannot be read: {without_rows(error)}"
        if is_changed:
            parts.beat_every(GROUP_HEARTBEAT_SECONDS if group.size > 1 else HEARTBEAT_SECONDS)
            passes.wake()
        return None

    look_and_note = part.watching("look at other evaluators", look)
    # Before the first pass: who else is there is known then.
    look_and_note()
    with (
        serving_probes(chosen.metrics_listen, "evaluator.metrics_listen", meter.registry, part),
        Schedule(look_and_note, LOOK_SECONDS, stop, of="the looks at other evaluators"),
        replaying(settings, lake, stop, part, group.is_assigned),
        passes,
    ):
        logger.info("evaluating every %s", duration(chosen.every))
        try:
            yield
        finally:
            # First of all: the end of the schedule waits for a pass, and that for its judge.
            stop.set()
            evaluator.close()
