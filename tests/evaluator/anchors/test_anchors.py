"""Answers that are scored again and again, through the service and a real lake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evaluator.judges.exchange import Spend
from evaluator.metrics import Description, Metric, OddCases, Scores
from evaluator.metrics.scores import Score, score_rows
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.maintenance.retention import drop_before
from lake.spec.schemas import ANCHORS, PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.table import Table
from tests.killing import KILLED, Moment, die, run

NOW = datetime(2026, 11, 21, 6, tzinfo=UTC)
DAY = timedelta(days=1)
ABOUT = Description(asks="?", formula="", source="", odd_cases=OddCases())


@dataclass(frozen=True)
class Judged:
    """A metric of a judge that keeps its replies: it says 0.5, and what `shift` holds more, once for each draw."""

    shift: list[float] = field(default_factory=lambda: [0.0])
    kept: dict[tuple[Any, ...], float] = field(default_factory=dict)
    draw: int = 0
    name: str = "judged"
    version: str = "1"
    needs: tuple[str, ...] = ("answer",)
    judge: str = "model"
    about: Description = ABOUT

    def fresh(self, draw: int) -> Judged:
        return replace(self, draw=draw)

    def score(self, frame: pd.DataFrame) -> Scores:
        return score_rows(self, frame, self._of_row)

    def _of_row(self, answer: object) -> Score:
        value = self.kept.setdefault((self.version, self.draw, answer), 0.5 + self.shift[0])
        return Score(value, spend=Spend(calls=1, cost=0.25))


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes these the metrics of every deployment."""

    def chosen(*metrics: Any) -> None:
        def instead(_: EvaluatorSettings, names: Sequence[str]) -> list[Metric]:
            return list(metrics)

        monkeypatch.setattr(EvaluatorSettings, "metrics_named", instead)

    return chosen


def fill(traffic: Any, answers: int = 8, begin: int = 0, **columns: Any) -> None:
    numbers = range(begin, begin + answers)
    traffic.log(*(traffic.answer(f"{n}", n, answer=f"It is {n}.", **columns) for n in numbers))


def evaluate(lake: Lake, now: datetime = NOW, size: int = 4) -> None:
    settings = EvaluatorSettings.model_validate({"anchors": {"size": size}})
    assert Evaluator(lake, settings, clock=lambda: now).run_once().failures == ()


def anchors(lake: Lake, version: str = "1") -> list[dict[str, Any]]:
    rows = lake.table(ANCHORS, "rag").read().sort_by([("draw", "ascending"), ("event_id", "ascending")]).to_pylist()
    return [row for row in rows if row["metric_version"] == version]


def draws(lake: Lake, version: str = "1") -> Counter[int]:
    return Counter(row["draw"] for row in anchors(lake, version))


def due(now: datetime) -> int:
    """When the scoring of `rag` that came last was due, in seconds since 1970: each day at 17:58:08."""
    first = 17 * 3600 + 58 * 60 + 8
    return first + (int(now.timestamp()) - first) // 86400 * 86400


def test_anchors_are_scored_twice_at_first_and_then_once_a_day(lake: Lake, traffic: Any, use: Any) -> None:
    """Four of eight answers, the same ones each day, with what the judge says that day and not what it said before."""
    use(metric := Judged())
    fill(traffic)
    evaluate(lake)
    assert draws(lake) == {0: 4, 1: 4}
    metric.shift[0] = -0.25
    for _ in range(2):
        evaluate(lake, NOW + DAY)
    assert draws(lake) == {0: 4, 1: 4, due(NOW + DAY): 4}
    assert len({row["event_id"] for row in anchors(lake)}) == 4
    assert {row["draw"]: row["value"] for row in anchors(lake)} == {0: 0.5, 1: 0.5, due(NOW + DAY): 0.25}
    assert {row["scored_at"] for row in anchors(lake)} == {NOW, NOW + DAY}


def test_each_deployment_has_a_time_of_the_day_that_all_its_metrics_share(
    lake: Lake, traffic: Any, other_traffic: Any, use: Any
) -> None:
    """The hash of its name decides, whatever runs when; metrics of one draw can share what they ask."""
    use(Judged(), Judged(name="also judged"))
    for each in (traffic, other_traffic):
        fill(each, 4)
    settings = EvaluatorSettings.model_validate({"anchors": {"size": 4}})
    now = NOW
    evaluator = Evaluator(lake, settings, clock=lambda: now)
    for hour in range(36):
        now = NOW + timedelta(hours=hour)
        assert evaluator.run_once().failures == ()
    later = {}
    for each in (traffic, other_traffic):
        rows = [row for row in lake.table(ANCHORS, each.deployment).read().to_pylist() if row["draw"] > 1]
        later[each.deployment] = {(row["scored_at"] - NOW) / timedelta(hours=1) for row in rows}
        assert len({row["draw"] for row in rows}) == len(later[each.deployment])
        assert {row["metric"] for row in rows} == {"judged", "also judged"}
    assert later == {"rag": {12.0}, other_traffic.deployment: {17.0}}


def test_many_anchors_are_scored_in_portions_that_are_spread_over_the_day(lake: Lake, traffic: Any, use: Any) -> None:
    """200 in three portions, eight hours apart; each anchor once a day, whatever portion came first."""
    use(Judged())
    fill(traffic, 210)
    settings = EvaluatorSettings.model_validate({"anchors": {"size": 200}})
    now = NOW
    evaluator = Evaluator(lake, settings, clock=lambda: now)
    for hour in range(49):
        now = NOW + timedelta(hours=hour)
        assert evaluator.run_once().failures == ()
    later = [row for row in anchors(lake) if row["draw"] > 1]
    assert sorted(Counter(row["draw"] for row in later).values()) == [66, 66, 67, 67, 67, 67]
    assert set(Counter(row["event_id"] for row in later).values()) == {2}
    times = sorted({row["scored_at"] for row in later})
    assert {after - before for before, after in pairwise(times)} == {timedelta(hours=8)}


def test_which_answers_are_anchors_depends_on_their_ids_alone(tmp_path: Path, use: Any, traffic: Any) -> None:
    """Two lakes with the same answers, in one of them logged in another order, have the same anchors."""
    use(Judged())
    other = type(traffic)(Lake(str(tmp_path / "other")), "rag")
    fill(traffic)
    for begin in (4, 0):
        fill(other, 4, begin)
    for each in (traffic, other):
        evaluate(each.lake)
    assert [row["event_id"] for row in anchors(traffic.lake)] == [row["event_id"] for row in anchors(other.lake)]


def test_a_conversation_has_one_anchor(lake: Lake, traffic: Any, use: Any) -> None:
    """Eight answers of one chat give one, whatever the size."""
    use(Judged())
    fill(traffic, chat_id="chat")
    evaluate(lake)
    assert draws(lake) == {0: 1, 1: 1}


def test_a_lexical_metric_has_no_anchors(lake: Lake, traffic: Any, use: Any) -> None:
    """What cannot drift is not scored again; no table is made."""
    use(Judged(judge="lexical"), Judged(name="both", judge="lexical+lexical"))
    fill(traffic)
    evaluate(lake)
    assert lake.table(ANCHORS, "rag").version() is None


def test_an_anchor_that_is_erased_is_gone_and_replaced(lake: Lake, traffic: Any, use: Any) -> None:
    """Its rows go with the answer; another answer takes its place and begins with two scorings of its own."""
    use(Judged())
    fill(traffic)
    evaluate(lake)
    gone = anchors(lake)[0]
    receipt = erase(lake, Subject(response=gone["response_id"]), NOW)
    assert {one.table: one.erased for one in receipt.tables}["rag anchors"] == 2
    evaluate(lake, NOW + DAY)
    rows = anchors(lake)
    assert gone["event_id"] not in {row["event_id"] for row in rows}
    assert draws(lake) == {0: 4, 1: 4, due(NOW + DAY): 3}


def test_an_anchor_whose_answer_is_too_old_to_be_kept_is_replaced(lake: Lake, traffic: Any, use: Any) -> None:
    """Once retention has dropped the answers, younger ones are drawn, though the scores of the old ones are kept."""
    use(Judged())
    fill(traffic)
    evaluate(lake)
    fill(traffic, begin=24 * 60)
    drop_before(lake.table(PARSED_LOGS, "rag"), (NOW).date())
    evaluate(lake, NOW + DAY)
    rows = [row for row in anchors(lake) if row["scored_at"] == NOW + DAY]
    assert (len(rows), {row["date"] for row in rows}) == (8, {NOW.date()})


def test_a_new_version_scores_the_anchors_and_the_last_day_of_the_old_one(lake: Lake, traffic: Any, use: Any) -> None:
    """Both versions have a value for each anchor and for other answers of the last day; a day later only anchors."""
    use(Judged())
    fill(traffic)
    evaluate(lake)
    new = Judged(version="2", shift=[-0.2])
    use(new)
    evaluate(lake, NOW + DAY)
    assert draws(lake, "1") == {-1: 4, 0: 4, 1: 4}
    assert draws(lake, "2") == {-1: 4, 0: 4, 1: 4}
    of_both = [{row["event_id"]: row["value"] for row in anchors(lake, version)} for version in "12"]
    assert of_both[0].keys() == of_both[1].keys()
    assert (set(of_both[0].values()), set(of_both[1].values())) == ({0.5}, {0.3})
    copied = [row for row in anchors(lake, "1") if row["draw"] == -1]
    assert {(row["judge"], row["cost"]) for row in copied} == {("model", 0.0)}
    evaluate(lake, NOW + 2 * DAY)
    assert draws(lake, "2") == {-1: 4, 0: 4, 1: 4, due(NOW + 2 * DAY): 4}


def test_size_zero_turns_it_off(lake: Lake, traffic: Any, use: Any) -> None:
    """Then nothing is scored again."""
    use(Judged())
    fill(traffic)
    evaluate(lake, size=0)
    assert lake.table(ANCHORS, "rag").version() is None


def scoring(root: str, moment: Moment) -> None:
    """A scoring of the anchors that dies around its commit."""
    die(moment, Table, "append", counts=lambda to, *_, **__: to.spec is ANCHORS)
    EvaluatorSettings.metrics_named = lambda *_: [Judged()]  # type: ignore[method-assign]
    evaluate(Lake(root), NOW + DAY)


@pytest.mark.integration
def test_a_killed_scoring_is_made_once(lake: Lake, traffic: Any, use: Any) -> None:
    """SIGKILL before and after the commit: each anchor has one row of the day, whatever is run again."""
    use(Judged())
    fill(traffic)
    evaluate(lake)
    for moment, rows in (("before", 8), ("after", 12)):
        assert (run(scoring, lake.root, moment), len(anchors(lake))) == (KILLED, rows)
    evaluate(lake, NOW + DAY)
    assert draws(lake) == {0: 4, 1: 4, due(NOW + DAY): 4}
