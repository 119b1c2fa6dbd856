"""`dialwatch silence`: what a person types at night, and what a running monitor makes of it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lake.spec.root_tables import SILENCES
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.controls.silences import read_silences
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.commands import Done, dialwatch
from tests.monitor.conftest import Clock
from tests.monitor.notify.test_notifier import transition
from tests.servers import wait_for

HOUR = timedelta(hours=1)
SECRET = "whsec_" + "A" * 44


class Receiver(ThreadingHTTPServer):
    """Keeps what comes, and answers `status`."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.status = 204
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.bodies.append(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(receiver.status)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake that knows one deployment, rag."""
    lake = Lake(str(tmp_path / "lake"))
    now = datetime.now(UTC)
    row = {"deployment": "rag", "requested_at": now, "date": now.date(), "kind": "chat_completion"}
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows([row]))
    return lake


@pytest.fixture
def silence(lake: Lake) -> Callable[..., Done]:
    return lambda *arguments: dialwatch("silence", *arguments, "--lake", lake.root)


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime.now(UTC))


@pytest.fixture
def start(lake: Lake, receiver: Receiver, clock: Clock) -> Callable[[], Monitor]:
    """Gives a monitor of the lake with the receiver, as after a restart."""
    webhook = {"name": "pager", "url": f"http://127.0.0.1:{receiver.server_port}/", "secret": SECRET}
    settings = MonitorSettings(webhooks=[webhook], internal_hosts=["127.0.0.1"], group_seconds=0)
    return lambda: Monitor(lake, settings, clock)


def send_due(monitor: Monitor, clock: Clock) -> None:
    """Read the lake once, and send the messages that are due."""
    monitor.refresh()
    monitor._notifier.run_due(clock.now)


def fire(monitor: Monitor, clock: Clock, **key: str) -> AlertChange:
    (change,) = monitor._alerts.record([transition(**key)], clock.now)
    return change


def resolve(monitor: Monitor, clock: Clock) -> None:
    assert monitor._alerts.record([transition("resolved", 2)], clock.now)


def rows(lake: Lake, kind: str) -> list[AlertChange]:
    return [change for change in AlertStore(lake).changes() if change.change == kind]


def test_a_silence_holds_back_in_a_monitor_that_runs(
    lake: Lake, silence: Callable[..., Done], start: Callable[[], Monitor], receiver: Receiver, clock: Clock
) -> None:
    """From its next look on, until the end; then the receiver gets what still fires."""
    monitor = start()
    monitor.refresh()
    assert silence("add", "--deployment", "rag", "--for", "3h", "--comment", "new index").returncode == 0
    fire(monitor, clock)
    fire(monitor, clock, deployment="other")
    for _ in range(2):
        send_due(monitor, clock)
        clock.advance(hours=1)
    assert len(receiver.bodies) == 1
    assert b"other" in receiver.bodies[0]
    (row,) = rows(lake, "silenced")
    assert row.reason is not None
    assert row.reason.startswith("silenced until")
    assert row.reason.endswith("new index")
    clock.advance(hours=2)
    send_due(monitor, clock)
    assert len(receiver.bodies) == 2


def test_what_is_over_before_the_silence_is_not_sent(
    lake: Lake, silence: Callable[..., Done], start: Callable[[], Monitor], receiver: Receiver, clock: Clock
) -> None:
    """Also after a restart in the silence and another after it."""
    silence("add", "--deployment", "rag", "--metric", "m", "--for", "3h")
    fire(start(), clock)
    send_due(start(), clock)
    clock.advance(hours=1)
    monitor = start()
    monitor.refresh()
    resolve(monitor, clock)
    send_due(monitor, clock)
    clock.advance(hours=4)
    send_due(start(), clock)
    assert receiver.bodies == []
    assert len(rows(lake, "silenced")) == 2


def test_a_monitor_that_starts_sends_nothing_before_it_has_read_the_silences(
    silence: Callable[..., Done], start: Callable[[], Monitor], receiver: Receiver, clock: Clock
) -> None:
    """What waits to be sent since before a restart waits for the first look at the table, then for the silence."""
    silence("add", "--deployment", "rag", "--for", "3h")
    fire(start(), clock)
    monitor = start()
    assert monitor._notifier.run_due(clock.now) is None
    assert receiver.bodies == []
    send_due(monitor, clock)
    assert receiver.bodies == []


def test_the_end_of_a_silence_sends_at_once_what_still_fires(
    lake: Lake, silence: Callable[..., Done], start: Callable[[], Monitor], receiver: Receiver, clock: Clock
) -> None:
    """By a monitor whose threads run; the table says when and why it was ended."""
    silence("add", "--all", "--for", "8h")
    monitor = start()
    change = fire(monitor, clock)
    with monitor.sending_webhooks():
        monitor.refresh()
        wait_for(lambda: rows(lake, "silenced"))
        assert receiver.bodies == []
        done = silence("end", "1")
        assert (done.returncode, done.stdout) == (0, "silence 1 of everything is over; what still fires is sent\n")
        clock.now = datetime.now(UTC)
        monitor.refresh()
        wait_for(lambda: rows(lake, "delivered"))
    assert len(receiver.bodies) == 1
    held, ended = rows(lake, "silenced")
    assert held.details.until is not None
    assert held.details.until > clock.now > (ended.details.until or clock.now)
    assert ended.reason is not None
    assert "before its time" in ended.reason
    assert ended.delivery_of == held.delivery_of == change.change_id


@pytest.mark.parametrize("is_down", [False, True])
def test_an_alert_that_ends_after_the_silence_was_ended_is_sent_whole(
    silence: Callable[..., Done], start: Callable[[], Monitor], receiver: Receiver, clock: Clock, is_down: bool
) -> None:
    """Though the silence was to last longer, and though the receiver, or the monitor, was down in between."""
    silence("add", "--deployment", "rag", "--for", "8h")
    monitor = start()
    fire(monitor, clock)
    send_due(monitor, clock)
    silence("end", "1")
    receiver.status = 503
    clock.advance(hours=1)
    if not is_down:
        send_due(monitor, clock)
    monitor = start()
    resolve(monitor, clock)
    receiver.status, seen = 204, len(receiver.bodies)
    send_due(monitor, clock)
    send_due(start(), clock)
    firing, resolved = receiver.bodies[seen:]
    assert b'"status":"firing"' in firing
    assert b'"status":"resolved"' in resolved


def test_a_silence_that_still_holds_goes_on_where_another_is_ended(
    lake: Lake, silence: Callable[..., Done], start: Callable[[], Monitor], receiver: Receiver, clock: Clock
) -> None:
    """The end that counts is the one that was said last, also when it was said before."""
    silence("add", "--deployment", "rag", "--for", "3h")
    monitor = start()
    fire(monitor, clock)
    send_due(monitor, clock)
    silence("add", "--metric", "m", "--for", "12h")
    clock.advance(minutes=1)
    send_due(monitor, clock)
    silence("end", "2")
    clock.advance(minutes=1)
    send_due(monitor, clock)
    first, second, third = (row.details.until for row in rows(lake, "silenced"))
    assert len({row.change_id for row in rows(lake, "silenced")}) == 3
    assert all((row.reason or "").startswith("silenced until") for row in rows(lake, "silenced"))
    assert first == third
    assert second is not None
    assert first is not None
    assert second > first
    assert receiver.bodies == []
    clock.advance(hours=4)
    resolve(monitor, clock)
    send_due(start(), clock)
    assert len(receiver.bodies) == 2


def test_a_table_that_cannot_be_read_holds_no_message_back(
    lake: Lake, silence: Callable[..., Done], start: Callable[[], Monitor], receiver: Receiver, clock: Clock
) -> None:
    """The silences that were known go on, also where all is read again; a monitor that starts has none, and says so."""
    silence("add", "--deployment", "rag", "--for", "3h")
    lake.table(PARSED_LOGS, "gone").append(PARSED_LOGS.rows([{"deployment": "gone", "date": clock.now.date()}]))
    monitor = start()
    fire(monitor, clock)
    monitor.refresh()
    silence("end", "1")
    log = Path(lake.table(SILENCES).uri) / "_delta_log" / f"{2:020}.json"
    whole = log.read_bytes()
    log.write_text("not a commit")
    shutil.rmtree(Path(lake.root) / "gone")
    send_due(monitor, clock)
    assert receiver.bodies == []
    other = start()
    send_due(other, clock)
    assert len(receiver.bodies) == 1
    assert "read__silences failed" in other.health().problems[0]
    log.write_bytes(whole)
    clock.now = datetime.now(UTC)
    raised = transition(metric="n")
    monitor._alerts.record([replace(raised, reading=replace(raised.reading, tier="page"))], clock.now)
    send_due(monitor, clock)
    assert len(receiver.bodies) == 2
    assert monitor.health().problems == ()


def test_upkeep_of_the_table_changes_no_silence(
    lake: Lake, silence: Callable[..., Done], start: Callable[[], Monitor], clock: Clock
) -> None:
    """Merged files, a shorter log and an erased comment: for a monitor that runs, for one that starts, and for ids."""
    monitor = start()
    monitor.refresh()
    for comment in ("stranger-7 complains", "", ""):
        silence("add", "--deployment", "rag", "--for", "8h", "--comment", comment)
    silence("end", "2")
    monitor.refresh()
    assert dialwatch("lake", "compact", "--lake", lake.root).returncode == 0
    assert "_silences" in dialwatch("lake", "erase", "--user", "stranger-7", "--lake", lake.root).stdout
    silence("add", "--all", "--for", "1h")
    ends = {number: one.until for number, one in read_silences(lake).items()}
    assert sorted(ends) == [1, 2, 3, 4]
    clock.now = datetime.now(UTC)
    for one in (monitor, start()):
        one.refresh()
        assert one.health().problems == ()
        assert one.snapshot is not None
        assert sorted(s.until for s in one.snapshot.silences) == sorted([ends[1], ends[3], ends[4]])
    assert lake.table(SILENCES).read(["comment"])["comment"].drop_null().unique().to_pylist() == [""]


def test_a_silence_is_listed_until_it_ends(lake: Lake, silence: Callable[..., Done], tmp_path: Path) -> None:
    """By its id, the first to end first, with those of the configuration; ending it twice says when it was over."""
    assert silence("list").stdout == "nothing is silenced\n"
    added = silence("add", "--deployment", "rag", "--metric", "errors", "--for", "8h", "--comment", " [red]known\n[/] ")
    assert "silence 1 holds back alerts of errors of rag until" in added.stdout
    assert f"dialwatch silence end 1 --lake {lake.root}" in added.stdout
    silence("add", "--all", "--for", "30m")
    config = tmp_path / "dialwatch.yaml"
    config.write_text(
        f"lake: {{root: {lake.root}}}\nmonitor: {{silences: [{{metric: no_data, until: 2126-01-01T00:00:00Z}}]}}\n"
    )
    listed = dialwatch("silence", "list", "-c", config).stdout
    lines = [line.split("│") for line in listed.splitlines() if line.startswith("│")]
    assert [line[1].strip() for line in lines] == ["2", "1", "config"]
    assert lines[1][-2].strip() == "[red]known [/]"
    assert silence("end", "1").returncode == 0
    again = silence("end", "1")
    assert again.returncode == 0
    assert "was over already" in again.stdout
    assert "errors" not in silence("list").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["add", "--deployment", "rag"], "say once when it ends"),
        (["add", "--deployment", "rag", "--for", "8h", "--until", "2126-12-01T08:00:00Z"], "say once when it ends"),
        (["add", "--deployment", "rag", "--for", "8"], "'8' is no such time: write it as 30m, 8h or 2d"),
        (["add", "--deployment", "rag", "--for", "0h"], "'0h' is no such time"),
        (["add", "--deployment", "rag", "--for", f"{10**15}d"], "is no such time"),
        (["add", "--deployment", "rag", "--until", "2025-12-01T08:00:00Z"], "2025-12-01T08:00:00Z is past"),
        (["add", "--deployment", "rag", "--until", "2126-12-01T08:00:00"], "has no zone: write it as"),
        (["add", "--deployment", "rag", "--until", "9999-12-31T23:59:59-05:00"], "is no time"),
        (["add", "--deployment", "rag", "--until", "tomorrow"], "'tomorrow' is no time"),
        (["add", "--for", "8h"], "or --all for everything"),
        (["add", "--deployment", "", "--for", "8h"], "--deployment: it is empty"),
        (["add", "--all", "--metric", "m", "--for", "8h"], "--all: it silences everything"),
        (["add", "--all", "--for", "8h", "--comment", "a\x1b[2Jb"], "'a\\x1b[2Jb' holds a control character"),
        (["add", "--deployment", "rag\udc80", "--for", "8h"], "holds a control character"),
        (["end", "7"], "there is no silence '7'; those that hold and can be ended: none"),
        (["end", "config"], "there is no silence 'config'"),
    ],
)
def test_bad_input_says_what_was_wrong(
    lake: Lake, silence: Callable[..., Done], arguments: list[str], said: str
) -> None:
    """With the value and what to write instead; exit code 2, and nothing is silenced."""
    done = silence(*arguments)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())
    assert read_silences(lake) == {}


def test_names_that_nothing_has_are_taken_with_a_note(lake: Lake, silence: Callable[..., Done]) -> None:
    """A silence may be for what comes; another name of a metric becomes the one that alerts have."""
    done = silence("add", "--deployment", "rga", "--metric", "no_dat", "--for", "8h")
    assert done.returncode == 0
    assert "the lake has no deployment 'rga' yet" in done.stdout
    assert "no metric or limit of the name 'no_dat' is known here; did you mean 'no_data'?" in done.stdout
    assert [(s.deployment, s.metric) for s in read_silences(lake).values()] == [("rga", "no_dat")]


def test_a_mistyped_lake_is_refused(tmp_path: Path) -> None:
    """No table is made where nobody looks."""
    done = dialwatch("silence", "add", "--all", "--for", "8h", "--lake", tmp_path / "typo")
    assert done.returncode == 2
    assert "is that the lake's root?" in done.stderr
    assert not (tmp_path / "typo").exists()


def test_silences_added_at_the_same_time_have_ids_of_their_own(lake: Lake, silence: Callable[..., Done]) -> None:
    """None is lost."""
    from monitor.alerting.controls.silences import Silence, add_silence

    now = datetime.now(UTC)
    threads = [
        threading.Thread(target=lambda: add_silence(Lake(lake.root), Silence(until=now + HOUR), now)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read_silences(lake)) == [1, 2, 3, 4]
