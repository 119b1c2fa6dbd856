"""What a judge prefers of logged answers, on the page that compares them."""

from __future__ import annotations

import html
import shlex
from typing import Any

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from dialwatch.cli import app as commands
from lake.spec.preference_tables import PREFERENCES
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import ScoreColumns
from tests.monitor.pages.compare.test_compare import PERIODS, TWO, at, client, filled, versions

__all__ = ["client", "filled", "versions"]

Row = dict[str, Any]


def said(value: float | None, question: str, minutes: float = 0, **changes: Any) -> Row:
    """A judge compared the answers of both weeks to a question."""
    usual = {
        "preference_id": f"{question} {minutes}",
        "event_id": f"{question}-1",
        "date": at(3)["date"],
        "earlier_event_id": f"{question}-0",
        "earlier_deployment": "rag",
        "earlier_date": at(10)["date"],
        "question_key": question,
        "judge": "strict",
        "judge_version": "1-m-0",
        "value": value,
        "judged_at": at(minutes / -1440)["requested_at"],
    }
    return usual | changes


def keep(lake: Lake, *rows: Row, deployment: str = "rag") -> None:
    lake.table(PREFERENCES, deployment).append(PREFERENCES.rows([row | {"deployment": deployment} for row in rows]))


def preferred(found: Row) -> dict[str, str | None]:
    return {pair["after"]["question"].casefold().strip(" ?"): pair["preferred"] for pair in found["pairs"]}


def test_what_a_judge_prefers_stands_above_the_pairs_and_beside_each(client: TestClient, lake: Lake) -> None:
    """A question of which no answer has a score counts too, and has no pair."""
    keep(lake, said(0.0, "leave"), said(1.0, "pay"), said(None, "tea", reason="judge_orders_differ"))
    keep(lake, said(0.0, "unscored"), said(0.0, "also unscored"), said(0.5, "a tie"))
    whole = client.get("/compare.json", params=PERIODS).json()
    assert whole["preferences"] == {"later": 1, "earlier": 3, "ties": 1, "undecided": 1, "probability": 0.625}
    assert preferred(whole["found"]) == {"how much leave": "before", "when is pay day": "after", "is there tea": None}
    page = client.get("/compare", params=PERIODS).text
    assert "prefers the later one in 1, the earlier one in 3, and neither in 1 questions; 1 are undecided" in page
    assert "By chance it is so uneven in 62.5&nbsp;% of comparisons" in page
    assert "the judge prefers the answer before" in page
    assert "dialwatch compare" not in page


def test_the_answers_that_the_judge_compared_are_shown(client: TestClient, lake: Lake) -> None:
    """Of two answers to a question, neither is nearer to their mean: what stands beside a preference are its own."""
    shown = []
    for number, event_id in enumerate(("leave-1", "leave-again")):
        keep(lake, said(0.0, "leave", number, event_id=event_id))
        (first, *_) = client.get("/compare.json", params=PERIODS).json()["found"]["pairs"]
        assert (first["difference"], first["preferred"]) == (pytest.approx(-0.9), "before")
        shown.append((first["before"]["event_id"], first["after"]["event_id"]))
    assert shown == [("leave-0", "leave-1"), ("leave-0", "leave-again")]


SWAPPED = {"before_since": "2026-11-14", "before_until": "2026-11-20", "after_since": "2026-11-07"} | {
    "after_until": "2026-11-13"
}


def test_sides_that_are_swapped_have_the_same_pairs_turned_round(client: TestClient, lake: Lake) -> None:
    """What the judge said of the earlier answer it said of the one that the address names as the later one."""
    keep(lake, said(0.0, "leave"), said(1.0, "pay"), said(None, "tea", reason="judge_orders_differ"))
    keep(lake, said(0.0, "unscored"), said(0.5, "a tie"))
    whole = client.get("/compare.json", params=PERIODS | SWAPPED).json()
    assert whole["preferences"] == {"later": 2, "earlier": 1, "ties": 1, "undecided": 1, "probability": 1.0}
    assert preferred(whole["found"]) == {"how much leave": "after", "when is pay day": "before", "is there tea": None}


def test_two_deployments_that_are_swapped_have_the_same_pairs(versions: None, monitor: Monitor, lake: Lake) -> None:
    """The rows stand in the table of the deployment that was the later one when the judge was asked."""
    newer, older = TWO["deployment"], TWO["before_deployment"]
    ids = {"event_id": f"How much leave?-{newer}", "earlier_event_id": f"How much leave?-{older}"}
    keep(
        lake,
        said(0.0, "leave", **ids, date=at(1)["date"], earlier_date=at(20)["date"], earlier_deployment=older),
        deployment=newer,
    )
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        whole = client.get("/compare.json", params=TWO | {"deployment": older, "before_deployment": newer}).json()
    assert (whole["preferences"]["later"], whole["preferences"]["earlier"]) == (1, 0)
    assert preferred(whole["found"]) == {"how much leave": "after", "is there tea": None}


def test_a_pair_that_is_on_both_sides_either_way_counts_once(client: TestClient, lake: Lake) -> None:
    """As both periods are the same days: what was asked the way that the address names is not turned round."""
    keep(lake, said(0.0, "leave", earlier_date=at(4)["date"]))
    same = {"before_since": "2026-11-14", "before_until": "2026-11-20"}
    found = client.get("/compare.json", params=PERIODS | same).json()["preferences"]
    assert (found["later"], found["earlier"]) == (0, 1)


def test_of_a_day_that_an_onset_divides_no_pair_counts(client: TestClient, lake: Lake) -> None:
    """Its rows know days alone: whether an answer was before the onset is not known."""
    divided = PERIODS | {"onset": "2026-11-14T12:00Z"}
    for place, (days, earlier) in enumerate(((5, 7), (6, 7), (5, 6))):
        keep(lake, said(1.0, f"x{place}", date=at(days)["date"], earlier_date=at(earlier)["date"]))
    assert client.get("/compare.json", params=divided).json()["preferences"]["later"] == 1


def test_where_no_question_has_a_score_on_both_sides_the_counts_still_stand(client: TestClient, lake: Lake) -> None:
    """A judge needs no score: what it said is of the answers."""
    keep(lake, said(0.0, "leave"), said(0.0, "pay"))
    params = PERIODS | {"metric": "nobody_scores_it"}
    whole = client.get("/compare.json", params=params).json()
    assert (whole["found"], whole["preferences"]["earlier"]) == (None, 2)
    page = client.get("/compare", params=params).text
    assert "the earlier one in 2" in page
    assert "No question has a score of “nobody_scores_it” on both sides" in page
    assert "No question was asked" not in page


def test_answers_that_no_metric_scores_have_their_counts(
    rows: ScoreColumns, monitor: Monitor, lake: Lake, client: TestClient
) -> None:
    rows.logs("unscored", at(3) | {"event_id": "leave-1"})
    keep(lake, said(0.0, "leave", earlier_deployment="unscored"), deployment="unscored")
    monitor.refresh()
    whole = client.get("/compare.json", params={"deployment": "unscored"}).json()
    assert (whole["metric"], whole["found"], whole["preferences"]["earlier"]) == ("", None, 1)
    assert "has a score of a metric on both sides" in client.get("/compare", params={"deployment": "unscored"}).text


def test_of_each_question_the_latest_pair_counts_of_the_version_that_was_asked_last(
    client: TestClient, lake: Lake
) -> None:
    keep(lake, said(1.0, "leave", 2), said(0.0, "leave", 1, event_id="leave-again"))
    keep(lake, said(0.0, "pay", 3), said(0.0, "tea", 0, judge_version="1-old-0"))
    whole = client.get("/compare.json", params=PERIODS).json()
    assert whole["preferences"] == {"later": 1, "earlier": 1, "ties": 0, "undecided": 0, "probability": 1.0}
    assert preferred(whole["found"]) == {"how much leave": "after", "when is pay day": "before", "is there tea": None}


def test_pairs_of_other_days_or_another_deployment_do_not_count(client: TestClient, lake: Lake) -> None:
    """The last days of both periods do."""
    other = said(1.0, "tea", earlier_deployment="rag__1.0.0")
    late = said(1.0, "tea", earlier_date=at(14)["date"])
    keep(lake, other, late, said(1.0, "tea", date=at(7)["date"]), said(1.0, "tea", date=at(-1)["date"]))
    keep(lake, said(1.0, "tea", earlier_date=at(6)["date"]))
    assert client.get("/compare.json", params=PERIODS).json()["preferences"] is None
    for place, (days, earlier) in enumerate(((6, 13), (0, 7))):
        keep(lake, said(1.0, f"x{place}", date=at(days)["date"], earlier_date=at(earlier)["date"]))
    assert client.get("/compare.json", params=PERIODS).json()["preferences"]["later"] == 2


def test_where_no_judge_was_asked_the_page_has_the_command(client: TestClient, lake: Lake, monitor: Monitor) -> None:
    """With the days of the page; the command reads them as the page does, and finds what it was made for."""
    page = client.get("/compare", params=PERIODS).text
    words = html.unescape(page.partition("To ask: <code>")[2].partition("</code>")[0])
    assert words == (
        "dialwatch compare --deployment rag --since 2026-11-14 --until 2026-11-20 --before-since 2026-11-07 "
        "--before-until 2026-11-13"
    )
    done = CliRunner().invoke(commands, [*shlex.split(words)[1:], "--lake", lake.root])
    assert "which judge compares the answers" in str(done.exception)


def test_the_command_names_both_deployments(versions: None, monitor: Monitor) -> None:
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        page = client.get("/compare", params=TWO).text
    assert "dialwatch compare --deployment help__1.1.0 --before-deployment help__1.0.0 --since 2026-10-24" in page


def test_answers_that_are_their_own_pair_have_no_command(client: TestClient) -> None:
    """As where two versions of a metric are compared; and a run of replays has another one."""
    week = {"before_since": "2026-11-14", "before_until": "2026-11-20"}
    assert "dialwatch compare" not in client.get("/compare", params=PERIODS | week).text
    assert "dialwatch compare" not in client.get("/compare", params=PERIODS | {"between": "replays"}).text


def test_the_command_is_for_who_may_act_and_the_counts_for_all(monitor: Monitor, versions: None, lake: Lake) -> None:
    """Who may not see one of both deployments sees nothing; who may not read texts sees which answer is preferred."""
    newer, older = TWO["deployment"], TWO["before_deployment"]
    groups = {
        "acting": {"deployments": [newer, older], "rights": ["act"]},
        "half": {"deployments": [newer], "rights": ["act", "texts"]},
        "figures": {"deployments": [newer, older]},
    }
    access = {"proxy": {"addresses": ["10.0.0.7"], "groups": groups}}
    monitor.refresh()
    app = create_app(monitor, MonitorSettings.model_validate({"access": access}))
    with TestClient(app, client=("10.0.0.7", 5000)) as client:

        def get(path: str, *groups: str) -> Any:
            headers = {"X-Forwarded-User": "ann", "X-Forwarded-Groups": ",".join(groups)}
            return client.get(path, params=TWO, headers=headers)

        assert "dialwatch compare" in get("/compare", "acting").text
        assert "dialwatch compare" not in get("/compare", "figures").text
        assert "dialwatch compare" not in get("/compare", "figures", "half").text
        ids = {"event_id": f"How much leave?-{newer}", "earlier_event_id": f"How much leave?-{older}"}
        days = {"date": at(1)["date"], "earlier_date": at(20)["date"], "earlier_deployment": older}
        keep(lake, said(0.0, "leave", **ids, **days), deployment=newer)
        whole = get("/compare.json", "figures").json()
        assert whole["preferences"]["earlier"] == 1
        assert {(pair["preferred"], pair["after"]["answer"]) for pair in whole["found"]["pairs"]} == {
            ("before", None), (None, None),
        }  # fmt: skip
        assert "the earlier one in 1" in get("/compare", "figures").text
        hidden = get("/compare", "half")
        assert (hidden.status_code, "the earlier one in" in hidden.text) == (422, False)
