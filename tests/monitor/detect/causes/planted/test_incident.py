"""What is planted is in the rows from its time on, and only there."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pytest

from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from tests.monitor.detect.causes.planted.calls import DEPLOYMENT, EMBEDDER, Row
from tests.monitor.detect.causes.planted.incident import BEGIN, Incident, generate
from tests.monitor.detect.causes.planted.kinds import Planted, PromptStyle
from tests.monitor.detect.causes.planted.library import NEW_LANGUAGES
from tests.monitor.detect.causes.planted.people import NEW_CLIENT

pytestmark = pytest.mark.slow

Measure = Callable[[Sequence[Row], Sequence[Row], Incident], Any]


def _bodies(calls: Sequence[Row]) -> list[dict[str, Any]]:
    return [json.loads(call["request_body"]) for call in calls]


def _system(calls: Sequence[Row], incident: Incident) -> set[str]:
    texts = [body["messages"][0]["content"] for body in _bodies(calls)]
    return {text.split(" Today is ")[0].split("\n\nPassages:")[0] for text in texts}


def _newest_document(entries: Sequence[Row], _: Sequence[Row], incident: Incident) -> bool:
    # Documents that are more than a year old at the onset are the only ones left.
    published = {one["url"][-11:-4] for entry in entries for one in entry["contexts"]}
    return max(published) > f"{incident.onset.year - 1}-{incident.onset.month:02}"


MEASURES: dict[Planted, Measure] = {
    Planted.MODEL: lambda _, calls, __: {call["model"] for call in calls if call["status"] == 200},
    Planted.PARAMETER: lambda _, calls, __: {(body["temperature"], body.get("top_p")) for body in _bodies(calls)},
    Planted.SYSTEM_PROMPT: lambda _, calls, incident: _system(calls, incident),
    Planted.TOOLS: lambda _, calls, __: {len(body.get("tools", ())) for body in _bodies(calls)},
    Planted.CHUNKS: lambda entries, _, __: {len(entry["contexts"]) for entry in entries if entry["contexts"]},
    Planted.CONTEXT_LENGTH: lambda entries, _, __: (
        median(len(one["text"]) for entry in entries for one in entry["contexts"]) > 350
    ),
    Planted.DOCUMENTS: _newest_document,
    Planted.RETRIEVAL: lambda entries, _, __: fmean(not entry["contexts"] for entry in entries) > 0.2,
    Planted.LATENCY: lambda _, calls, __: median(call["duration_ms"] for call in calls) > 4500,
    Planted.FINISH_REASONS: lambda _, calls, __: fmean(call.get("finish_reason") == "length" for call in calls) > 0.06,
    Planted.CHILD_ERRORS: lambda _, calls, __: fmean(call["status"] >= 400 for call in calls) > 0.06,
    Planted.CLIENT: lambda entries, _, __: NEW_CLIENT in {entry["project_id"] for entry in entries},
}


def _parts(incident: Incident) -> list[tuple[list[Row], list[Row], Incident]]:
    """Entries, and the calls of the model that they made: after an earlier release and before the onset, and since."""
    begin = incident.released[1] if incident.released else BEGIN
    calls = [row for name, rows in incident.rows.items() if name.startswith("gpt") for row in rows]
    parts = []
    for since, until in ((begin, incident.onset), (incident.onset, incident.found_at)):
        entries = [row for row in incident.rows[DEPLOYMENT] if since <= row["requested_at"] < until]
        traces = {entry["trace_id"] for entry in entries}
        parts.append((entries, [call for call in calls if call["trace_id"] in traces], incident))
    return parts


@pytest.mark.parametrize("planted", list(MEASURES))
def test_what_is_planted_begins_at_the_onset(planted: Planted) -> None:
    """Its measure differs between both sides of the onset."""
    measure = MEASURES[planted]
    incident = generate(3, planted, days=9)
    before, after = _parts(incident)
    assert measure(*before) != measure(*after)


@pytest.mark.parametrize("planted", list(MEASURES))
def test_nothing_else_is_planted(planted: Planted, unplanted: Incident) -> None:
    """In an incident without a cause no measure of a planted change differs."""
    before, after = _parts(unplanted)
    assert MEASURES[planted](*before) == MEASURES[planted](*after)


@pytest.fixture(scope="module")
def unplanted() -> Incident:
    return generate(3, None, days=9)


def test_a_new_language_is_one_of_known_people() -> None:
    """It has its share of the scores after the onset and none before, and nobody is new."""
    incident = generate(3, Planted.LANGUAGE, days=9)
    languages = [
        (row["requested_at"] >= incident.onset, json.loads(row["segment"])["language"]) for row in incident.scores
    ]
    assert not {language for after, language in languages if not after} & set(NEW_LANGUAGES)
    assert fmean(language in NEW_LANGUAGES for after, language in languages if after) > 0.1
    assert NEW_CLIENT not in {row["project_id"] for row in incident.rows[DEPLOYMENT]}


def test_a_deployment_is_called_that_was_not_called_before() -> None:
    incident = generate(3, Planted.DEPLOYMENT_CALLED, days=9)
    before = {
        row["deployment"] for rows in incident.rows.values() for row in rows if row["requested_at"] < incident.onset
    }
    assert incident.rows.keys() - before == {"bge-reranker"}


def test_an_incident_is_the_same_for_a_seed() -> None:
    """Another seed gives another one."""
    one, same, other = generate(3, None, days=3), generate(3, None, days=3), generate(4, None, days=3)
    assert (one.rows, one.scores) == (same.rows, same.scores)
    assert one.rows != other.rows


def test_the_rows_are_those_of_a_collector(tmp_path: Path, unplanted: Incident) -> None:
    """Each child has its entry by its trace and its span, and the lake has all rows."""
    unplanted.write(Lake(str(tmp_path)))
    lake = Lake(str(tmp_path))
    entries = {row["trace_id"]: row["span_id"] for row in unplanted.rows[DEPLOYMENT]}
    for deployment, rows in unplanted.rows.items():
        assert lake.table(PARSED_LOGS, deployment).read(["event_id"]).num_rows == len(rows)
        if deployment != DEPLOYMENT:
            assert all(entries[row["trace_id"]] == row["parent_span_id"] for row in rows)
    assert len(unplanted.rows[EMBEDDER]) < len(entries)
    assert lake.table(SCORES, DEPLOYMENT).read(["event_id"]).num_rows == len(unplanted.scores)


def test_weeks_are_ordinary(unplanted: Incident) -> None:
    """Nights and weekends are quiet, harmless changes begin with the incident, and the interval holds the onset."""
    times = [row["requested_at"] for row in unplanted.rows[DEPLOYMENT]]
    by_day = [sum(time.weekday() == day for time in times) for day in range(7)]
    assert max(by_day[5:]) < 0.6 * min(by_day[:4])
    assert sum(time.hour < 6 for time in times) < 0.1 * len(times)
    assert unplanted.harmless
    assert unplanted.since_earliest <= unplanted.onset <= unplanted.since_latest <= unplanted.found_at


def test_prompts_hold_what_changes_by_itself() -> None:
    """Some applications have the date or the contexts in the system prompt."""
    styles = {generate(seed, None, days=1, per_day=20).style for seed in range(20)}
    assert styles == set(PromptStyle)
