"""Evidence of a drop in the lake: scores before and since its onset, and the worst answers beside good earlier ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import zip_longest
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from rapidfuzz import fuzz, process, utils

from lake.queries.affected import StandsOut, standing_out, without_names
from lake.queries.answer_details import AnswerScore
from lake.queries.metric_scores import metric_scores, scores_of_answers, texts_of_answers
from lake.queries.worst_answers.answer_words import AnswerWords, words_of
from lake.queries.worst_answers.compared_answers import as_good_as, compared
from lake.spec.case_vocabulary import CASE_PASSED
from lake.spec.metric_names import metric_name
from lake.spec.schemas import deployment_of
from lake.spec.vocabulary import DISLIKES
from lake.tables.lake import Lake
from monitor.detect.regression import Scale
from monitor.pages.answers.answer_view import read_cases
from monitor.pages.answers.reasons import Reason, ReasonKind, reasons_of
from monitor.pages.charts import Distribution, HistogramChart, HistogramDrawing, draw_histogram
from monitor.pages.filters import first_capital
from monitor.pages.incidents.alert_view import AlertView
from monitor.pages.incidents.finding import FoundIncident
from monitor.pages.incidents.worst_answers import CHARACTERS, WorstAnswers, read_wrong, worst_of_each_kind
from monitor.pages.texts import MOST_CHARACTERS

CANDIDATES = 2_000
"""Earlier answers among which a like question is looked for: those with the best scores."""
DAYS, ENOUGH = timedelta(days=7), 20_000
"""Scores are read of so many days before the onset, and since; the latest days until there are enough."""
EXCERPT = 600
"""Characters of a question or an answer."""
_BUCKETS = 20
_UNTIL_NOW = timedelta(hours=1)
_NOT_OF_REFUSALS = (ReasonKind.UNSUPPORTED, ReasonKind.MISSED_FACT)


@dataclass(frozen=True)
class Excerpt:
    """An answer with its score; texts are None for who may not read them, and where none was logged."""

    deployment: str
    date: date
    event_id: str
    response_id: str | None
    requested_at: datetime
    value: float
    question: str | None = None
    answer: str | None = None
    reasons: tuple[Reason, ...] = ()
    """Why it is bad, of one of the worst; empty where no metric says it."""
    refuses: bool = False
    """Whether one of the worst is a refusal, or says that the information is missing."""
    is_disliked: bool = False
    comment: str | None = None
    """Whether people disliked one of the worst, and the newest comment, which is a text."""
    fails_case: bool = False
    """Whether one of the worst does not agree with its case."""
    is_good: bool = False
    """Whether the score of one of the worst is no worse than the mean before the onset."""


@dataclass(frozen=True)
class Pair:
    """One of the worst answers, and a good earlier one to a like question; None where there is none."""

    worst: Excerpt
    earlier: Excerpt | None = None
    percent: float | None = None
    """How alike the questions are."""


@dataclass(frozen=True)
class Sample:
    """Scores that were read on one side of the onset, by the times of their answers."""

    scores: int
    since: datetime | None
    until: datetime | None
    mean: float | None


@dataclass(frozen=True)
class OnsetEvidence:
    """What the lake has of a metric around the onset of its drop."""

    metric: str
    before: Sample
    after: Sample
    histogram: HistogramDrawing | None
    pairs: tuple[Pair, ...]
    with_texts: bool
    candidates: int
    """Good earlier answers whose questions were compared."""
    older_version: str | None
    """The deployment, an older version, of which all is that was before the onset; None where it is the same one."""
    words: AnswerWords | None = None
    """Words that tell the worst answers from good ones; None for who may not read texts, and where the mean of before
    is not known."""
    stands_out: tuple[StandsOut, ...] = ()
    """Groups that the worst answers have more often than good ones."""

    @property
    def clearest_first(self) -> tuple[Pair, ...]:
        """The pairs: in turn a refusal, a bad answer and one with a good score, of each those with an earlier answer
        first, which shows what was lost.
        """
        kinds: tuple[list[Pair], ...] = ([], [], [])
        for one in sorted(self.pairs, key=lambda one: one.earlier is None):
            kinds[2 if one.worst.is_good else 0 if one.worst.refuses else 1].append(one)
        return tuple(one for some in zip_longest(*kinds) for one in some if one is not None)


def read_evidence(
    lake: Lake, alert: AlertView, found: FoundIncident, older_version: str | None, *, with_texts: bool
) -> OnsetEvidence | None:
    """Read it; None for a limit, and for people's ratings, which are no scores of answers.

    What was before the onset is read of the `older_version` where one is given.
    """
    onset, stats = alert.onset, found.state.watched.get(alert.metric)
    if alert.fired.is_limit or onset is None or alert.metric == DISLIKES:
        return None
    earliest = alert.fired.details.since_earliest or onset
    # What came between the return of quality and the end of its alert is good.
    ended = (alert.ended.back_at or alert.ended.changed_at) if alert.ended else None
    end = min(ended or found.now + _UNTIL_NOW, found.now + _UNTIL_NOW)
    key, name_before = alert.fired.key, older_version or found.name

    def scores(name: str, since: datetime, until: datetime) -> pa.Table:
        return metric_scores(lake, deployment_of(name), key.metric, key.metric_version, since, until, ENOUGH)

    before = scores(name_before, earliest - DAYS, earliest)
    after = scores(found.name, max(onset, end - DAYS), end)
    scale = stats.scale if stats and stats.version == key.metric_version else None
    is_reversed = bool(alert.fired.details.lower_is_better)
    reference, lowest = alert.fired.reference_mean, not is_reversed
    cases = found.state.watched.get(CASE_PASSED)
    wrong = read_wrong(lake, found.name, max(onset, end - DAYS), end, cases.version if cases else None)
    worst = worst_of_each_kind(lake, found.name, after, reference, wrong, lowest=lowest)
    good = as_good_as(before, reference, CANDIDATES, lower_is_better=is_reversed)
    both = None
    if reference is not None:
        since, earlier = (deployment_of(found.name), after), (deployment_of(name_before), before)
        both = compared(lake, since, earlier, reference, lower_is_better=is_reversed)
    return OnsetEvidence(
        metric=alert.metric,
        before=_sample(before),
        after=_sample(after),
        histogram=_histogram(alert.metric, before, after, scale),
        pairs=_pairs(lake, (found.name, worst), (name_before, good))
        if with_texts
        else tuple(Pair(_with_kind(one, worst, with_texts=False)) for one in _excerpts(found.name, worst.rows)),
        with_texts=with_texts,
        candidates=good.num_rows,
        older_version=older_version,
        words=words_of(both) if both and with_texts else None,
        stands_out=without_names(standing_out(both), with_texts=with_texts) if both else (),
    )


def _pairs(lake: Lake, named_worst: tuple[str, WorstAnswers], named_good: tuple[str, pa.Table]) -> tuple[Pair, ...]:
    """Pair rows; the tables come with the names of their deployments."""
    (name, found_worst), (name_before, good) = named_worst, named_good
    worst = found_worst.rows
    # What was wrong may stand behind the excerpt.
    whole = texts_of_answers(lake, deployment_of(name), worst, ("question", "answer"), MOST_CHARACTERS)
    reasons = _read_reasons(lake, name, worst, whole)
    texts_of_worst = {
        one: {column: text and text[:EXCERPT] for column, text in of_answer.items()} for one, of_answer in whole.items()
    }
    asked = []
    for one in _excerpts(name, worst, texts_of_worst):
        shown = _with_kind(one, found_worst, with_texts=True)
        # A refusal stands in no document, and it misses every fact.
        why = (w for w in reasons[one.event_id] if not (shown.refuses and w.kind in _NOT_OF_REFUSALS))
        asked.append(replace(shown, reasons=tuple(why)))
    deployment = deployment_of(name_before)
    questions = texts_of_answers(lake, deployment, good, ("question",), CHARACTERS)
    known = [questions.get(one, {}).get("question") for one in good["event_id"].to_pylist()]
    found = most_alike([one.question for one in asked], known)
    chosen = good.take(pa.array([like.place for like in found if like], pa.int64()))
    texts = texts_of_answers(lake, deployment, chosen, ("question", "answer"), EXCERPT)
    earlier = iter(_excerpts(name_before, chosen, texts))
    return tuple(
        Pair(one, next(earlier), like.percent) if like else Pair(one) for one, like in zip(asked, found, strict=True)
    )


@dataclass(frozen=True)
class _Answer:
    row: Mapping[str, Any]
    scores: Sequence[AnswerScore]


def _read_reasons(
    lake: Lake, name: str, rows: pa.Table, texts: Mapping[str, Mapping[str, Any]]
) -> dict[str, tuple[Reason, ...]]:
    """Return by `event_id` why answers of a deployment (rows of `metric_scores`) are bad; `texts` have `answer`."""
    deployment = deployment_of(name)
    scores = scores_of_answers(lake, deployment, rows)
    ids = rows["event_id"].to_pylist()
    answers = [_Answer({"answer": texts.get(one, {}).get("answer")}, scores.get(one, ())) for one in ids]
    cases = read_cases(lake, deployment, answers)
    return {one: tuple(reasons_of(answer, case)) for one, answer, case in zip(ids, answers, cases, strict=True)}


def _with_kind(one: Excerpt, worst: WorstAnswers, *, with_texts: bool) -> Excerpt:
    wrong = worst.wrong
    return replace(
        one,
        refuses=one.event_id in worst.refusing,
        is_disliked=one.event_id in wrong.disliked,
        comment=(wrong.disliked.get(one.event_id) or None) if with_texts else None,
        fails_case=one.event_id in wrong.failing,
        is_good=one.event_id in worst.good,
    )


def _excerpts(name: str, rows: pa.Table, texts: Mapping[str, Mapping[str, Any]] | None = None) -> list[Excerpt]:
    no_texts: Mapping[str, Any] = {"question": None, "answer": None}
    found = []
    for row in rows.to_pylist():
        text = (texts or {}).get(row["event_id"], no_texts)
        found.append(Excerpt(deployment=name, question=text["question"], answer=text["answer"], **row))
    return found


def _sample(rows: pa.Table) -> Sample:
    ends = pc.min_max(rows["requested_at"]).as_py()
    return Sample(rows.num_rows, ends["min"], ends["max"], pc.mean(rows["value"]).as_py())


def _histogram(metric: str, before: pa.Table, after: pa.Table, scale: Scale | None) -> HistogramDrawing | None:
    values = [np.asarray(rows["value"]) for rows in (before, after)]
    known = np.concatenate(values)
    if not known.size:
        return None
    ends = (scale.worst, scale.best) if scale else (float(known.min()), float(known.max()))
    low, high = min(ends), max(ends)
    high = high if high > low else low + 1.0
    before_side = _distribution("before it began", values[0], low, high)
    after_side = _distribution("since it began", values[1], low, high)
    return draw_histogram(
        HistogramChart("distribution", first_capital(metric_name(metric)), low, high, before_side, after_side)
    )


def _distribution(name: str, values: NDArray[np.float64], low: float, high: float) -> Distribution:
    within = np.clip(values, low, high)
    counts, _ = np.histogram(within, bins=_BUCKETS, range=(low, high))
    return Distribution(name, counts.tolist(), float(np.mean(values)) if len(values) else None)


LEAST = 75.0
"""Per cent of likeness below which two questions are not alike."""


@dataclass(frozen=True, slots=True)
class Like:
    """Place of an earlier question in its list, and how alike it is in per cent."""

    place: int
    percent: float


def most_alike(questions: Sequence[str | None], earlier: Sequence[str | None]) -> list[Like | None]:
    """Return for each question the earlier one that is most like it, of equal ones the first; None where none is.

    Likeness is the mean of rapidfuzz's ratios of the sets of words and of the sorted words: the first alone takes a
    question of one word to be like each that has the word.
    """
    if not questions or not earlier:
        return [None] * len(questions)
    asked, known = _prepared(questions), _prepared(earlier)
    ratios = np.add(
        process.cdist(asked, known, scorer=fuzz.token_set_ratio, dtype=np.float32, workers=1),
        process.cdist(asked, known, scorer=fuzz.token_sort_ratio, dtype=np.float32, workers=1),
    )
    ratios /= 2
    # An empty question is like no other.
    ratios[:, [not text for text in known]] = 0
    ratios[[not text for text in asked], :] = 0
    places = ratios.argmax(axis=1)
    return [
        Like(int(place), float(row[place])) if row[place] >= LEAST else None
        for place, row in zip(places, ratios, strict=True)
    ]


def _prepared(texts: Sequence[str | None]) -> list[str]:
    return [utils.default_process((text or "")[:CHARACTERS]) for text in texts]
