"""The laws: what a stream does that nobody would call a regression, and the falls that everybody would."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.regression.law_traffic import (
    HOURLY,
    Classes,
    Floats,
    Traffic,
    hours_of,
    is_weekend,
    scores,
    segment,
    traffic,
)

Draw = Callable[[np.random.Generator, int], Traffic]
_CHANGE = 30 * 24
_MONTH = 30 * 24


@dataclass(frozen=True)
class Law:
    """A name, and how a stream of so many days is drawn."""

    name: str
    traffic: Draw


def mood(generator: np.random.Generator, at: Floats, deviation: float, rho: float = 0.95) -> Floats:
    """Draw what an hour's answers have in common, AR(1) from hour to hour."""
    hours = int(at.max()) + 1
    noise = generator.normal(0.0, deviation * np.sqrt(1.0 - rho**2), hours)
    found = np.empty(hours)
    found[0] = generator.normal(0.0, deviation)
    for hour in range(1, hours):
        found[hour] = rho * found[hour - 1] + noise[hour]
    return np.asarray(found[at.astype(np.intp)])


def _steady(generator: np.random.Generator, days: int) -> Traffic:
    at = hours_of(generator, days)
    return traffic(generator, at, np.zeros(len(at)))


def _moody(deviation: float) -> Draw:
    def draw(generator: np.random.Generator, days: int) -> Traffic:
        at = hours_of(generator, days)
        return traffic(generator, at, mood(generator, at, deviation))

    return draw


def _weekends(generator: np.random.Generator, days: int) -> Traffic:
    at = hours_of(generator, days)
    return traffic(generator, at, np.where(is_weekend(at), 0.10, 0.0))


def _nights(generator: np.random.Generator, days: int) -> Traffic:
    at = hours_of(generator, days)
    return traffic(generator, at, np.where((at % 24 < 8) | (at % 24 >= 20), 0.08, 0.0))


def _tenant(generator: np.random.Generator, days: int) -> Traffic:
    at = hours_of(generator, days)
    there = generator.uniform(size=len(at)) < 0.31 * np.clip((at - 2 * _MONTH) / 72, 0.0, 1.0)
    classes = Classes.usual(generator, len(at))
    classes = replace(classes, languages=np.where(there, "uk", classes.languages))
    return traffic(generator, at, np.where(there, 0.15, 0.0), classes)


def _growing(generator: np.random.Generator, days: int) -> Traffic:
    at = hours_of(generator, days)
    share = 0.14 + 0.46 * np.clip((at - 2 * _MONTH) / (2 * _MONTH), 0.0, 1.0)
    there = generator.uniform(size=len(at)) < share
    classes = Classes.usual(generator, len(at))
    classes = replace(classes, languages=np.where(there, "pl", classes.languages))
    return traffic(generator, at, np.where(there, 0.10, 0.0), classes)


def _load_test(generator: np.random.Generator, days: int) -> Traffic:
    usual = _steady(generator, days)
    at = 24.0 * 40 + np.sort(generator.uniform(0.0, 3.0, 10_000))
    chats, same = np.arange(10_000), np.zeros(10_000, dtype=np.intp)
    return usual.and_more(at, np.ones(10_000), chats=chats, questions=same, name=segment("en", "short"))


def _bots(generator: np.random.Generator, days: int) -> Traffic:
    """Every ten weeks a client asks one hard question for six hours, 40 times an hour, each time in a new chat."""
    found = _steady(generator, days)
    for begin in range(20, days - 1, 70):
        at = 24.0 * begin + 10 + np.sort(generator.uniform(0.0, 6.0, 240))
        values = generator.choice([0.0, 0.25, 0.5], 240)
        same = np.zeros(240, dtype=np.intp)
        found = found.and_more(at, values, chats=np.arange(240), questions=same, name=segment("en", "long"))
    return found


def _monthly_mix(generator: np.random.Generator, days: int) -> Traffic:
    """Each month long questions, 0.10 harder, have another share."""
    at = hours_of(generator, days)
    shares = generator.uniform(0.05, 0.35, days // 30 + 2)[(at // _MONTH).astype(np.intp)]
    is_long = generator.uniform(size=len(at)) < shares
    classes = Classes.usual(generator, len(at))
    lengths = np.where(is_long, "long", np.where(classes.lengths == "long", "medium", classes.lengths))
    return traffic(generator, at, np.where(is_long, 0.10, 0.0), replace(classes, lengths=lengths))


def _users(generator: np.random.Generator, days: int) -> Traffic:
    """Users of very unequal activity, each with a difficulty of their own, who come for two hours at a time."""
    at = hours_of(generator, days)
    activity = generator.pareto(1.2, 400) + 1.0
    harder = generator.normal(0.0, 0.08, 400)
    blocks = (at // 2).astype(np.intp)
    there = generator.choice(400, (blocks.max() + 1, 6), p=activity / activity.sum())
    users = there[blocks, generator.integers(0, 6, len(at))]
    chats = np.unique(np.stack([blocks, users]), axis=1, return_inverse=True)[1]
    return traffic(generator, at, harder[users], chats=chats.ravel().astype(np.intp))


def _gaps(generator: np.random.Generator, days: int) -> Traffic:
    """One day in four is missing, and one week."""
    usual = _steady(generator, days)
    missing = generator.uniform(size=days) < 0.25
    missing[50:57] = True
    return usual.where(~missing[(usual.at // 24).astype(np.intp)])


def _small(generator: np.random.Generator, days: int) -> Traffic:
    at = hours_of(generator, days, HOURLY / 20)
    return traffic(generator, at, np.zeros(len(at)))


def _small_weekends(generator: np.random.Generator, days: int) -> Traffic:
    at = hours_of(generator, days, HOURLY / 5)
    return traffic(generator, at, np.where(is_weekend(at), 0.10, 0.0))


def _drift(generator: np.random.Generator, days: int) -> Traffic:
    """The mean goes down by 0.015 in a year, which is within the tolerance."""
    at = hours_of(generator, days)
    return traffic(generator, at, 0.015 * at / (days * 24.0))


def _season(generator: np.random.Generator, days: int) -> Traffic:
    """A wave of 28 days, up and down by 0.015."""
    at = hours_of(generator, days)
    return traffic(generator, at, 0.015 * np.sin(2 * np.pi * at / (28 * 24.0)))


def _judge(generator: np.random.Generator, days: int) -> Traffic:
    """Scores of a judge: mostly 0, 0.7 or 1, noise around them."""
    at = hours_of(generator, days)
    middle = generator.choice([0.0, 0.7, 1.0], len(at), p=[0.12, 0.33, 0.55])
    values = np.clip(middle + generator.normal(0.0, 0.04, len(at)), 0.0, 1.0)
    return traffic(generator, at, np.zeros(len(at)), values=values)


def _ceiling(generator: np.random.Generator, days: int) -> Traffic:
    """99.4 % perfect answers."""
    at = hours_of(generator, days)
    values = np.where(generator.uniform(size=len(at)) < 0.006, 0.0, 1.0)
    return traffic(generator, at, np.zeros(len(at)), values=values)


def _holidays(generator: np.random.Generator, days: int) -> Traffic:
    """Ten single days a year with a third of the traffic, 0.05 harder."""
    at = hours_of(generator, days)
    chosen = np.zeros(days + 1, dtype=np.bool_)
    chosen[generator.choice(np.arange(20, days), max(1, days * 10 // 365), replace=False)] = True
    of_day = chosen[(at // 24).astype(np.intp)]
    found = traffic(generator, at, np.where(of_day, 0.05, 0.0))
    return found.where(~of_day | (generator.uniform(size=len(at)) < 1 / 3))


def _one_class(generator: np.random.Generator, days: int) -> Traffic:
    """All in one language until a second one comes with 0.15 harder questions."""
    at = hours_of(generator, days)
    there = generator.uniform(size=len(at)) < 0.31 * (at > 2 * _MONTH)
    classes = Classes.usual(generator, len(at))
    return traffic(generator, at, np.where(there, 0.15, 0.0), replace(classes, languages=np.where(there, "uk", "en")))


def _failing_hours(share: float, failing: float, hours: int, mean: float = 1.0) -> Draw:
    """In a share of times, of so many hours each, a part of the answers is wrong beyond the mean of the others."""

    def draw(generator: np.random.Generator, days: int) -> Traffic:
        at = hours_of(generator, days)
        failed = np.repeat(generator.uniform(size=days * 24 // hours + 1) < share, hours)[at.astype(np.intp)]
        right = generator.uniform(size=len(at)) < np.where(failed, mean * (1.0 - failing), mean)
        return traffic(generator, at, np.zeros(len(at)), values=right.astype(np.float64))

    return draw


def _of_clients(at: Floats, values: Floats, of_second: NDArray[np.bool_], *, told: bool) -> Traffic:
    """Answers to two clients, which `scores.segment` tells or not."""
    alone = np.arange(len(at), dtype=np.intp)
    names = ("a", "b") if told else ("", "")
    classes = tuple(json.dumps({"language": "en"} | ({"project": name} if name else {})) for name in names)
    return Traffic(at, alone, alone, values, of_second.astype(np.intp), classes)


def _wandering_clients(*, told: bool) -> Draw:
    """Two clients, one 0.10 better and the other 0.15 worse, whose shares wander for weeks."""

    def draw(generator: np.random.Generator, days: int) -> Traffic:
        at = hours_of(generator, days)
        there = generator.uniform(size=len(at)) < 1.0 / (1.0 + np.exp(-mood(generator, at, 1.0, 0.998)))
        return _of_clients(at, scores(generator, np.where(there, 0.15, -0.10)), there, told=told)

    return draw


def _client_away(*, told: bool) -> Draw:
    """A client with 30 % of the traffic, 0.15 better than the others, is away for two weeks of 75 days each."""

    def draw(generator: np.random.Generator, days: int) -> Traffic:
        at = hours_of(generator, days)
        there = generator.uniform(size=len(at)) < 0.3
        is_away = (at >= 60 * 24) & ((at - 60 * 24) % (75 * 24) < 14 * 24)
        found = _of_clients(at, scores(generator, np.where(there, -0.15, 0.0)), there, told=told)
        return found.where(~(there & is_away))

    return draw


def _long_chats(generator: np.random.Generator, days: int) -> Traffic:
    at = hours_of(generator, days, 0.6 * HOURLY)
    made = traffic(generator, at, np.zeros(len(at)))
    chats = generator.poisson(days * 24 * 0.4 * HOURLY / 48)
    begins, right = generator.uniform(0, days * 24 - 48, chats), generator.uniform(size=chats) < 0.8
    of_each = np.repeat(np.arange(chats), 48)
    later = begins[of_each] + generator.uniform(0, 48, len(of_each))
    values = right[of_each].astype(np.float64)
    questions = np.arange(len(of_each))
    return made.and_more(later, values, chats=of_each, questions=questions, name=made.classes[0])


def _of_few_questions(generator: np.random.Generator, found: Traffic, *, are_kept: bool) -> Traffic:
    """60 % of the questions are one of 30; which are asked most changes each week. Answers may be kept for a month."""
    at = found.at
    weeks, months = (at // (7 * 24)).astype(np.intp), (at // _MONTH).astype(np.intp)
    shares = np.array([generator.permutation(1.0 / np.arange(1, 31)) for _ in range(weeks.max() + 1)])
    most = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)[weeks]
    asked = (generator.uniform(size=(len(at), 1)) > most).sum(axis=1).clip(0, 29)
    kept = (generator.uniform(size=(months.max() + 1, 30)) < 0.8).astype(np.float64)
    is_kept = generator.uniform(size=len(at)) < 0.6
    values = np.where(is_kept & are_kept, kept[months, asked], found.values)
    return replace(found, values=values, questions=np.where(is_kept, asked - 30, found.questions))


def _cached(generator: np.random.Generator, days: int) -> Traffic:
    at = hours_of(generator, days)
    return _of_few_questions(generator, traffic(generator, at, np.zeros(len(at))), are_kept=True)


def _ends_of_months(generator: np.random.Generator, days: int) -> Traffic:
    """On the last working day of each month three times the others' traffic is there too, and all is 0.15 harder."""
    ends = (np.cumsum([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) - 1).astype(np.float64)
    while (weekend := is_weekend(ends * 24)).any():
        ends[weekend] -= 1
    at, more = hours_of(generator, days), hours_of(generator, days, 3 * HOURLY)
    at = np.sort(np.concatenate([at, more[np.isin(more // 24, ends)]]))
    return traffic(generator, at, np.where(np.isin(at // 24, ends), 0.15, 0.0))


def _ends_of_quarters(generator: np.random.Generator, days: int) -> Traffic:
    at = hours_of(generator, days)
    return traffic(generator, at, np.where(np.isin(at // (7 * 24), (12, 25, 38, 51)), 0.06, 0.0))


LAWS = (
    Law("steady", _steady),
    Law("mood of sd 0.03, from hour to hour AR(1) 0.95", _moody(0.03)),
    Law("mood of sd 0.05, from hour to hour AR(1) 0.95", _moody(0.05)),
    Law("weekends harder by 0.10", _weekends),
    Law("nights harder by 0.08", _nights),
    Law("tenant in a new language, 0.15 harder", _tenant),
    Law("second language of an application that had one, 0.15 harder", _one_class),
    Law("known language, 0.10 harder, from 14 to 60 %", _growing),
    Law("load test of 10,000 perfect answers", _load_test),
    Law("bots: one question in new chats", _bots),
    Law("share of long questions, 0.10 harder, changes each month", _monthly_mix),
    Law("few users ask most questions", _users),
    Law("days without traffic", _gaps),
    Law("one answer an hour", _small),
    Law("four answers an hour, weekends harder by 0.10", _small_weekends),
    Law("fall of 0.015 over a year", _drift),
    Law("wave of 0.015 over four weeks", _season),
    Law("a judge's scores, in three heaps", _judge),
    Law("mean of 0.994", _ceiling),
    Law("ten holidays, 0.05 harder", _holidays),
    Law("one hour in 20 fails by 40 %, the others never", _failing_hours(0.05, 0.4, 1)),
    Law("two hours in 160 fail by 40 %, the others never", _failing_hours(0.0125, 0.4, 2)),
    Law("two hours in ten fail by 10 %, the others never", _failing_hours(0.2, 0.1, 2)),
    Law("one hour in 100 fails", _failing_hours(0.01, 1.0, 1, mean=0.8)),
    Law("40 % of answers are of agents' chats of two days, each right or wrong", _long_chats),
    Law("two clients, shares wander, not told", _wandering_clients(told=False)),
    Law("two clients, shares wander, told", _wandering_clients(told=True)),
    Law("a good client is away, not told", _client_away(told=False)),
    Law("a good client is away, told", _client_away(told=True)),
    Law("60 % of answers are kept ones to 30 questions", _cached),
    Law("last working day of the month, 0.15 harder", _ends_of_months),
    Law("last week of the quarter, 0.06 harder", _ends_of_quarters),
)


def _fall(drop: float) -> Draw:
    def draw(generator: np.random.Generator, days: int) -> Traffic:
        at = hours_of(generator, days)
        return traffic(generator, at, np.where(at >= _CHANGE, drop, 0.0))

    return draw


def _fall_of_segment(drop: float) -> Draw:
    """Only German questions are answered worse, a fifth of all."""

    def draw(generator: np.random.Generator, days: int) -> Traffic:
        at = hours_of(generator, days)
        classes = Classes.usual(generator, len(at))
        harder = np.where(classes.languages == "de", 0.1, 0.0)
        return traffic(generator, at, harder + np.where((at >= _CHANGE) & (harder > 0), drop, 0.0), classes)

    return draw


def _fall_with(other: Callable[[np.random.Generator, Floats], Floats], drop: float) -> Draw:
    def draw(generator: np.random.Generator, days: int) -> Traffic:
        at = hours_of(generator, days)
        return traffic(generator, at, other(generator, at) + np.where(at >= _CHANGE, drop, 0.0))

    return draw


def _after_outage(generator: np.random.Generator, days: int) -> Traffic:
    at = hours_of(generator, days)
    since = at - _CHANGE
    return traffic(generator, at, np.where(since < 0.0, 0.0, np.where(since < 2.0, 0.80, 0.20)))


def _fall_with_few_questions(drop: float, *, are_kept: bool) -> Draw:
    """What is not kept falls."""

    def draw(generator: np.random.Generator, days: int) -> Traffic:
        found = _fall(drop)(generator, days)
        return _of_few_questions(generator, found, are_kept=are_kept)

    return draw


def _ramp(generator: np.random.Generator, days: int) -> Traffic:
    at = hours_of(generator, days)
    return traffic(generator, at, 0.10 * np.clip((at - _CHANGE) / (30 * 24), 0.0, 1.0))


FALLS = (
    *(Law(f"-{drop:.2f}", _fall(drop)) for drop in (0.05, 0.10, 0.20, 0.30)),
    Law("-0.20 of a class of 20 %", _fall_of_segment(0.20)),
    Law("-0.10, mood of sd 0.03", _fall_with(lambda generator, at: mood(generator, at, 0.03), 0.10)),
    Law("-0.10, weekends harder by 0.10", _fall_with(lambda _, at: np.where(is_weekend(at), 0.10, 0.0), 0.10)),
    Law("-0.10, reached in 30 days", _ramp),
    Law("all answers are wrong", _fall(0.80)),
    Law("-0.20, after two hours in which all answers are wrong", _after_outage),
    Law("-0.20 of the 40 % that are not kept answers", _fall_with_few_questions(0.20, are_kept=True)),
    Law("-0.10, 60 % of questions are one of 30, answered anew", _fall_with_few_questions(0.10, are_kept=False)),
)
