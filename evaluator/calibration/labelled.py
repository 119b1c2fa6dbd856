"""Rows that a calibration works on: a judge's scores, and people's labels of some of the same answers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]

PASS_THRESHOLD = 0.5
"""A label of at least this much is a yes, and so is a score unless another threshold is given."""


class CalibrationError(ValueError):
    """The table cannot be used; the message says which column or row is wrong and what it should be."""


@dataclass(frozen=True)
class LabelledRows:
    """Some answers: arrays with a value an answer.

    `score` is the judge's and `label` the person's, both from 0 to 1; a label is NaN where nobody gave one. `question`
    is the number of the answer's question: answers to one question are no independent evidence. `weight` is the
    inverse of the probability that the answer was drawn. `length` is the number of words, NaN where it is unknown.
    A score of at least `threshold` is a yes.
    """

    score: Floats
    label: Floats
    question: npt.NDArray[np.int64]
    weight: Floats
    length: Floats
    threshold: float = PASS_THRESHOLD

    def __len__(self) -> int:
        return len(self.score)

    def where(self, chosen: npt.NDArray[np.bool_]) -> LabelledRows:
        """Return some of them, their questions numbered anew from 0."""
        question = np.unique(self.question[chosen], return_inverse=True)[1].astype(np.int64)
        return replace(
            self,
            score=self.score[chosen],
            label=self.label[chosen],
            question=question,
            weight=self.weight[chosen],
            length=self.length[chosen],
        )

    @property
    def questions(self) -> int:
        """How many questions there are."""
        return int(self.question.max()) + 1 if len(self) else 0


def rows_of(frame: pd.DataFrame, threshold: float = PASS_THRESHOLD) -> LabelledRows:
    """Read a table; rows without a score are left out, and a score of at least `threshold` is a yes.

    Columns: `score` and `label` from 0 to 1 (or bool), a label null where there is none; and, if they are there,
    `question` (any value; each answer is a question of its own where it is absent or null), `contexts` (a list, or a
    text: answers to one question are of one only if they share a context), `weight` (above 0; 1 where it is absent) and
    `answer` (text). A question that all answers have is none: it is the one prompt of an application that summarises.

    Raises CalibrationError where a column is missing or a value is out of its range.
    """
    for name in ("score", "label"):
        if name not in frame.columns:
            raise CalibrationError(f"the table has no column {name!r}; it has {', '.join(map(str, frame.columns))}")
    frame = frame.reset_index(drop=True)
    score, label = _numbers(frame, "score", 0.0, 1.0), _numbers(frame, "label", 0.0, 1.0)
    weight = _numbers(frame, "weight", 1e-9, np.inf) if "weight" in frame.columns else np.ones(len(frame))
    rows = LabelledRows(
        score, label, _questions(frame), np.where(np.isnan(weight), 1.0, weight), _lengths(frame), threshold
    )
    return rows.where(~np.isnan(score))


def _numbers(frame: pd.DataFrame, name: str, low: float, high: float) -> Floats:
    cells = pd.to_numeric(frame[name], errors="coerce")
    unreadable = cells.isna() & frame[name].notna()
    outside = (cells < low) | (cells > high)
    for bad in np.flatnonzero(unreadable | outside)[:1]:
        limits = f"a number from {low:g} to {high:g}" if np.isfinite(high) else "a number above 0"
        raise CalibrationError(f"row {bad + 1} has the {name} {frame[name].iloc[bad]}; it must be {limits}")
    return cells.to_numpy(dtype=np.float64)


def _questions(frame: pd.DataFrame) -> npt.NDArray[np.int64]:
    """Number the questions: answers of one number are no independent evidence."""
    found = np.arange(len(frame), dtype=np.int64)
    if "question" not in frame.columns:
        return found
    texts = [_texts_of(one) for one in frame["contexts"]] if "contexts" in frame.columns else None
    asked = frame["question"]
    if texts is None and asked.nunique() == 1:
        return found
    for rows in frame.groupby("question", sort=False).indices.values():
        group = np.sort(rows)
        found[group] = group[0] if texts is None else _joined(group, [texts[row] for row in group])
    return found


def _joined(rows: npt.NDArray[np.int64], texts: list[frozenset[str]]) -> list[int]:
    """Return for each row the first of those that it shares a text with, or that share one with such a row.

    Rows without texts are together.
    """
    leaders = list(range(len(texts)))
    first: dict[str, int] = {}
    for place, own in enumerate(texts):
        for key in own or {""}:
            met = _leader(leaders, first.setdefault(key, place)), _leader(leaders, place)
            leaders[max(met)] = min(met)
    return [int(rows[_leader(leaders, place)]) for place in range(len(texts))]


def _leader(leaders: list[int], place: int) -> int:
    """Return the first of those that a place is together with, and shorten the way to it."""
    while leaders[place] != place:
        leaders[place] = leaders[leaders[place]]
        place = leaders[place]
    return place


def _texts_of(cell: object) -> frozenset[str]:
    """Return the texts of a cell of contexts, of which a file may have made one text."""
    if isinstance(cell, str):
        return frozenset({cell})
    return frozenset(map(str, cell)) if isinstance(cell, list | tuple | np.ndarray) else frozenset()


def _lengths(frame: pd.DataFrame) -> Floats:
    if "answer" not in frame.columns:
        return np.full(len(frame), np.nan)
    words = [len(text.split()) if isinstance(text, str) else np.nan for text in frame["answer"]]
    return np.array(words, dtype=np.float64)
