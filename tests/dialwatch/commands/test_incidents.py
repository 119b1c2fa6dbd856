"""`dialwatch incidents`: what is open, and who looks after it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.incidents.log import read_incidents
from monitor.notify.texts.alert import summary
from tests.commands import dialwatch
from tests.monitor.notify.test_notifier import transition


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Two incidents of rag, of which the first is over, and one of other."""
    lake = Lake(str(tmp_path / "lake"))
    now = datetime.now(UTC)
    row = {"deployment": "rag", "requested_at": now, "date": now.date(), "kind": "chat_completion"}
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows([row]))
    store = AlertStore(lake)
    steps = [transition(), transition("resolved", 2), transition(hour=3), transition(hour=4, metric="n")]
    for minutes, step in enumerate((*steps, transition(deployment="other"))):
        store.record([step], now - timedelta(minutes=10 - minutes))
    return lake


def test_open_incidents_are_listed_with_their_metrics_and_all_on_demand(lake: Lake) -> None:
    open_ones = dialwatch("incidents", "list", "--lake", lake.root).stdout
    assert [one.deployment for one in read_incidents(lake) if one.incident_id[:12] in open_ones] == ["rag", "other"]
    assert "whether the judge or anything else changed is undecided" in open_ones
    every = dialwatch("incidents", "list", "--all", "--lake", lake.root).stdout
    assert all(one.incident_id[:12] in every for one in read_incidents(lake))
    only = dialwatch("incidents", "list", "--deployment", "other", "--lake", lake.root).stdout
    assert "rag" not in only
    none = dialwatch("incidents", "list", "--deployment", "none", "--lake", lake.root)
    assert none.stdout == "no incident is open\n"


def test_an_incident_is_shown_with_the_text_of_its_messages_and_its_worst_answer(lake: Lake) -> None:
    """One that is over, too."""
    newest, over = (one for one in read_incidents(lake) if one.deployment == "rag")
    done = dialwatch("incidents", "show", newest.incident_id[:8], "--lake", lake.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert "still open" in done.stdout
    for alert in newest.alerts:
        assert summary(alert) in done.stdout
    assert "Since: about " in done.stdout
    assert "Cause: " in done.stdout
    assert "Look at" not in done.stdout
    assert f"dialwatch show answer-1 --lake {lake.root}\n" in done.stdout
    assert "closed at" in dialwatch("incidents", "show", over.incident_id, "--lake", lake.root).stdout
    refused = dialwatch("incidents", "show", "nothing", "--lake", lake.root)
    assert (refused.returncode, "there is no incident" in refused.stderr) == (2, True)


def test_an_incident_is_acknowledged_by_the_beginning_of_its_id(lake: Lake) -> None:
    newest, over = (one for one in read_incidents(lake) if one.deployment == "rag")
    arguments = ("incidents", "acknowledge", newest.incident_id[:8], "--comment", "I look", "--lake", lake.root)
    done = dialwatch(*arguments, "--who", "ada")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"incident {newest.incident_id[:12]} of rag is acknowledged by ada\n"
    acknowledged = read_incidents(lake)[0].acknowledged
    assert acknowledged is not None
    assert (acknowledged.who, acknowledged.comment) == ("ada", "I look")
    assert "ada" in dialwatch("incidents", "list", "--lake", lake.root).stdout
    for written, said in ((over.incident_id, "was over"), ("nothing", "no incident"), ("", "no incident")):
        refused = dialwatch("incidents", "acknowledge", written, "--lake", lake.root)
        assert refused.returncode == 2
        assert said in refused.stderr
