"""`dialwatch check` finds what `dialwatch up` refuses, and what would bring no line."""

from __future__ import annotations

import os
import re
import socket
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dialwatch.commands.check.finding import Finding, Verdict
from dialwatch.commands.check.lake_checks import check_lake
from dialwatch.commands.check.part_checks import check_sources
from dialwatch.commands.check.start_checks import check_start
from dialwatch.config import Settings
from dialwatch.errors import ConfigError
from dialwatch.services.running import all_services
from lake.spec.heartbeat import Heartbeat
from lake.spec.root_tables import SERVICES
from lake.spec.schemas import PARSED_LOGS
from lake.spec.service_vocabulary import ServicePart, ServiceState
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from tests.servers import free_port


def settings_of(folder: Path, **sections: Any) -> Settings:
    return Settings.model_validate({"lake": {"root": f"{folder}/lake"}, **sections})


def found_by_start(folder: Path, **sections: Any) -> list[Finding]:
    settings = settings_of(folder, **sections)
    found = check_start(settings, settings.lake.open())
    assert not (folder / "lake").exists()
    return found


def wrong_of(found: list[Finding]) -> list[tuple[str, str]]:
    return [(one.subject, one.text) for one in found if one.verdict is Verdict.FAILED]


def refusal_of_up(folder: Path, **sections: Any) -> str:
    with pytest.raises(ConfigError) as caught, all_services(settings_of(folder, **sections)):
        pass
    return str(caught.value)


def test_pages_for_others_without_access_fail(tmp_path: Path) -> None:
    """As `up` refuses them, in the same words."""
    sections = {"monitor": {"listen": f"0.0.0.0:{free_port()}"}}
    assert wrong_of(found_by_start(tmp_path, **sections)) == [("access", refusal_of_up(tmp_path, **sections))]


def test_an_address_that_another_program_has_fails_and_up_does_no_work(tmp_path: Path) -> None:
    """The setting is named, and nothing was begun: there is no lake."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(0)
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        for section, setting in (("monitor", "monitor.metrics_listen"), ("evaluator", "evaluator.metrics_listen")):
            sections = {section: {"metrics_listen": taken}, "monitor": {"listen": f"127.0.0.1:{free_port()}"}}
            sections[section] = sections[section] | {"metrics_listen": taken}
            refused = refusal_of_up(tmp_path, **sections)
            assert refused == f"{setting}: cannot listen on {taken}: Address already in use; choose another"
            assert not (tmp_path / "lake").exists()
    assert wrong_of(found_by_start(tmp_path, **sections)) == []


def test_two_settings_of_one_port_fail(tmp_path: Path) -> None:
    """Also where one of them is all addresses of the machine."""
    port = free_port()
    sections = {
        "collector": {"http": {"listen": f"127.0.0.1:{port}"}},
        "monitor": {"listen": f"0.0.0.0:{port}", "access": "none"},
    }
    [(subject, text)] = wrong_of(found_by_start(tmp_path, **sections))
    assert subject == "addresses"
    assert "monitor.listen: cannot listen on" in text
    assert "collector.http.listen has the same port" in text
    assert refusal_of_up(tmp_path, **sections).startswith("monitor.listen: cannot listen on")


def test_the_check_may_run_beside_the_services(tmp_path: Path) -> None:
    """Their addresses are taken by them; one that is no address is named."""
    sections = {"monitor": {"listen": f"127.0.0.1:{free_port()}"}}
    settings = settings_of(tmp_path, **sections)
    with all_services(settings):
        assert wrong_of(check_start(settings, settings.lake.open())) == []
    found = wrong_of(
        check_start(settings_of(tmp_path, evaluator={"metrics_listen": "localhost"}, **sections), Lake("x"))
    )
    assert [(subject, text.partition(":")[0]) for subject, text in found] == [("addresses", "evaluator.metrics_listen")]


def test_parts_that_cannot_begin_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the words in which `up` refuses them."""
    monkeypatch.setattr("collector.redaction.presidio.find_spec", lambda _: None)
    redaction = {"presidio": {"model": "en", "entities": ["PERSON"]}, "key": "0123456789abcdef"}
    sections = {
        "collector": {"redaction": redaction, "http": {"listen": f"127.0.0.1:{free_port()}"}},
        "monitor": {"listen": f"127.0.0.1:{free_port()}"},
    }
    [(subject, text)] = wrong_of(found_by_start(tmp_path, **sections))
    assert subject == "start"
    assert text == f"the collector cannot begin: {refusal_of_up(tmp_path, **sections)}"


def test_paths_that_would_bring_no_line_fail(tmp_path: Path) -> None:
    """One that matches nothing, one whose files cannot be read, one whose writer is silent, and the lake's."""
    for name in ("live", "silent", "lake"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "core.log").write_text("{}\n")
    before = (datetime.now(UTC) - timedelta(hours=5)).timestamp()
    os.utime(tmp_path / "silent" / "core.log", (before, before))
    (tmp_path / "unreadable.log").symlink_to("/proc/self/mem")
    names = ("live/*.log", "silent/*.log", "typo/*.log", "unreadable.log", "lake/*.log")
    settings = settings_of(tmp_path, collector={"files": {"paths": [f"{tmp_path}/{name}" for name in names]}})
    found = check_sources(settings.collector, Storage(), f"{tmp_path}/lake")
    assert [one.verdict for one in found] == [Verdict.OK, *[Verdict.FAILED] * 4]
    assert re.fullmatch(r".*/live/\*.log names 1 file, the newest was written \d+ seconds? ago", found[0].text)
    assert found[1].text.endswith(
        "the newest was written 5 hours ago: see that its writer is at work and still writes there"
    )
    assert "no file matches" in found[2].text
    assert "unreadable.log cannot be read now" in found[3].text
    assert "no file matches" in found[4].text


def test_what_the_lake_has_is_said_without_making_it(tmp_path: Path) -> None:
    """That it is not there, is empty, or how many deployments it has."""
    lake = Lake(f"{tmp_path}/folder/lake")
    [one] = check_lake(lake)
    assert one.text == f"there is no lake in {lake.root} yet: the first start makes it, if lake.root is right"
    assert not Path(lake.root).parent.exists()
    Path(lake.root).mkdir(parents=True)
    texts = [one.text for one in check_lake(lake)]
    assert "it is empty: nothing was collected yet, or lake.root is mistyped" in texts
    assert list(Path(lake.root).iterdir()) == []
    lake.table(PARSED_LOGS, "rag-app").append(PARSED_LOGS.rows([{"event_id": "e"}]))
    assert "1 deployment, no row of a collector yet" in [one.text for one in check_lake(lake)]


def test_a_part_that_says_that_it_fails_is_told(tmp_path: Path) -> None:
    """Its newest heartbeat counts, unless it is old: that is for the monitor."""
    now = datetime.now(UTC)
    minutes = {2: ServiceState.RUNNING, 1: ServiceState.FAILING, 9: ServiceState.FAILING}
    beats = [
        Heartbeat(part, "vm", now - timedelta(hours=1), now - timedelta(minutes=ago), state, error="http: no line came")
        for ago, state in minutes.items()
        for part in [ServicePart.EVALUATOR if ago == 9 else ServicePart.COLLECTOR]
    ]
    lake = Lake(f"{tmp_path}/lake")
    lake.table(SERVICES).append(SERVICES.rows([beat.row() for beat in beats]))
    assert wrong_of(check_lake(lake)) == [("services", "the collector on vm fails: http: no line came")]
