"""Streams that an error has stopped: what was known of them is dropped, and they learn anew from all of their rows."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Set

import pyarrow as pa
import pyarrow.compute as pc

StreamName = tuple[str, str]
"""Deployment, and metric or limit."""
logger = logging.getLogger(__name__)


class StoppedStreams:
    """The stopped streams of one kind, each with its error.

    Such a stream takes no rows until it begins to learn anew, which is when all of its rows come again.
    """

    def __init__(self, what: str) -> None:
        """`what` says in the log what does not happen, such as `is not watched for regressions`."""
        self.what = what
        self._errors: dict[StreamName, Exception] = {}
        self._learning: set[StreamName] = set()

    @property
    def errors(self) -> Mapping[StreamName, Exception]:
        """The error of each stream that has stopped and is not known to work again."""
        return dict(self._errors)

    def of(self, deployment: str) -> Mapping[str, Exception]:
        """Return the errors of a deployment's streams, by metric or limit."""
        return {name: error for (mine, name), error in self._errors.items() if mine == deployment}

    def takes_rows(self, stream: StreamName) -> bool:
        """Whether a stream works, or is learning anew."""
        return stream not in self._errors or stream in self._learning

    def stop(self, stream: StreamName, error: Exception) -> None:
        """Note that an error arose in a stream, whose state is dropped; an error that repeats is logged once."""
        known = self._errors.get(stream)
        self._errors[stream] = error
        self._learning.discard(stream)
        if repr(known) != repr(error):
            logger.error(
                "%s of %r %s, as an error arose. It learns anew from its rows; an open alert stays open. If that does "
                "not help, please report this error.", stream[1], stream[0], self.what, exc_info=error,
            )  # fmt: skip

    @property
    def waiting(self) -> Set[StreamName]:
        """The streams that take no rows."""
        return self._errors.keys() - self._learning

    def learn_anew(self, deployment: str, names: Iterable[str]) -> None:
        """Have streams take rows again, from the first one on."""
        self._learning |= {(deployment, name) for name in names} & self._errors.keys()

    def learning(self) -> Mapping[str, frozenset[str]]:
        """Return the streams that learn anew, by deployment."""
        return {mine: frozenset(name for one, name in self._learning if one == mine) for mine, _ in self._learning}

    def note_working(self, deployment: str, names: Iterable[str]) -> None:
        """Note that streams have learned anew, from all of their rows, unless the error arose again."""
        for stream in {(deployment, name) for name in names} & self._learning:
            logger.info("%s of %r has learned anew and works.", stream[1], stream[0])
            self._learning.discard(stream)
            del self._errors[stream]

    def forget(self, deployment: str) -> None:
        """Forget the streams of a deployment."""
        self._errors = {stream: error for stream, error in self._errors.items() if stream[0] != deployment}
        self._learning &= self._errors.keys()


def of_metrics(rows: pa.Table, only: Set[str] | None = None, without: Set[str] = frozenset()) -> pa.Table:
    """Return the rows of some metrics, or of all, but those of others."""
    if only is not None:
        return rows.filter(pc.is_in(rows["metric"], pa.array(sorted(only), pa.string())))
    return rows.filter(pc.invert(pc.is_in(rows["metric"], pa.array(sorted(without))))) if without else rows


def by_metric(rows: pa.Table) -> Iterator[tuple[StreamName, pa.Table]]:
    """Divide rows with the columns `deployment` and `metric` by both; rows without one of them are left out."""
    for found in rows.group_by(["deployment", "metric"]).aggregate([]).to_pylist():
        if found["deployment"] is not None and found["metric"] is not None:
            of_deployment = pc.equal(rows["deployment"], found["deployment"])
            mine = rows.filter(pc.and_(of_deployment, pc.equal(rows["metric"], found["metric"])))
            yield (found["deployment"], found["metric"]), mine
