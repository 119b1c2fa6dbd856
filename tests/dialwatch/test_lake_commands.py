from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dialwatch.lake_commands import app
from lake import PARSED_LOGS, Lake

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
    assert "nothing of it was found" in run(lake, "erase", "--user", "ann").stdout


def test_erase_wants_one_subject(lake: Lake) -> None:
    """Without one of --user, --chat and --response, or with two, nothing is erased."""
    for given in ([], ["--user", "ann", "--chat", "c"]):
        result = run(lake, "erase", *given)
        assert result.exit_code == 2
        assert "--response" in result.output
    assert count(lake) == 3


def test_ls_counts_rows(lake: Lake) -> None:
    """`ls` gives the rows of each deployment."""
    assert "rag-app" in run(lake, "ls").stdout
