"""The page that compares answers to the same questions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient

from lake.spec.case_tables import GROUND_TRUTH, REPLAYS
from lake.spec.root_tables import AUDIT
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, ScoreColumns

METRIC = "faithfulness_kprecision"
PERIODS = {"deployment": "rag", "metric": METRIC}
HOSTILE = "<script>alert(1)</script>"


def at(days: float) -> dict[str, Any]:
    moment = NOW - timedelta(days=days)
    return {"requested_at": moment, "date": moment.date()}


@pytest.fixture
def filled(rows: ScoreColumns, lake: Lake) -> None:
    """Three questions in both weeks, one of them worse and one better, one asked twice; and one in one week alone."""
    texts = {
        "leave": ("How much leave?", "You have 30 days of leave.", "You have 10 days of leave."),
        "pay": ("When is pay day?", "I do not know.", "On the 25th."),
        "tea": ("Is there tea?", "Yes.", "Yes."),
    }
    values = {"leave": (1.0, 0.2), "pay": (0.0, 1.0), "tea": (1.0, 1.0)}
    for week, days in enumerate((10, 3)):
        for name, (question, *answers) in texts.items():
            row = {"event_id": f"{name}-{week}", "response_id": f"{name}-{week}", **at(days)}
            spelled = question if week == 0 else question.upper().rstrip("?") + " ?"
            context = {"text": f"{HOSTILE} {name}"}
            found = {"contexts": [context], "contexts_origin": "retrieval_stage"}
            rows.logs("rag", row | {"question": spelled, "answer": answers[week]} | found)
            rows.scores("rag", row | {"metric": METRIC, "value": values[name][week]})
    again = {"event_id": "leave-again", "response_id": "leave-again", **at(2)}
    rows.logs("rag", again | {"question": "How much leave?", "answer": HOSTILE})
    rows.scores("rag", again | {"metric": METRIC, "value": 0.0})
    alone = {"event_id": "alone", "response_id": "alone", **at(2)}
    rows.logs("rag", alone | {"question": "Who?", "answer": "Ann."})
    rows.scores("rag", alone | {"metric": METRIC, "value": 0.5})


@pytest.fixture
def client(monitor: Monitor, filled: None) -> Iterator[TestClient]:
    monitor.refresh()
    with TestClient(create_app(monitor), follow_redirects=False) as client:
        yield client


def test_two_periods_are_compared_question_by_question(client: TestClient) -> None:
    """Several answers to one question count as their mean; the worst comes first, and other spellings are the same."""
    found = client.get("/compare.json", params=PERIODS).json()
    assert (found["before"], found["after"]) == ("2026-11-07 to 2026-11-13", "2026-11-14 to 2026-11-20")
    whole = found["found"]
    assert (whole["count"], whole["worse"], whole["better"], whole["same"], whole["unpaired"]) == (3, 1, 1, 1, 1)
    assert whole["mean_difference"] == pytest.approx((-0.9 + 1.0 + 0.0) / 3)
    assert whole["lower"] < whole["mean_difference"] < whole["upper"]
    assert [pair["difference"] for pair in whole["pairs"]] == pytest.approx([-0.9, 0.0, 1.0])
    assert whole["pairs"][0]["before"]["answer"] == "You have 30 days of leave."
    assert whole["pairs"][0]["before"]["contexts"] == [f"{HOSTILE} leave"]
    sides = [whole["pairs"][0][side] for side in ("before", "after")]
    assert [(one["answers"], one["mean"]) for one in sides] == [(1, None), (2, pytest.approx(0.1))]
    page = client.get("/compare", params=PERIODS).text
    assert page.count("answers with the mean") == 1
    assert "one of 2 answers with the mean 0.10" in page


def test_facts_of_the_case_are_shown_on_both_sides(client: TestClient, lake: Lake) -> None:
    """Of an accepted case before others, and of rejected ones none; not known where no context was logged."""
    usual = {"deployment": "rag", "version": 1, "question": "how much LEAVE", "documents": [], "updated_at": NOW}
    cases = [
        {"case_id": "a", "facts": ["leave.", f"{HOSTILE} 30 days"], "status": "accepted", "confidence": 0.5},
        {"case_id": "b", "facts": ["of a proposal"], "status": "proposed", "confidence": 0.9},
        {"case_id": "c", "facts": ["rejected"], "status": "rejected", "confidence": 1.0},
        {"case_id": "d", "facts": ["no tea"], "status": "proposed", "confidence": None, "question": "Is there tea?"},
    ]
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([usual | one for one in cases]))
    pairs = client.get("/compare.json", params=PERIODS).json()["found"]["pairs"]
    facts = {
        pair["before"]["question"]: [
            [(one["text"], one["is_found"]) for one in pair[side]["facts"]] for side in ("before", "after")
        ]
        for pair in pairs
    }
    found = [("leave.", True), (f"{HOSTILE} 30 days", False)]
    assert facts == {
        "How much leave?": [found, [(text, None) for text, _ in found]],
        "When is pay day?": [[], []],
        "Is there tea?": [[("no tea", False)]] * 2,
    }
    page = client.get("/compare", params=PERIODS).text
    assert "not found" in page
    assert "not known" in page
    assert HOSTILE not in page


def test_the_page_shows_both_answers_with_the_words_that_differ(client: TestClient) -> None:
    page = client.get("/compare", params=PERIODS)
    assert page.status_code == 200
    assert '<mark class="different" title="not in the other answer">On the 25th</mark>' in page.text
    assert HOSTILE not in page.text
    assert "1 worse, 1 better, 1 the same" in page.text
    assert "/answer?deployment=rag&amp;date=" in page.text


def test_versions_of_a_metric_can_be_compared(client: TestClient, rows: ScoreColumns, monitor: Monitor) -> None:
    """The same answers by another version: an answer is its own pair."""
    row = {"event_id": "tea-1", "response_id": "tea-1", "metric": METRIC, "metric_version": "0", **at(3)}
    rows.scores("rag", row | {"value": 0.25, "is_backfill": True})
    week = {"before_since": "2026-11-14", "before_until": "2026-11-20"}
    params = PERIODS | week | {"before_version": "0", "after_version": "1"}
    (pair,) = client.get("/compare.json", params=params).json()["found"]["pairs"]
    assert (pair["before"]["event_id"], pair["after"]["event_id"], pair["difference"]) == ("tea-1", "tea-1", 0.75)


def test_a_lower_value_is_better_where_the_metric_says_so(
    client: TestClient, rows: ScoreColumns, monitor: Monitor
) -> None:
    for week, days in enumerate((10, 3)):
        row = {"event_id": f"leave-{week}", "response_id": f"leave-{week}", "metric": "toxicity", **at(days)}
        rows.scores("rag", row | {"value": (0.25, 0.75)[week], "direction": "down"})
    monitor.refresh()
    found = client.get("/compare.json", params=PERIODS | {"metric": "toxicity"}).json()["found"]
    assert (found["count"], found["mean_difference"], found["worse"]) == (1, -0.5, 1)


def test_two_replays_are_compared_case_by_case(client: TestClient, lake: Lake) -> None:
    """The latest with its baseline, by whether cases pass; others can be chosen."""
    usual = {"version": 1, "status": "accepted", "facts": ["alert", "tea"]}
    cases = [usual | {"case_id": name, "question": f"What of {name}?"} for name in "ab"]
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows(cases))
    runs = (("r1", 3, "baseline", None, (1.0, 1.0)), ("r2", 2, "no_regression", "r1", (1.0, 1.0)),
            ("r3", 1, "regression", "r1", (1.0, 0.0)))  # fmt: skip
    for run_id, days, verdict, compared_with, values in runs:
        of_run = {"run_id": run_id, "run_started_at": at(days)["requested_at"], "date": at(days)["date"]}
        of_run |= {"verdict": verdict, "compared_with": compared_with}
        lake.table(REPLAYS, "rag").append(
            REPLAYS.rows(
                [
                    of_run
                    | {"case_id": name, "answer": f"{run_id} says {name}", "contexts": [{"text": HOSTILE}]}
                    | {"scores": [{"metric": "case_passed", "value": value}]}
                    for name, value in zip("ab", values, strict=True)
                ]
            )
        )
    params = {"deployment": "rag", "between": "replays"}
    found = client.get("/compare.json", params=params).json()
    assert (found["metric"], found["before"], found["after"]) == ("case_passed", "r1", "r3")
    first = found["found"]["pairs"][0]
    assert (first["difference"], first["after"]["case_id"], first["after"]["question"]) == (-1.0, "b", "What of b?")
    assert first["after"]["contexts"] == [HOSTILE]
    assert first["after"]["facts"] == [{"text": "alert", "is_found": True}, {"text": "tea", "is_found": False}]
    same = client.get("/compare.json", params=params | {"after_run": "r2"}).json()["found"]
    assert (same["worse"], same["same"]) == (0, 2)
    page = client.get("/compare", params=params).text
    assert "r3 says b" in page.replace('<mark class="different" title="not in the other answer">', "").replace(
        "</mark>", ""
    )
    assert HOSTILE not in page


def test_what_a_judge_prefers_stands_beside_its_runs(client: TestClient, lake: Lake) -> None:
    """It was asked beside the baseline: a comparison with another run has none, and a page asks nobody."""
    values = {"r1": (None, ()), "r2": ("r1", (1.0, 0.0, 0.5, None, 1.0, 1.0, 1.0, 1.0)), "r3": (None, ())}
    for days, (run_id, (compared_with, preferred)) in enumerate(values.items()):
        of_run = {"run_id": run_id, "run_started_at": at(4 - days)["requested_at"], "date": at(4 - days)["date"]}
        passed = {"metric": "case_passed", "value": 1.0}
        rows = [
            of_run
            | {"compared_with": compared_with, "case_id": f"case-{n}", "answer": f"{run_id} says {n}"}
            | {"scores": [passed] + ([{"metric": "preference", "value": preferred[n]}] if preferred else [])}
            for n in range(8)
        ]
        lake.table(REPLAYS, "rag").append(REPLAYS.rows(rows))
    params = {"deployment": "rag", "between": "replays", "after_run": "r2"}
    whole = client.get("/compare.json", params=params).json()
    found = whole["found"]
    assert whole["preferences"] == {
        "later": 5, "earlier": 1, "ties": 1, "undecided": 1, "probability": pytest.approx(14 / 64),
    }  # fmt: skip
    preferred_by_case = {pair["after"]["case_id"]: pair["preferred"] for pair in found["pairs"]}
    assert [preferred_by_case[f"case-{n}"] for n in range(4)] == ["after", "before", "neither", None]
    page = client.get("/compare", params=params).text
    assert "prefers the later one in 5, the earlier one in 1, and neither in 1 cases; 1 are undecided" in page
    assert "By chance it is so uneven in 21.9&nbsp;% of comparisons" in page
    assert "the judge prefers the answer after" in page
    swapped = client.get("/compare.json", params=params | {"before_run": "r2", "after_run": "r1"}).json()
    assert (swapped["preferences"]["later"], swapped["preferences"]["earlier"]) == (1, 5)
    preferred_by_case = {pair["after"]["case_id"]: pair["preferred"] for pair in swapped["found"]["pairs"]}
    assert [preferred_by_case[f"case-{n}"] for n in range(4)] == ["before", "after", "neither", None]
    unscored = client.get("/compare.json", params=params | {"metric": "facts_recall"}).json()
    assert (unscored["found"], unscored["preferences"]["later"]) == (None, 5)
    other = client.get("/compare.json", params=params | {"before_run": "r3"}).json()
    assert (other["preferences"], {pair["preferred"] for pair in other["found"]["pairs"]}) == (None, {None})


@pytest.mark.parametrize(
    ("params", "status", "words"),
    [
        ({"deployment": ""}, 200, "Choose a deployment"),
        ({"deployment": "rag", "between": "replays"}, 200, "dialwatch ground-truth replay --deployment rag"),
        (PERIODS | {"before_since": "2026-10-01", "before_until": "2026-10-02"}, 200, "No question was asked in both"),
        ({"deployment": "nobody"}, 422, "There is no such deployment"),
        (PERIODS | {"after_since": "soon"}, 422, "A day is written as"),
        (PERIODS | {"after_since": "0001-01-01"}, 422, "A day has a year"),
        (PERIODS | {"after_since": "2026-11-20", "after_until": "2026-11-19"}, 422, "must not be after"),
        (PERIODS | {"between": "us"}, 422, "What is compared are"),
        (PERIODS | {"onset": "soon"}, 422, "A time is written as"),
    ],
)
def test_what_cannot_be_compared_is_explained(
    client: TestClient, params: dict[str, str], status: int, words: str
) -> None:
    page = client.get("/compare", params=params)
    assert (page.status_code, words in page.text) == (status, True)


def test_texts_are_for_who_may_read_them(monitor: Monitor, filled: None) -> None:
    """Others see the numbers; a deployment that one may not see is as one that is not there."""
    groups = {"figures": {"deployments": ["rag"]}, "others": {"deployments": ["x"], "rights": ["texts"]}}
    access = {"proxy": {"addresses": ["10.0.0.7"], "groups": groups}}
    monitor.refresh()
    app = create_app(monitor, MonitorSettings.model_validate({"access": access}))
    with TestClient(app, client=("10.0.0.7", 5000)) as client:
        as_figures, as_others = ({"X-Forwarded-User": "ann", "X-Forwarded-Groups": name} for name in groups)
        found = client.get("/compare.json", params=PERIODS, headers=as_figures).json()["found"]
        assert found["count"] == 3
        sides = [side for pair in found["pairs"] for side in (pair["before"], pair["after"])]
        assert {side[name] for side in sides for name in ("question", "answer", "contexts")} == {None}
        assert "30 days" not in client.get("/compare", params=PERIODS, headers=as_figures).text
        assert client.get("/compare", params=PERIODS, headers=as_others).status_code == 422


TWO = {"deployment": "help__1.1.0", "before_deployment": "help__1.0.0", "metric": METRIC}


@pytest.fixture
def versions(rows: ScoreColumns) -> None:
    """The newer version answers one of two questions worse; both answered within the last 28 days."""
    for name, days, value in (("help__1.0.0", 20, 1.0), ("help__1.1.0", 1, 0.25)):
        for question, score in (("How much leave?", value), ("Is there tea?", 1.0)):
            row = {"event_id": f"{question}-{name}", "response_id": f"{question}-{name}", **at(days)}
            found = {"contexts": [{"text": f"of {name}"}], "contexts_origin": "retrieval_stage"}
            rows.logs(name, row | {"question": question, "answer": f"{name} says"} | found)
            rows.scores(name, row | {"metric": METRIC, "value": score})


def test_two_deployments_are_compared_question_by_question(versions: None, monitor: Monitor) -> None:
    """Each side is read from its own tables, its contexts too; the page names both and links to both answers."""
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        found = client.get("/compare.json", params=TWO).json()
        page = client.get("/compare", params=TWO).text
        same = client.get("/compare.json", params=TWO | {"before_deployment": "help__1.1.0"}).json()
        overview = client.get("/").text
    assert (found["deployment"], found["before_deployment"]) == ("help__1.1.0", "help__1.0.0")
    assert found["before"] == found["after"] == "2026-10-24 to 2026-11-20"
    whole = found["found"]
    assert (whole["count"], whole["worse"], whole["same"], whole["unpaired"]) == (2, 1, 1, 0)
    first = whole["pairs"][0]
    assert (first["difference"], first["before"]["answer"], first["after"]["answer"]) == (
        -0.75,
        "help__1.0.0 says",
        "help__1.1.0 says",
    )
    assert (first["before"]["contexts"], first["after"]["contexts"]) == (["of help__1.0.0"], ["of help__1.1.0"])
    for name in ("help__1.0.0", "help__1.1.0"):
        assert f"/answer?deployment={name}&amp;date=" in page
    assert "Before is help__1.0.0, 2026-10-24 to 2026-11-20, after is help__1.1.0" in page
    assert same["before"] != same["after"]
    assert "/compare?deployment=help__1.1.0&amp;before_deployment=help__1.0.0" in overview


def test_replays_of_two_deployments_are_compared_case_by_case(lake: Lake, versions: None, monitor: Monitor) -> None:
    """The latest run of each, where none is named, by the cases that both were asked."""
    for name, value in (("help__1.0.0", 1.0), ("help__1.1.0", 0.0)):
        for run, days in (("early", 3), ("late", 2)):
            of_run = {"run_id": f"{run}-{name}", "run_started_at": at(days)["requested_at"], "date": at(days)["date"]}
            score = {"metric": "case_passed", "value": value if run == "late" else 0.5}
            row = of_run | {"case_id": "a", "answer": f"{name} says", "scores": [score]}
            lake.table(REPLAYS, name).append(REPLAYS.rows([row]))
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        found = client.get("/compare.json", params=TWO | {"between": "replays", "metric": ""}).json()
        page = client.get("/compare", params=TWO | {"between": "replays", "metric": ""}).text
    assert (found["before"], found["after"]) == ("late-help__1.0.0", "late-help__1.1.0")
    assert found["found"]["pairs"][0]["difference"] == -1.0
    assert all(f'value="{run}-{name}"' in page for run in ("early", "late") for name in ("help__1.0.0", "help__1.1.0"))


def test_replays_of_two_deployments_are_paired_by_their_questions(lake: Lake, versions: None, monitor: Monitor) -> None:
    """Each deployment has cases, and ids of cases, of its own."""
    for name, value in (("help__1.0.0", 1.0), ("help__1.1.0", 0.0)):
        for place, question in enumerate(("How much leave?", f"Only in {name}?")):
            case = {"case_id": f"{name} {place}", "version": 1, "question": question, "status": "accepted"}
            lake.table(GROUND_TRUTH, name).append(GROUND_TRUTH.rows([case | {"created_at": NOW}]))
            run = {"run_id": f"run-{name}", "run_started_at": NOW, "date": NOW.date(), "answer": f"{name} says"}
            score = {"metric": "case_passed", "value": value}
            lake.table(REPLAYS, name).append(REPLAYS.rows([run | {"case_id": case["case_id"], "scores": [score]}]))
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        found = client.get("/compare.json", params=TWO | {"between": "replays", "metric": ""}).json()["found"]
    assert (found["count"], found["unpaired"], found["mean_difference"]) == (1, 2, -1.0)
    assert found["pairs"][0]["after"]["question"] == "How much leave?"


def test_each_side_has_its_own_version_of_the_metric_and_the_page_says_where_they_differ(
    rows: ScoreColumns, versions: None, monitor: Monitor
) -> None:
    """The newer deployment is scored by another version alone."""
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        assert "The versions of the metric differ" not in client.get("/compare", params=TWO).text
    row = {"event_id": "How much leave?-help__1.1.0", **at(1), "metric": METRIC, "metric_version": "9"}
    rows.scores("help__1.1.0", row | {"value": 0.5})
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        data = client.get("/compare.json", params=TWO).json()
        page = client.get("/compare", params=TWO).text
    assert data["versions"] == ["1", "9"]
    assert (data["found"]["count"], data["found"]["mean_difference"]) == (1, -0.5)
    assert "<strong>The versions of the metric differ</strong>: 1 before, 9 after." in page


def test_two_deployments_take_rights_to_both(monitor: Monitor, versions: None, lake: Lake) -> None:
    """Texts are for who may read both, and are noted of both; a deployment that one may not see is not compared."""
    newer, older = TWO["deployment"], TWO["before_deployment"]
    groups = {
        "both": {"deployments": [newer, older], "rights": ["texts"]},
        "one": {"deployments": [newer], "rights": ["texts"]},
        "figures": {"deployments": [newer, older]},
    }
    access = {"proxy": {"addresses": ["10.0.0.7"], "groups": groups}}
    monitor.refresh()
    app = create_app(monitor, MonitorSettings.model_validate({"access": access}))
    with TestClient(app, client=("10.0.0.7", 5000)) as client:
        as_both, as_one, as_figures = ({"X-Forwarded-User": "ann", "X-Forwarded-Groups": name} for name in groups)
        for params in (TWO, TWO | {"deployment": older, "before_deployment": newer}):
            assert "help__1.0.0 says" in client.get("/compare.json", params=params, headers=as_both).text
            assert client.get("/compare.json", params=params, headers=as_one).status_code == 422
            shown = client.get("/compare.json", params=params, headers=as_figures)
            assert (shown.json()["found"]["count"], "says" in shown.text) == (2, False)
        mixed = {"X-Forwarded-User": "ann", "X-Forwarded-Groups": "one,figures"}
        shown = client.get("/compare.json", params=TWO, headers=mixed)
        assert (shown.json()["found"]["count"], "says" in shown.text) == (2, False)
    monitor.audit.write()
    assert {row["deployment"] for row in lake.table(AUDIT).read().to_pylist()} >= {newer, older}
