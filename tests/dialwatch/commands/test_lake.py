from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from collector.redaction import RedactionSettings, Redactor
from dialwatch.commands.lake import app
from evaluator.judges.calls import Calls
from evaluator.judges.completion import ChatCompletion
from evaluator.judges.shared_replies import SharedReplies
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake

NOW = datetime.now(UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(str(tmp_path / "lake"))
    for number in range(3):
        row = {"event_id": f"{number}", "user_id": "ann", "date": NOW.date(), "deployment": "rag-app"}
        lake.table(PARSED_LOGS, "rag-app").append(PARSED_LOGS.rows([row]))
    return lake


def run(lake: Lake, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--lake", lake.root])


def count(lake: Lake) -> int:
    return lake.table(PARSED_LOGS, "rag-app").read().num_rows


def test_compact_says_what_became_of_the_files(lake: Lake) -> None:
    """`compact` names each table whose files were merged; `--dry-run` merges none; a second run finds nothing."""
    dry = run(lake, "compact", "--dry-run")
    assert "nothing was changed" in dry.stdout
    done = run(lake, "compact")
    assert done.exit_code == 0
    assert "rag-app parsed_logs" in done.stdout
    assert "no table has several small files" in run(lake, "compact").stdout


def test_vacuum_keeps_what_is_young(lake: Lake) -> None:
    """`vacuum` removes nothing of the last day."""
    run(lake, "compact")
    assert "nothing is old enough" in run(lake, "vacuum").stdout


def test_retention_without_a_configuration_is_an_error(lake: Lake) -> None:
    """`retention` says what to write where nothing is configured."""
    result = run(lake, "retention")
    assert result.exit_code != 0
    assert "lake.maintenance.retention" in str(result.exception)


def test_erase_prints_a_receipt(lake: Lake) -> None:
    """`erase` says what was found and what it cannot know; a dry run leaves the rows."""
    dry = run(lake, "erase", "--user", "ann", "--dry-run")
    assert "nothing was changed" in dry.stdout
    assert count(lake) == 3
    done = run(lake, "erase", "--user", "ann")
    assert done.exit_code == 0, done.output
    assert "Erasure of user ann" in done.stdout
    assert "rag-app parsed_logs" in done.stdout
    assert "What this cannot know" in done.stdout
    assert count(lake) == 0
    for given in ([], ["--dry-run"]):
        nobody = run(lake, "erase", "--user", "ann", *given)
        assert nobody.exit_code == 3
        assert "nothing of it was found" in nobody.stdout
        assert "No row was found: check that the id is written as in the lake" in nobody.stdout


def test_erase_wants_one_subject(lake: Lake) -> None:
    """Without one of --user, --chat and --response, or with two, nothing is erased."""
    for given in ([], ["--user", "ann", "--chat", "c"]):
        result = run(lake, "erase", *given)
        assert result.exit_code == 2
        assert "--response" in result.output
    assert count(lake) == 3


def test_erase_of_an_id_of_several_answers(lake: Lake) -> None:
    """It lists the answers and says what to give instead; the event id of one erases that one."""
    rows = [{"event_id": name, "response_id": "chat", "is_entry": True, "date": NOW.date()} for name in ("one", "two")]
    lake.table(PARSED_LOGS, "rag-app").append(PARSED_LOGS.rows([row | {"requested_at": NOW} for row in rows]))
    refused = run(lake, "erase", "--response", "chat")
    assert all(name in refused.stdout for name in ("rag-app", "one", "two"))
    assert "several answers have the id 'chat'" in str(refused.exception)
    assert "--response EVENT_ID" in str(refused.exception)
    assert count(lake) == 5
    assert run(lake, "erase", "--response", "two").exit_code == 0
    assert count(lake) == 4


def test_erase_says_what_it_decided_in_doubt(lake: Lake) -> None:
    """Of ratings that name nobody and have an id of several answers, and how many stay."""
    for name, user in (("one", "eve"), ("two", "bob")):
        row = {"event_id": name, "response_id": "chat", "user_id": user, "is_entry": True, "requested_at": NOW}
        lake.table(PARSED_LOGS, "rag-app").append(PARSED_LOGS.rows([row | {"date": NOW.date()}]))
    for number, details in enumerate(['{"comment": "As I said."}', None]):
        row = {"signal_id": str(number), "response_id": "chat", "signaled_at": NOW, "details": details}
        lake.table(USER_SIGNALS, "rag-app").append(USER_SIGNALS.rows([row | {"date": NOW.date()}]))
    said = run(lake, "erase", "--user", "eve").stdout
    assert "rows in doubt: 1 of rag-app user_signals" in said
    assert "were erased" in said
    assert "they hold no words, and stay" in said


def test_ls_counts_rows(lake: Lake) -> None:
    """`ls` gives the rows of each deployment."""
    assert "rag-app" in run(lake, "ls").stdout


def test_ls_gives_json(lake: Lake) -> None:
    """`ls --json` gives the same counts to programs, a deployment an object."""
    shown = json.loads(run(lake, "ls", "--json").stdout)
    counts = {"deployment": "rag-app", "requests": 3, "signals": 0, "scores": 0, "cases": 0}
    assert shown == {"deployments": [counts], "lines": 0, "rejected": 0}


def test_retention_drops_what_is_too_old(lake: Lake, tmp_path: Path) -> None:
    """`retention` drops the dates that the configuration lets go, and says how many; a dry run drops none."""
    old = {"event_id": "old", "date": NOW.date() - timedelta(days=91), "deployment": "rag-app"}
    lake.table(PARSED_LOGS, "rag-app").append(PARSED_LOGS.rows([old]))
    config = tmp_path / "dialwatch.yaml"
    config.write_text(f"lake: {{root: {lake.root}, maintenance: {{retention: {{parsed_logs: 90d}}}}}}")
    assert "nothing was changed" in run(lake, "retention", "-c", str(config), "--dry-run").stdout
    assert count(lake) == 4
    assert "rag-app parsed_logs" in run(lake, "retention", "-c", str(config)).stdout
    assert count(lake) == 3


def test_a_lake_without_tables_is_an_error(tmp_path: Path) -> None:
    """A mistyped root gives no receipt and no empty list."""
    for command in (["ls"], ["compact"], ["vacuum"], ["erase", "--user", "ann"]):
        result = run(Lake(str(tmp_path / "nolake")), *command)
        assert "is that the lake's root?" in str(result.exception)


def test_erase_finds_who_was_redacted(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where redaction made a pseudonym of an id, the id as it was erases the rows under both."""
    key = "a key for this test"
    redactor = Redactor(RedactionSettings.model_validate({"patterns": ["email"], "key": key}))
    for number, user in enumerate(("ann@example.com", redactor.redact_id("ann@example.com"), "bob@example.com")):
        row = {"event_id": f"mail {number}", "user_id": user, "date": NOW.date(), "deployment": "rag-app"}
        lake.table(PARSED_LOGS, "rag-app").append(PARSED_LOGS.rows([row]))
    config = tmp_path / "dialwatch.yaml"
    config.write_text("collector: {redaction: {patterns: [email]}}")
    monkeypatch.setenv("DIALWATCH_COLLECTOR__REDACTION__KEY", key)
    result = run(lake, "erase", "-c", str(config), "--user", "ann@example.com")
    assert result.exit_code == 0, result.output
    left = lake.table(PARSED_LOGS, "rag-app").read(["event_id"])["event_id"].to_pylist()
    assert sorted(left) == ["0", "1", "2", "mail 2"]


def test_names_are_never_cut(lake: Lake) -> None:
    """A long name of a deployment stands whole in a narrow output, so that it can be copied."""
    name = "applications/" + "x" * 100
    row = {"event_id": "x", "date": NOW.date(), "deployment": name}
    lake.table(PARSED_LOGS, name).append(PARSED_LOGS.rows([row]))
    assert run(lake, "ls").stdout.count("x") >= 100


def test_erase_forgets_the_replies_of_judges(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply may quote anybody: all go, from the file's bytes too, and what was spent today stays known."""
    path = tmp_path / "calls.sqlite"
    monkeypatch.setenv("DIALWATCH_EVALUATOR__JUDGE_CALLS", str(path))
    with closing(Calls(path)) as calls:
        for number in range(200):
            calls.finish(calls.begin("strict", f"{number}", 0.5), f"Ann lives in Delhi {number}", 0.25)
        calls.begin("strict", "under way", 0.5)
    assert "forgotten" not in run(lake, "erase", "--user", "ann", "--dry-run").stdout
    assert b"Delhi" in path.read_bytes()
    assert "200 kept replies of judges" in run(lake, "erase", "--user", "ann").stdout
    assert not [one for one in tmp_path.glob("calls.sqlite*") if b"Delhi" in one.read_bytes()]
    with closing(Calls(path)) as calls:
        assert calls.spent("strict")[1] == 50.5
        assert calls.find("7") is None
    path.unlink()
    assert "judges" not in run(lake, "erase", "--user", "ann").stdout


def test_erase_says_that_replies_are_still_on_the_disk(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as somebody reads their file; the next time it is done, and a reader that ends is waited for."""
    path = tmp_path / "calls.sqlite"
    monkeypatch.setenv("DIALWATCH_EVALUATOR__JUDGE_CALLS", str(path))
    with closing(Calls(path)) as calls:
        calls.finish(calls.begin("strict", "a", 0.5), "Ann lives in Delhi", 0.25)

    def bytes_left() -> list[Path]:
        return [one for one in tmp_path.glob("calls.sqlite*") if b"Delhi" in one.read_bytes()]

    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as reader:
        for statement in ("BEGIN", "SELECT * FROM calls"):
            reader.execute(statement).fetchall()
        monkeypatch.setattr("evaluator.judges.calls._WAIT_SECONDS", 0.1)
        done = run(lake, "erase", "--user", "ann")
        assert "1 kept replies" in done.stdout
        assert "their bytes" in done.stdout
        assert done.exit_code == 1
        assert bytes_left()
        monkeypatch.setattr("evaluator.judges.calls._WAIT_SECONDS", 30)
        threading.Timer(0.3, reader.rollback).start()
        again = run(lake, "erase", "--user", "ann")
    assert (again.exit_code, "their bytes" in again.stdout) == (3, False)
    assert not bytes_left()


def test_erase_forgets_the_replies_that_machines_share(lake: Lake) -> None:
    """Wherever it is run, and whether they are still shared or not; no other command takes them for a table."""
    shared = SharedReplies.of(lake)
    for number in range(3):
        shared.keep(f"{number:064}", ChatCompletion("Ann lives in Delhi", None, None, "stop", None, 0, None))
    for command in ("ls", "compact", "vacuum"):
        assert "_judge_replies" not in run(lake, command).stdout
    run(lake, "erase", "--user", "ann", "--dry-run")
    assert shared.find(f"{2:064}") is not None
    assert "3 replies of judges that workers share" in run(lake, "erase", "--user", "ann").stdout
    assert not [path for path in Path(shared.folder).rglob("*") if path.is_file()]
    assert "workers share" not in run(lake, "erase", "--user", "ann").stdout


def test_erase_says_where_replies_of_judges_may_be(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where judges are configured and their calls are not here, another machine has them."""
    monkeypatch.setenv("DIALWATCH_EVALUATOR__JUDGE_CALLS", str(tmp_path / "none.sqlite"))
    judges = '{"strict": {"base_url": "http://judge", "model": "m"}}'
    monkeypatch.setenv("DIALWATCH_EVALUATOR__JUDGES", judges)
    assert "on another machine, erase there too" in run(lake, "erase", "--user", "ann").stdout
    assert not (tmp_path / "none.sqlite").exists()
