"""Webhook with the means of a table: numbers and names of metrics, never a text of the table."""

from __future__ import annotations

import uuid
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import orjson

from evaluator.datasets import DatasetReport, Summary
from monitor.notify import Attempt, WebhookSettings, connections, deliver, signed_headers


def send(report: DatasetReport, receiver: WebhookSettings) -> Attempt:
    """Send a table's means once, signed as Standard Webhooks says; never raises for what the receiver does."""
    body, now = body_of(report), datetime.now(UTC)
    headers = signed_headers(str(uuid.uuid4()), now, body, receiver.secret)
    # A person chose the address, so it may be one of their own machines.
    with connections([receiver.url.host or ""]) as pool:
        return deliver(pool, str(receiver.url), body, headers, now)


def body_of(report: DatasetReport) -> bytes:
    """Give the JSON that is sent: the table's path, when it was made, its rows, and for each metric mean and counts.

    `reasons` are the numbers of rows without a value, by reason. A mean of no rows is null.
    """
    return orjson.dumps(
        {
            "type": "dialwatch.scores",
            "dataset": report.dataset.data_path,
            "created_at": report.dataset.metadata.created_at,
            "rows": report.rows,
            "without_ground_truth": report.without_ground_truth,
            "without_answer": report.without_answer,
            "metrics": {summary.metric: _numbers(summary) for summary in report.summaries()},
        }
    )


def _numbers(summary: Summary) -> dict[str, Any]:
    return {name: value for name, value in asdict(summary).items() if name != "metric"}
