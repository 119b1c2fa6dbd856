"""The pool of judges: its part of the budgets, what it learns of costs, and when old replies go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from evaluator.judges.budget_ledger import BudgetLedger
from evaluator.judges.calls import Calls
from evaluator.judges.exchange import Spend
from evaluator.judges.shared_replies import SharedReplies
from evaluator.metrics import Metric, registry
from evaluator.scoring import ScoreCounts
from evaluator.service.judge_pool import JudgePool
from lake.tables.lake import Lake
from tests.evaluator.judged import JUDGED, settings
from tests.evaluator.judges.scripted_server import ScriptedServer
from tests.evaluator.service.test_ensembles import NAMES, jury

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
USUAL_COST = 2000 / 1e6 + 300 * 10 / 1e6
"""Of a call with 2,000 tokens and a reply of 300."""
ANSWERS = 1000


class Group:
    """A group of so many evaluators."""

    def __init__(self, size: int) -> None:
        self.size = size

    def is_assigned(self, _: str) -> bool:
        return True


@contextmanager
def pool(
    lake: Lake, server: ScriptedServer, folder: Path, size: int = 1, **changes: Any
) -> Iterator[tuple[JudgePool, Sequence[Metric]]]:
    budget = changes.pop("budget", 1.0)
    chosen = settings(server.url, folder, {"budget_per_hour": budget} if budget else {}, **changes)
    with closing(JudgePool(chosen, lake, Group(size))) as made:
        yield made, made.bound([registry.REGISTRY[JUDGED]])  # type: ignore[index]


def share(made: tuple[JudgePool, Sequence[Metric]], minutes: int = 10, deployment: str = "rag") -> float:
    """Of the sample of answers that came in so many minutes."""
    judges, metrics = made
    times = pa.array([NOW, NOW + timedelta(minutes=minutes)] * (ANSWERS // 2), pa.timestamp("us", "UTC"))
    return judges.sampling(deployment, metrics, pa.table({"requested_at": times}), NOW).share


def part_of(budget_left: float, minutes: int = 10, cost: float = USUAL_COST) -> float:
    """The share that what is left of the hour's budget is enough for."""
    return budget_left * minutes / (minutes + 60) / (ANSWERS * cost)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_evaluators_of_a_group_take_equal_parts_of_what_is_left(
    lake: Lake, judge: ScriptedServer, tmp_path: Path, size: int
) -> None:
    """For the time in which the answers came."""
    with pool(lake, judge, tmp_path, size) as made:
        for minutes in (10, 30):
            assert share(made, minutes) == pytest.approx(max(0.01, part_of(1.0, minutes) / size))


@pytest.mark.parametrize(("own", "reserved"), [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.4, 0.5), (0.5, 0.4)])
def test_what_others_reserved_and_what_was_spent_here_is_not_left(
    lake: Lake, judge: ScriptedServer, tmp_path: Path, own: float, reserved: float
) -> None:
    """Each counts once: the lake's reservations have this machine's too, but for what it spent without the lake."""
    with closing(Calls(tmp_path / "calls.sqlite", NOW.timestamp)) as calls:
        calls.begin("strict", "key", own)
    if reserved:
        BudgetLedger(lake).reserve("strict", NOW, reserved, {"hour": 1.0})
    with pool(lake, judge, tmp_path) as made, pytest.MonkeyPatch.context() as patch:
        patch.setattr("evaluator.service.judge_pool.opened_calls", lambda path: Calls(path, NOW.timestamp))
        assert share(made) == pytest.approx(part_of(1.0 - max(own, reserved)))


def test_a_judge_without_a_budget_is_asked_about_all(lake: Lake, judge: ScriptedServer, tmp_path: Path) -> None:
    """Nothing is read of the lake for it; and so it is where no answer came."""
    with pool(lake, judge, tmp_path, budget=None) as made:
        assert share(made) == 1.0
    with pool(lake, judge, tmp_path) as (judges, metrics):
        none = pa.table({"requested_at": pa.array([], pa.timestamp("us", "UTC"))})
        assert judges.sampling("rag", metrics, none, NOW).share == 1.0
        assert judges.sampling("rag", [], none, NOW).share == 1.0


def test_a_judges_part_of_what_a_jury_did_cost_is_learned(lake: Lake, judge: ScriptedServer, tmp_path: Path) -> None:
    """By their prices: of three, of which one is three times and one four times as dear, an eighth is the first's."""
    given = {"base_url": judge.url, "max_tokens": 100}
    judges = {
        name: given | {"model": name, "prompt_price": times, "completion_price": 10 * times}
        for name, times in zip(NAMES, (1, 3, 4), strict=True)
    }
    judges[NAMES[0]]["budget_per_hour"] = 1.0
    chosen = jury(judge.url, tmp_path, judges=judges)
    with closing(JudgePool(chosen, lake)) as judged:
        made = judged, judged.bound([registry.REGISTRY[JUDGED]])  # type: ignore[index]
        assert share(made) == pytest.approx(part_of(1.0))
        counts = ScoreCounts(judged=100, not_sampled=900, expected=1000.0, spend=Spend(calls=300, cost=4.0))
        judged.learn("rag", made[1], counts)
        assert share(made) == pytest.approx(part_of(1.0, cost=0.5 / 100))


def test_what_is_learned_of_one_deployment_counts_for_it_alone(
    lake: Lake, judge: ScriptedServer, tmp_path: Path
) -> None:
    """How likely an answer is in the sample, and what one costs."""
    with pool(lake, judge, tmp_path) as made:
        share(made)
        counts = ScoreCounts(judged=100, not_sampled=900, expected=500.0, spend=Spend(calls=100, cost=1.0))
        made[0].learn("rag", made[1], counts)
        assert share(made) == pytest.approx(part_of(1.0, cost=0.5 * 0.01))


def test_old_replies_go_once_an_hour_and_those_of_the_lake_once_a_day(
    lake: Lake, judge: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the lake refuses; a clock that was set back is waited for by neither."""
    done: list[tuple[str, Any]] = []
    monkeypatch.setattr(Calls, "prune", lambda _, days: done.append(("file", days)))

    def refuse(_: SharedReplies, before: datetime) -> int:
        done.append(("lake", before))
        raise OSError("no")

    monkeypatch.setattr(SharedReplies, "forget", refuse)

    def pruned(judges: JudgePool, hours: float) -> list[str]:
        done.clear()
        judges.prune(NOW + hours * HOUR)
        return [where for where, _ in done]

    with pool(lake, judge, tmp_path, judge_calls_retention="2d") as (judges, _):
        assert pruned(judges, 0) == ["lake", "file"]
        assert done == [("lake", NOW - timedelta(days=2)), ("file", 2.0)]
        assert pruned(judges, 0.99) == []
        assert [pruned(judges, hours) for hours in (1, 1.5, 2)] == [["file"], [], ["file"]]
        assert pruned(judges, 23.99) == ["file"]
        assert pruned(judges, 24) == ["lake"]
        assert pruned(judges, -5) == ["lake", "file"]
    with closing(JudgePool(settings(judge.url, tmp_path), lake)) as unused:
        assert pruned(unused, 0) == ["lake"]
        assert unused.spent_today() == {}
