"""The overview: what a row says, its search, order and period, who sees which rows, and what an empty one says."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.conftest import NOW, STRANGE_NAME, Clock, ScoreColumns
from tests.monitor.pages.incidents.conftest import regression

__all__ = ["regression"]

GROUPS = {"search": {"deployments": ["rag-*"]}, "all": {"deployments": ["*"]}}
PROXY = {"access": {"proxy": {"addresses": ["10.0.0.7"], "groups": GROUPS}}}

Ask = Callable[..., Any]


@pytest.fixture
def ask(monitor: Monitor) -> Ask:
    """Gives the overview as a page, or as JSON, to who may see everything."""
    client = TestClient(create_app(monitor))

    def found(path: str = "/") -> Any:
        answer = client.get(path)
        assert answer.status_code == 200
        return answer.json() if ".json" in path else answer.text

    return found


def cells(page: str, name: str) -> list[str]:
    """Words of the cells of a deployment's row."""
    page = page.replace("<wbr>", "")
    rows = re.findall(r"<tr.*?</tr>", page.split('class="overview"')[1].split("</table>")[0], re.DOTALL)
    (row,) = [one for one in rows if f"<bdi>{name}</bdi>" in html.unescape(one)]
    found = re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row, re.DOTALL)
    return [
        " ".join(html.unescape(re.sub(r"<(?!b>|/b>).*?>", " ", cell.replace("<wbr>", ""))).split()) for cell in found
    ]


def order(page: str) -> list[str]:
    page = page.replace("<wbr>", "")
    return [html.unescape(name) for name in re.findall(r'<th scope="row"><a [^>]*><bdi>(.*?)</bdi>', page, re.DOTALL)]


@pytest.mark.usefixtures("three_deployments")
def test_a_row_says_all_of_its_period(monitor: Monitor, ask: Ask, rows: ScoreColumns) -> None:
    """State, worst metric and change, traffic, failures by reason, dislikes, coverage and last score."""
    rows.logs("rag-search", {"status": 429}, {"status": 429}, {"status": 503}, {"error": "cut"})
    monitor.refresh()
    name, state, worst, trend, *figures = cells(ask("/?days=1"), "rag-search")
    assert name == "rag-search"
    said = r"▼ urgent fell 0\.8\d to 0\.2\d since 20 Nov, 0\d:00 UTC: “answer words found in the documents”"
    assert re.fullmatch(said, state)
    assert re.fullmatch(
        r"Answer words found in the documents faithfulness_kprecision 0\.3\d by now \(0\.2\d in the alert\); in 1 day: "
        r"0\.6\d \(reference 0\.8\d\)",
        worst,
    )
    assert trend == ""
    counts = [
        "484",
        "4 2: HTTP 429 (too many requests) 1: HTTP 503 (server not available) 1: no whole answer",
        "1 of 3 ratings",
        "100 % of 480 answers",
    ]
    assert figures == [*counts, "20 Nov, 12:00 UTC"]
    label = re.search(r'role="img" aria-label="(.*?)"', ask("/?days=1"))
    assert label
    assert re.fullmatch(
        r"Mean over 1 day: first 0\.\d\d, last 0\.3\d, lowest 0\.\d\d, highest 0\.\d\d; reference 0\.8\d", label[1]
    )


@pytest.mark.usefixtures("three_deployments")
def test_each_figure_names_its_period(monitor: Monitor, ask: Ask) -> None:
    """All columns but the state of now and the last score's time say how many days they are about."""
    monitor.refresh()
    for days, words in ((1, "1\xa0day"), (7, "7\xa0days"), (30, "30\xa0days")):
        page = ask(f"/?days={days}")
        heads = re.findall('<th scope="col".*?</th>', page.split('class="overview"')[1])[:9]
        heads = [re.sub("<.*?>", "", head) for head in heads]
        assert [head for head in heads if words not in head] == ["Deployment", "State now ▴", "Last score"]
        assert f"requests in {words.replace(chr(160), ' ')}, from" in page


def test_a_period_has_the_requests_of_its_days(monitor: Monitor, ask: Ask, rows: ScoreColumns, clock: Clock) -> None:
    """1, 7 and 30 days; what is older, or of another origin, is in none, and with time requests leave the period."""
    for hours in (0, 20, 30, 24 * 6, 24 * 20, 24 * 40):
        at = NOW - timedelta(hours=hours)
        rows.logs("rag", {"requested_at": at, "date": at.date(), "status": 500})
    rows.logs("rag", {"origin": "replay"})
    monitor.refresh()
    for days, requests in ((1, 2), (7, 4), (30, 5)):
        found = ask(f"/overview.json?days={days}")
        (row,) = found["rows"]
        assert (found["days"], found["requests"]) == (days, requests)
        assert (row["requests"], row["failed"], row["failures"]) == (requests, requests, {"500": requests})
    clock.advance(hours=30)
    monitor.refresh()
    assert ask("/overview.json?days=1")["requests"] == 0
    assert cells(ask("/?days=1"), "rag")[1] == "no scores no request in 1 day"


@pytest.mark.usefixtures("three_deployments")
def test_each_state_has_its_word(monitor: Monitor, ask: Ask, rows: ScoreColumns) -> None:
    """Page, fine, improved, learning, no data, not watched: problems first, and the filter gives each alone."""
    rows.hours("better", 60, lambda left: 0.5 if left > 20 else 0.9, "m")
    rows.hours("new", 2, lambda left: 0.5, "m")
    endless = {"direction": "down", "low": 0.0, "high": float("inf"), "metric": "seconds", "value": 2.0}
    rows.scores("slow", endless, endless)
    monitor.refresh()
    expected = {
        "rag-search": "page",
        "new": "learning",
        "better": "improved",
        STRANGE_NAME: "fine",
        "slow": "not watched",
        "gpt-4o": "no data",
    }
    found = ask("/overview.json")
    assert {row["deployment"]: row["state"] for row in found["rows"] if row["deployment"]} == expected
    assert order(ask("/")) == list(expected)
    for name, state in expected.items():
        alone = ask(f"/?state={state}")
        assert order(alone) == [name]
        assert f'selected value="{state}"' in alone
    assert found["states"]["page"] == 1
    assert found["deployments"] == 6


def test_a_limit_that_is_exceeded_is_a_problem(monitor: Monitor, ask: Ask, rows: ScoreColumns) -> None:
    """It names the limit; a deployment without scores has one, too."""
    rows.logs("ok", *[{}] * 60)
    before = {"requested_at": NOW - timedelta(minutes=10)}
    rows.logs("bad", *[before] * 60, *[{"status": 500}] * 60)
    monitor.refresh()
    states = {row["deployment"]: (row["state"], row["why"]) for row in ask("/overview.json")["rows"]}
    assert states["bad"] == ("warning", "limit exceeded: “failed requests”")
    assert states["ok"] == ("no data", "the evaluator has not scored its answers yet")


def test_why_there_are_no_scores_stands_beside_the_requests(monitor: Monitor, ask: Ask, rows: ScoreColumns) -> None:
    """What only applications call, such as a model, is not scored."""
    rows.logs("model", *[{"is_entry": False}] * 60)
    monitor.refresh()
    assert cells(ask("/"), "model")[1] == "no scores it gave no answer to a person, and only these are scored"


def test_a_row_is_about_one_metric_and_says_the_value_of_now(monitor: Monitor, ask: Ask, rows: ScoreColumns) -> None:
    """Of several that fell it is the one that fell most, in both cells, by its alert and now; also one that is well."""
    rows.hours("rag", 48, lambda left: 0.9 if left > 10 else 0.5, "answer_relevancy")
    rows.hours("rag", 48, lambda left: 0.9 if left > 10 else 0.2, "faithfulness_kprecision", seed=2)
    rows.hours("well", 48, lambda left: 0.8, "faithfulness_kprecision", seed=3)
    monitor.refresh()
    page = ask("/")
    _, state, worst, *_ = cells(page, "rag")
    (fell,) = re.findall(
        r"^▼ urgent fell 0\.\d\d to (0\.2\d) since .*: “answer words found in the documents”; 1 more$", state
    )
    alerts = monitor.snapshot.deployments["rag"].incidents[0].alerts if monitor.snapshot else ()
    assert fell in {f"{one.current_mean:.2f}" for one in alerts if one.key.metric == "faithfulness_kprecision"}
    assert re.match(
        r"Answer words found in the documents faithfulness_kprecision 0\.2\d by now( \(0\.\d\d in the alert\))?; in ",
        worst,
    )
    _, state, worst, *_ = cells(page, "well")
    assert state.startswith("✓ fine")
    assert re.match(
        r"Answer words found in the documents faithfulness_kprecision 0\.\d\d latest; in 7 days: 0\.\d\d ",
        worst,
    )


@pytest.mark.usefixtures("three_deployments")
def test_the_address_holds_search_order_and_period(monitor: Monitor, ask: Ask) -> None:
    """Links of headings and periods, and the form, keep what was chosen; so does the refresh."""
    monitor.refresh()
    page = ask("/?q=G&state=no+data&sort=requests&reverse=true&days=30")
    assert order(page) == ["gpt-4o"]
    links = {html.unescape(link) for link in re.findall(r'href="(/\?.*?)"', page)}
    assert "/?q=G&state=no+data&sort=requests&reverse=true&days=1" in links
    assert "/?q=G&state=no+data&sort=requests&days=30" in links
    assert "/?q=G&state=no+data&sort=name&days=30" in links
    assert "/?sort=requests&reverse=true&days=30" in links
    form = page.split('action="/" role="search"')[1].split("</form>")[0]
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', form))
    assert hidden == {"sort": "requests", "reverse": "true", "days": "30"}
    assert 'name="q" value="G"' in form
    assert re.findall(r'http-equiv="refresh" content="(.*?)"', page) == ["15"]
    assert page.count('aria-sort="ascending"') == 1


def test_figures_lead_to_the_answers_that_they_count(monitor: Monitor, rows: ScoreColumns) -> None:
    """As many failed and disliked answers are found as the table says, and the worst one first."""
    times = [NOW - timedelta(minutes=20 * n) for n in range(150)]
    each = [
        {"event_id": f"answer-{n}", "response_id": f"answer-{n}", "requested_at": at, "date": at.date()}
        for n, at in enumerate(times)
    ]
    rows.logs("rag-search", *each)
    rows.scores("rag-search", *(one | {"score_id": one["event_id"], "value": n / 150} for n, one in enumerate(each)))
    rows.signals("rag-search", "like", "dislike")
    rows.logs(
        "rag-search", {"event_id": "failed", "status": 500}, {"event_id": "call", "status": 429, "is_entry": False}
    )
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        table = client.get("/?days=30").text.split("<tbody>")[1]
        row = next(part for part in table.split("<tr") if ">rag-search<" in part)
        links = {html.unescape(link): shown for link, shown in re.findall(r'href="(/answers[^"]*)">([^<]*)<', row)}
        found = {link: client.get(link.replace("/answers", "/answers.json", 1)).json() for link in links}
    totals = {link: (shown, str(found[link]["total"])) for link, shown in links.items()}
    assert [of for link, of in totals.items() if "status=failed" in link] == [("2", "2")]
    assert [of for link, of in totals.items() if "rating=disliked" in link] == [("1", "1")]
    (worst,) = [link for link in links if "sort=faithfulness_kprecision" in link]
    values = [one["values"]["faithfulness_kprecision"] for one in found[worst]["rows"]]
    assert values == sorted(values)
    assert values[0] == 0


def test_the_mean_of_a_metric_that_fell_leads_to_the_answers_since_the_fall(
    monitor: Monitor, rows: ScoreColumns, regression: None
) -> None:
    """The worst first, none of before; of a metric that has not fallen it is the whole period."""
    rows.hours("well", 48, lambda left: 0.7, "faithfulness_kprecision")
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        found = re.findall(r'<a class="mean" href="(/answers[^"]*)"', client.get("/").text)
        since, usual = (
            next(html.unescape(link) for link in found if f"deployment={name}&" in link)
            for name in ("rag-search", "well")
        )
        listed = client.get(since.replace("/answers", "/answers.json", 1)).json()
    assert "start_time" not in usual
    assert "sort=faithfulness_kprecision&order=asc" in since
    assert listed["total"] == 100
    assert min(datetime.fromisoformat(one["requested_at"]) for one in listed["rows"]) == NOW - timedelta(hours=10)


@pytest.mark.usefixtures("three_deployments")
def test_a_reader_can_stop_the_renewal(monitor: Monitor, ask: Ask) -> None:
    """The link keeps the search, and every link of the page that stands still keeps it standing still."""
    monitor.refresh()
    (stop,) = re.findall(r'<a href="([^"]*)">Stop that</a>', ask("/?q=gpt"))
    page = ask(html.unescape(stop))
    assert order(page) == ["gpt-4o"]
    assert 'http-equiv="refresh"' not in page
    links = [html.unescape(link) for link in re.findall(r'href="(/\?.*?)"', page)]
    assert [link for link in links if "renew=false" not in link] == ["/?q=gpt"]
    assert 'type="hidden" name="renew" value="false"' in page


@pytest.mark.usefixtures("three_deployments")
def test_an_address_with_another_value_is_refused(monitor: Monitor) -> None:
    """An unknown state, column or period is 422, with the parameter's name, and not the table of something else."""
    monitor.refresh()
    client = TestClient(create_app(monitor))
    for parameter, value in (("days", "2"), ("state", "good"), ("sort", "x"), ("reverse", "x"), ("q", "x" * 401)):
        answer = client.get("/", params={parameter: value})
        assert (answer.status_code, f"lacks a usable {parameter}" in answer.text) == (422, True)
    assert client.get("/?q=&state=&sort=state&days=7").status_code == 200


@pytest.mark.usefixtures("three_deployments")
def test_what_one_may_not_see_is_in_no_row_and_no_total(monitor: Monitor) -> None:
    """Neither as a row, nor in requests, states, numbers of deployments, costs or lines."""
    monitor.refresh()
    client = TestClient(create_app(monitor, MonitorSettings.model_validate(PROXY)), client=("10.0.0.7", 5000))

    def seen(group: str, path: str) -> Any:
        headers = {"X-Forwarded-User": "ann", "X-Forwarded-Groups": group, "Accept": "text/html"}
        answer = client.get(path, headers=headers)
        assert answer.status_code == 200
        return answer

    own = seen("search", "/overview.json").json()
    assert [row["deployment"] for row in own["rows"]] == ["rag-search"]
    assert (own["deployments"], own["requests"], own["states"]) == (1, 960, {"page": 1})
    every = seen("all", "/overview.json").json()
    assert (every["deployments"], every["requests"]) == (3, 960 + 660 + 3)
    page = seen("search", "/").text
    assert order(page) == ["rag-search"]
    assert "1 deployment with 960 requests" in page
    assert "log lines" not in page
    assert "3,014 log lines" in seen("all", "/").text
    assert seen("search", "/overview.json?q=gpt").json()["rows"] == []
    assert "gpt" not in seen("search", "/?state=no+data").text


def test_empty_states_say_what_to_do(monitor: Monitor, ask: Ask, rows: ScoreColumns) -> None:
    """Before the first look, without a lake, and where nothing fits the search."""
    assert "Reading the lake" in ask("/")
    assert ask("/overview.json")["rows"] is None
    monitor.refresh()
    assert re.search(r"Nothing has arrived yet.*dialwatch up", ask("/"), re.DOTALL)
    assert ask("/overview.json")["rows"] == []
    rows.logs("rag", {})
    monitor.refresh()
    for path in ("/?q=zzz&days=30", "/?state=page&days=30"):
        page = ask(path)
        assert "No deployment matches the search" in page
        assert '<a href="/?days=30">all deployments</a>' in page


def test_hostile_names_and_searches_are_text(monitor: Monitor, ask: Ask, rows: ScoreColumns) -> None:
    """A name, metric or search that looks like HTML, turns the direction of the line or formats, is shown as it is."""
    attack = "\"><script>alert(1)</script>\u202e{{7*7}}%s' onload=x"
    rows.logs(attack, {})
    rows.hours(attack, 4, lambda left: 0.5, attack)
    monitor.refresh()
    page = TestClient(create_app(monitor)).get("/", params={"q": attack}).text
    assert "<script" not in page.replace('<script src="/static/keys.js" defer></script>', "")
    assert order(page) == [attack]
    assert cells(page, attack)[0] == attack
    assert f'name="q" value="{html.escape(attack).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")}"' in page


def test_what_is_not_scored_is_not_covered(monitor: Monitor, ask: Ask, rows: ScoreColumns) -> None:
    """Of four answers one has two scores, one a score of a backfill, one none but a reason: a quarter is covered."""
    rows.logs("rag", *[{}] * 4, {"status": 500}, {"is_entry": False})
    rows.scores(
        "rag",
        {"metric": "a", "value": 0.5, "response_id": "1"},
        {"metric": "b", "value": 0.5, "response_id": "1"},
        {"metric": "a", "value": 0.5, "response_id": "2", "is_backfill": True},
        {"metric": "a", "reason": "no_answer", "response_id": "3"},
    )
    monitor.refresh()
    (row,) = ask("/overview.json")["rows"]
    assert (row["answers"], row["coverage"]) == (4, 0.25)
    assert cells(ask("/"), "rag")[7] == "25 % of 4 answers"


def test_scores_beyond_any_range_break_nothing(monitor: Monitor, ask: Ask, rows: ScoreColumns) -> None:
    """Infinite scores count in no mean; times of another century are in no period."""
    rows.hours("rag", 20, lambda left: 0.7, "m")
    odd = [float("inf"), float("-inf")]
    rows.scores("rag", *({"metric": "m", "value": value, "response_id": str(value)} for value in odd))
    rows.logs("rag", {"requested_at": NOW.replace(year=2226)}, {"requested_at": NOW.replace(year=1926)})
    monitor.refresh()
    (row,) = ask("/overview.json")["rows"]
    assert (row["requests"], row["worst"]["metric"]) == (400, "m")
    assert 0.6 < row["worst"]["mean"] < 0.8
    assert "rag" in order(ask("/"))
