"""A monitor that is killed at random, and a receiver that fails at random: nothing is lost, ids stay the same."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lake.tables.lake import Lake
from monitor.alerting.alerts.store import AlertStore
from monitor.detect.regression import StreamKey, Transition
from monitor.notify.notifier import Notifier
from monitor.notify.settings import WebhookSettings
from tests.killing import kill, start
from tests.monitor.notify.test_notifier import reading
from tests.servers import wait_for

pytestmark = pytest.mark.integration
STREAMS = 5


def live(root: str, webhook: WebhookSettings, number: int, base: datetime) -> None:
    """One life of a monitor: it records all that was found so far, as after reading the scores again, and delivers."""
    seen = reading()

    def transitions() -> Iterator[Transition]:
        for found in range(number + 1):
            for change, nth in (("firing", found), ("resolved", found - 2)):
                at = base + timedelta(seconds=10 * nth + (5 if change == "resolved" else 0))
                for metric in ("m", "n") if nth >= 0 else ():
                    yield Transition(StreamKey(f"d{nth % STREAMS}", metric, "1"), change, at, seen, ())

    book = AlertStore(Lake(root))
    notifier = Notifier([webhook], book, internal_hosts=["127.0.0.1"], group=timedelta(seconds=0.2))
    with notifier.running():
        book.record(list(transitions()), datetime.now(UTC))
        notifier.wake()
        threading.Event().wait()


class FailingReceiver:
    """Keeps what it accepted and what else came; until it is `well` it refuses, hangs up, and accepts in silence."""

    def __init__(self, generator: random.Random) -> None:
        self.ids: dict[str, set[str]] = defaultdict(set)
        self.accepted: set[str] = set()
        self.failures = 0
        self.well = False
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                changes = [data["change_id"] for data in body["data"]]
                for change in changes:
                    receiver.ids[change].add(self.headers["webhook-id"])
                way = "accept" if receiver.well else generator.choice(["accept", "accept", "refuse", "hang up", "late"])
                if way == "hang up":
                    receiver.failures += 1
                    return
                if way == "refuse":
                    receiver.failures += 1
                    self.send_response(503)
                    self.end_headers()
                    return
                if way == "late":
                    time.sleep(0.2)
                receiver.accepted.update(changes)
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                """A sender that was killed is no news."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()


@pytest.fixture
def generator() -> random.Random:
    return random.Random(20261121)


@pytest.fixture
def failing(generator: random.Random) -> Iterator[FailingReceiver]:
    receiver = FailingReceiver(generator)
    yield receiver
    receiver.server.shutdown()
    receiver.thread.join()
    receiver.server.server_close()


@pytest.mark.parametrize("kills", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_every_change_arrives_under_one_id_whatever_is_killed_whenever(
    lake: Lake, failing: FailingReceiver, generator: random.Random, secret: str, kills: int
) -> None:
    """After kills at random moments each change has one row, was accepted, and came under one webhook-id."""
    base = datetime.now(UTC)
    webhook = WebhookSettings.model_validate({"name": "pager", "url": failing.url, "secret": secret})
    for life in range(kills):
        process = start(live, lake.root, webhook, life, base)
        time.sleep(generator.uniform(0, 1.5))
        assert kill(process)
    failing.well = True
    last = start(live, lake.root, webhook, kills, base)
    expected = 2 * (kills + 1) + 2 * (kills - 1)
    try:
        wait_for(lambda: len([c for c in AlertStore(lake).changes() if c.change == "delivered"]) >= expected, 120)
    finally:
        kill(last)
    changes = AlertStore(lake).changes()
    begun_or_over = [change for change in changes if change.change in ("firing", "resolved")]
    ids = {change.change_id for change in begun_or_over}
    assert len(begun_or_over) == len(ids) == expected
    assert ids == failing.accepted
    assert sorted(c.delivery_of or "" for c in changes if c.change == "delivered") == sorted(ids)
    assert all(len(failing.ids[change]) == 1 for change in ids)
