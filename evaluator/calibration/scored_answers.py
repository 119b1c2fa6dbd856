"""Scores and people's signals of the lake, joined into a table that can be calibrated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from evaluator.calibration.labelled import CalibrationError
from evaluator.calibration.repeated_scores import AskedJudge
from evaluator.ground_truth import IS_OPINION, OPINION_COLUMNS
from lake.queries.ratings import IS_LABEL, LABEL_COLUMNS, shares_of_right
from lake.queries.signals import fold_signals
from lake.queries.signals_by_answer import SIGNAL_JOIN_COLUMNS, SignalJoin, read_signaled, signals_by_answer
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.tables.lake import Lake

_COLUMNS = ("event_id", "chat_id", "value", "sampling_probability", "metric_version", "scored_at")
_UNDECIDED = 0.5
_KEYS = ("response_id", "event_id")


def scored_answers(lake: Lake, deployment: str, metric: str) -> pd.DataFrame:
    """Return all scores of a metric's newest version: `event_id`, `score`, `question`, `weight`.

    `question` is the conversation, since answers of one are not independent, `weight` the inverse of the probability
    with which the answer was chosen to be scored. Raises CalibrationError where there are none, and where the metric's
    values are not from 0 to 1.
    """
    has_value = (ds.field("metric") == metric) & ds.field("value").is_valid()
    found = lake.table(SCORES, deployment).read([*_COLUMNS, "low", "high"], has_value)
    if not found.num_rows:
        raise CalibrationError(
            f"{deployment} has no scores of {metric!r}; `dialwatch evaluate --backfill` makes some, `lake ls` names "
            "the deployments"
        )
    newest = _newest_version(found)
    rows = found.filter(pc.equal(found["metric_version"], newest)).to_pandas()
    if not rows["value"].between(0, 1).all():
        raise CalibrationError(f"{metric!r} has values outside of 0 to 1, and labels are from 0 to 1")
    return pd.DataFrame(
        {
            "event_id": rows["event_id"],
            "score": rows["value"],
            "question": rows["chat_id"].where(rows["chat_id"].notna(), rows["event_id"]),
            "weight": 1.0 / rows["sampling_probability"].fillna(1.0).clip(lower=1e-9),
        }
    )


def who_scored(lake: Lake, deployment: str, metric: str) -> AskedJudge:
    """Return what the scores of a metric's newest version say of who gave them, and what they cost."""
    has_value = (ds.field("metric") == metric) & ds.field("value").is_valid()
    found = lake.table(SCORES, deployment).read(["metric_version", "judge", "cost", "scored_at"], has_value)
    newest = _newest_version(found)
    rows = found.filter(pc.equal(found["metric_version"], newest))
    judges = sorted(one for one in pc.unique(rows["judge"]).to_pylist() if one)
    return AskedJudge(metric, newest or "", ", ".join(judges), rows.num_rows, cost=pc.sum(rows["cost"]).as_py())


def with_labels(lake: Lake, deployment: str, scored: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Join people's labels with scores, by `response_id` or `event_id`; where an answer has several the last counts.

    Labelled answers of the deployment without a score are there too, their score null.

    Raises CalibrationError where the labels carry neither, and where none is of an answer that was scored.
    """
    if "label" not in labels.columns or not set(_KEYS) & set(labels.columns):
        names = ", ".join(map(str, labels.columns))
        raise CalibrationError(f"labels need the column label, and response_id or event_id; the table has {names}")
    if "event_id" not in labels.columns:
        labels = _with_event_ids(lake, deployment, labels)
    given = int(labels["label"].notna().sum())
    labels = labels.dropna(subset=["event_id", "label"]).drop_duplicates("event_id", keep="last")
    joined = scored.merge(labels[["event_id", "label"]], on="event_id", how="outer")
    if not (joined["label"].notna() & joined["score"].notna()).any():
        raise CalibrationError(f"none of the {given} labels is of an answer of {deployment} that was scored")
    return _with_answers(lake, deployment, joined)


def with_labels_of_lake(lake: Lake, deployment: str, scored: pd.DataFrame) -> pd.DataFrame:
    """Take what people said of answers on the pages, or by `dialwatch label`, as labels: the share who say right.

    Answers of which as many people say right as wrong have no label. Labelled answers without a score are there too,
    their score null. Raises CalibrationError where none is left.
    """
    labels = _labels(lake, deployment)
    joined = scored.merge(labels[labels["label"].notna()], on="event_id", how="outer")
    if not (joined["label"].notna() & joined["score"].notna()).any():
        raise CalibrationError(f"nobody has labelled an answer of {deployment} that was scored")
    return _with_answers(lake, deployment, joined.drop(columns="sureness"))


def with_likes(lake: Lake, deployment: str, scored: pd.DataFrame) -> pd.DataFrame:
    """Take what people's signals come to as labels: 1 where it is above 0 and 0 where it is below.

    The weight of a label is how sure the signals are, from 0 to 1. What people who judge answers said of one
    (`with_labels_of_lake`) takes the place of its signals, with the weight 1. Raises CalibrationError where nobody has
    said anything of an answer that was scored.
    """
    said = pd.concat([_labels(lake, deployment), _opinions(lake, deployment)]).drop_duplicates("event_id")
    joined = scored.merge(said, on="event_id", how="left")
    if not joined["label"].notna().any():
        raise CalibrationError(f"nobody has rated an answer of {deployment} that was scored")
    joined["weight"] = np.where(joined["label"].notna(), joined["sureness"], joined["weight"])
    return _with_answers(lake, deployment, joined.drop(columns="sureness"))


def _newest_version(found: pa.Table) -> str | None:
    last = pc.index(found["scored_at"], pc.max(found["scored_at"])).as_py()
    version: str | None = found["metric_version"][last].as_py()
    return version


def _opinions(lake: Lake, deployment: str) -> pd.DataFrame:
    signals = lake.table(USER_SIGNALS, deployment).read(OPINION_COLUMNS, IS_OPINION)
    answers = read_signaled(lake.table(PARSED_LOGS, deployment), signals)
    found = []
    for number, said in signals_by_answer(answers, signals).items():
        folded = fold_signals(said)
        if folded:
            found.append((answers["event_id"][number].as_py(), float(folded > 0), abs(folded)))
    return pd.DataFrame(found, columns=["event_id", "label", "sureness"])


def _labels(lake: Lake, deployment: str) -> pd.DataFrame:
    """Return the labels of answers, also of those that people disagree on: these have none, whatever ratings say."""
    labels = lake.table(USER_SIGNALS, deployment).read(LABEL_COLUMNS, IS_LABEL)
    answers = read_signaled(lake.table(PARSED_LOGS, deployment), labels)
    found = [
        (answers["event_id"][number].as_py(), None if share == _UNDECIDED else share, 1.0)
        for number, share in shares_of_right(answers, labels).items()
    ]
    frame = pd.DataFrame(found, columns=["event_id", "label", "sureness"]).astype({"label": "float64"})
    return frame.drop_duplicates("event_id")


def _with_event_ids(lake: Lake, deployment: str, labels: pd.DataFrame) -> pd.DataFrame:
    """Find the rows by their ids; an id of several answers says of none that it is labelled."""
    ids = labels["response_id"].dropna().astype(str).unique()
    named = USER_SIGNALS.rows([{"response_id": one} for one in ids]).select(SIGNAL_JOIN_COLUMNS)
    join = SignalJoin(read_signaled(lake.table(PARSED_LOGS, deployment), named), named.to_pylist())
    events = {one["response_id"]: join.answer_of(one) for one in named.to_pylist()}
    return labels.assign(event_id=labels["response_id"].map(events))


def _with_answers(lake: Lake, deployment: str, joined: pd.DataFrame) -> pd.DataFrame:
    """Add the texts of the labelled answers, whose lengths matter; labels of other deployments' answers are left out.

    A label of a score whose answer is deleted stays.
    """
    labelled: Sequence[str] = joined.loc[joined["label"].notna(), "event_id"].tolist()
    rows = lake.table(PARSED_LOGS, deployment).read(["event_id", "answer"], ds.field("event_id").isin(labelled))
    answers = rows.to_pandas().drop_duplicates("event_id")
    is_here = joined["score"].notna() | joined["event_id"].isin(answers["event_id"])
    return joined[is_here].merge(answers, on="event_id", how="left")
