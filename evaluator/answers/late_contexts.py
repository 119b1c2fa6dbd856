"""Answers whose contexts may still come: which are ready to be scored, and the contexts that were found since.

An application that shows no chunks has them in the prompt of its own model call, and the line of that call may come
after its own. So such an answer waits for a grace time from when its row was written. Which answers still wait
follows from the rows and one moment in the `scores` table: those that were written after it.

The same holds for an answer that calls tools: the line of a tool says whether its call failed.

Where the model stands behind an interceptor, the line of another call that can have made it may come too. So such a
model call waits for half of that time: it may come in the first half, and the other call's line in the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from evaluator.answers.answer import ANSWER_COLUMNS, LoggedAnswer
from evaluator.answers.tables import DeploymentTables
from lake.queries.answer_rows import IS_ANSWER, context_ids, names_without_text, tool_results, usable_texts
from lake.spec.called_tools import CalledTool, lacks_errors, with_errors
from lake.spec.schemas import PARSED_LOGS
from lake.spec.tool_calls import ToolCallsOrigin
from lake.spec.vocabulary import OUTRANKED_BY_CHILD

_CALLS_TOOLS = tuple(origin for origin in ToolCallsOrigin if origin != ToolCallsOrigin.NONE)
_MAY_GET_CONTEXTS = (
    (ds.field("contexts_origin").isin(OUTRANKED_BY_CHILD) | ds.field("tool_calls_origin").isin(_CALLS_TOOLS))
    & ds.field("trace_id").is_valid()
    & ds.field("span_id").is_valid()
)

_NO_ROWS = PARSED_LOGS.schema.empty_table().select(ANSWER_COLUMNS)


@dataclass(frozen=True)
class GracePeriod:
    """Grace period of a pass: rows written up to `until`, in microseconds since 1970, have waited long enough.

    `before` is the `until` of the last commit, None where there was none: an answer waits from one pass to another
    only if its row was written after that moment, and is scored by the first pass whose moment is not before the row's.
    """

    until: int
    before: int | None

    @classmethod
    def of(cls, now: datetime, seconds: float, before: int | None) -> GracePeriod:
        """Return the moment of a pass; it never moves back, whatever the clock does."""
        until = int((now - timedelta(seconds=seconds)).timestamp() * 1_000_000)
        return cls(until if before is None else max(until, before), before)

    def ended(self, tables: DeploymentTables) -> pa.Table:
        """Read the answers that were read by an earlier pass and left to wait, and have now waited long enough.

        Rows that no pass has read yet may be among them, so this comes before those are read; see `ready`.
        """
        version, known = tables.logs.version(), tables.waiting
        if self.before is None or self.until == self.before:
            return _NO_ROWS
        if version is not None and known.version == version and known.written <= self.before:
            # Nothing came and nothing waits: a quiet deployment is not read again in every pass.
            return _NO_ROWS
        written = ds.field("ingested_at")
        rows = tables.logs.read(ANSWER_COLUMNS, IS_ANSWER & _MAY_GET_CONTEXTS & (written > _moment(self.before)))
        newest = pc.max(rows["ingested_at"].cast(pa.int64())).as_py()
        known.version, known.written = version, self.before if newest is None else newest
        return rows.filter(written <= _moment(self.until))

    def ready(self, ended: pa.Table, new: pa.Table) -> pa.Table:
        """Return the answers to score: those new ones that need not wait, and of the others each that is not new."""
        if not ended.num_rows and not new.num_rows:
            # So it is in most passes, and a filter of no rows takes as long as one of a thousand.
            return new
        others = ended.filter(pc.invert(pc.is_in(ended["event_id"], new["event_id"].combine_chunks())))
        return pa.concat_tables([others, new.filter(~may_get_contexts(self.until))]).filter(IS_ANSWER)


def wait_behind_interceptor(context_grace: float) -> timedelta:
    """Return how old the row of a model call behind an interceptor must be before it is joined with an answer."""
    return timedelta(seconds=context_grace / 2)


def may_get_contexts(until: int) -> ds.Expression:
    """Whether a row's contexts may still come, `until` being the moment up to which rows have waited long enough."""
    written = ds.field("ingested_at")
    return _MAY_GET_CONTEXTS & written.is_valid() & (written > _moment(until))


def with_late_contexts(tables: DeploymentTables, some: Sequence[LoggedAnswer]) -> list[LoggedAnswer]:
    """Return the answers with what their own calls say, where these have come and say more: contexts, calls of tools.

    Of a call of a tool its own row says whether it failed. Results of tools follow the contexts, in each call anew: the
    answers that are given must be as their rows are.
    """
    children, deployment = tables.children, tables.deployment
    found = children.of({answer.call: answer.requested_at for answer in some if answer.call}, deployment)
    turns = children.turns_of({one.turn_call: one.requested_at for one in some if one.turn_call}, deployment)
    some = [_with(answer, found[answer.call]) if answer.call in found else answer for answer in some]
    some = [replace(one, tool_calls=turns[one.turn_call]) if one.turn_call in turns else one for one in some]
    unclear = {one.own_call: one.requested_at for one in some if one.own_call and lacks_errors(one.tool_calls)}
    called = children.tools_of(unclear)
    some = [_with_errors(one, called[one.own_call]) if one.own_call in called else one for one in some]
    return [_with_results(one) for one in some]


def _with(answer: LoggedAnswer, contexts: Sequence[dict[str, Any]]) -> LoggedAnswer:
    texts = usable_texts(contexts)
    if texts is None:
        return answer
    return replace(
        answer,
        contexts=texts,
        context_ids=context_ids(contexts),
        cited_only=False,
        image_chunks=names_without_text(contexts),
    )


def _with_errors(answer: LoggedAnswer, called: Sequence[CalledTool]) -> LoggedAnswer:
    return replace(answer, tool_calls=with_errors(answer.tool_calls or (), called))


def _with_results(answer: LoggedAnswer) -> LoggedAnswer:
    results = tool_results(answer.tool_calls)
    if not results:
        return answer
    texts, ids = [*(answer.contexts or ()), *(one["text"] for one in results)], answer.context_ids or ()
    return replace(answer, contexts=texts, context_ids=[*ids, *[None] * len(results)])


def _moment(microseconds: int) -> pa.Scalar:
    return pa.scalar(microseconds, PARSED_LOGS.schema.field("ingested_at").type)
