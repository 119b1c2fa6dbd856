"""Rows of `scores`, made of the scores of one metric, in one way for new and old answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import orjson

from evaluator.judge_binding import asks_judge, judge_named
from evaluator.judges.exchange import NOT_FOR_GOOD
from evaluator.metrics import MEASURED_COLUMNS, Scores
from evaluator.scoring.work import Work, pending_id, score_id
from lake.spec.vocabulary import UnscoredReason


def score_rows(
    work: Work, scores: Scores, now: datetime, probabilities: Mapping[str, float]
) -> Iterator[dict[str, Any]]:
    """Yield a row for each answer, without `segment`, `question_key` and `is_backfill`, and with `spend`: its `Spend`.

    `probabilities` say how likely the answers of a metric that asks a judge were to be in the sample.
    """
    metric, judge, is_judged = work.metric, judge_named(work.metric), asks_judge(work.metric)
    is_measured = MEASURED_COLUMNS.issuperset(metric.needs)
    results = zip(scores.values, scores.reasons, scores.details, scores.spends, work.pairs, strict=True)
    for value, reason, details, spend, (answer, found) in results:
        # What the log does not hold was not seen, and so not even "nothing was retrieved" can be said of it.
        seen = is_measured or answer.text is not None
        known = seen and value == value
        failed_part = details.get("failed_part")
        whole = {name: detail for name, detail in details.items() if name != "failed_part"}
        whole |= {"case_id": found.case.case_id} if found else {}
        reason = None if known else (reason if seen else UnscoredReason.NO_ANSWER)
        is_pending = is_judged and reason in NOT_FOR_GOOD
        yield {
            "score_id": pending_id(answer, metric) if is_pending else score_id(answer, metric),
            "response_id": answer.response_id,
            "event_id": answer.event_id,
            "deployment": answer.deployment,
            "date": answer.date,
            "requested_at": answer.requested_at,
            "chat_id": answer.chat_id,
            "metric": metric.name,
            "metric_version": metric.version,
            "value": value if known else None,
            "reason": reason,
            "details": orjson.dumps(whole).decode() if whole else None,
            "judge": judge,
            "cost": spend.cost,
            "prompt_tokens": spend.prompt_tokens,
            "completion_tokens": spend.completion_tokens,
            "sampling_probability": probabilities[answer.event_id] if is_judged else 1.0,
            "scored_at": now,
            "direction": metric.about.direction,
            "low": metric.about.low,
            "high": metric.about.high,
            "reference_match": found.match if found else None,
            "reference_similarity": found.similarity if found else None,
            "reference_status": found.case.status if found else None,
            "failed_part": failed_part,
            "case_version": found.case.version if found else None,
            "spend": spend,
        }
