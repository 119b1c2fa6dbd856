"""What an erasure says of the answers that later replays are compared with."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.spec.case_tables import GROUND_TRUTH, REPLAYS
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_it_says_which_answers_later_replays_lack(tmp_path: Path) -> None:
    """Where the baseline loses answers, a fall in their cases is not seen; where it loses none, nothing is said."""
    lake = Lake(str(tmp_path))
    call = {"event_id": "aa", "response_id": "r-aa", "response_ids": ["r-aa"], "requested_at": NOW, "date": NOW.date()}
    lake.table(PARSED_LOGS, "rag-app").append(PARSED_LOGS.rows([call]))
    cases = [{"case_id": "k1", "source_response_id": "r-aa"}, {"case_id": "k2", "source_response_id": "r-zz"}]
    lake.table(GROUND_TRUTH, "rag-app").append(GROUND_TRUTH.rows(cases))
    of_run = {"run_started_at": NOW, "date": NOW.date(), "is_baseline": True, "run_id": "one"}
    rows = [of_run | {"replay_id": case, "case_id": case} for case in ("k1", "k2")]
    lake.table(REPLAYS, "rag-app").append(REPLAYS.rows(rows))
    assert erase(lake, Subject(user="nobody"), NOW).lost == ()
    [lost] = erase(lake, Subject(response="r-aa"), NOW).lost
    assert lost.startswith("The replays of rag-app lost 1 of the 2 answers that later runs are compared with.")
