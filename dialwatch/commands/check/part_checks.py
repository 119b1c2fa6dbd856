"""Checks of what each part needs: sources of the collector, models and judges of the evaluator, receivers of alerts.

Receivers are asked through the guard that the monitor sends through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlsplit

import httpcore
import httpx
import pandas as pd
from kafka.errors import KafkaError

from collector.settings import CollectorSettings
from collector.sources.files.listing import Listing, LogFile
from collector.sources.files.open_file import OpenFile, UnreadableFileError
from collector.sources.files.settings import FilesSettings
from collector.sources.files.source import NO_FILE
from collector.sources.kafka.client import connect
from collector.sources.kafka.settings import KafkaSettings
from dialwatch.commands.check.finding import Finding, failed, guarded, skipped, well
from dialwatch.config import MonitorSection
from evaluator.judge_binding import asks_judge
from evaluator.judges.settings import JudgeSettings
from evaluator.metrics import Metric, ModelUnavailableError, problem_of
from evaluator.settings import EvaluatorSettings
from lake.spec.vocabulary import Origin, origin_headers
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from monitor.notify.delivery import DeliveryOutcome
from monitor.notify.mail import MailServer
from monitor.notify.network import connections
from monitor.notify.routing import Routing
from monitor.notify.settings import MailSettings, ReceiverSettings, WebhookSettings
from runtime.durations import duration

_ADVICE = "check collector.kafka.bootstrap_servers, security_protocol, the certificates and the log-in"
_CLOSE_MILLISECONDS = 2_000
_MOST_OPENED = 20
"""Files of a path that are opened, the newest first."""
_SECONDS = 10.0
_SHOWN = 5
"""Names of deployments in a line."""


def check_sources(settings: CollectorSettings, storage: Storage, lake: str) -> list[Finding]:
    """Look at each source that is configured; no consumer group is joined, so that no partition moves.

    Files below the root of the `lake` are no logs.
    """
    found: list[Finding] = []
    if settings.kafka is not None:
        found += guarded("kafka", partial(_kafka, settings.kafka), _ADVICE)
    if settings.files is not None:
        found += guarded(
            "files", partial(_files, settings, settings.files, storage, lake), "check collector.files.paths"
        )
    if settings.http is not None:
        found.append(well("http", f"lines are taken on {settings.http.listen}, {_who_may_send(settings)}"))
    return found or [skipped("sources", "no collector.kafka, .files or .http is configured")]


def _who_may_send(settings: CollectorSettings) -> str:
    return "with a token" if settings.http and settings.http.token else "from own networks, without a token"


def _kafka(settings: KafkaSettings) -> list[Finding]:
    try:
        consumer = connect(settings.model_copy(update={"group_id": None, "group_instance_id": None}))
    except KafkaError as error:
        text = f"{', '.join(settings.bootstrap_servers)} does not answer ({type(error).__name__}: {error}): {_ADVICE}"
        return [failed("kafka", text)]
    try:
        known = consumer.topics()
        found = [well("kafka", f"{', '.join(settings.bootstrap_servers)} answers")]
        for topic in settings.topics:
            partitions = consumer.partitions_for_topic(topic) if topic in known else None
            if partitions:
                found.append(well("kafka", f"topic {topic} has {len(partitions)} partitions"))
            else:
                found.append(failed("kafka", f"there is no topic {topic}, or this user may not see it"))
    finally:
        consumer.close(autocommit=False, timeout_ms=_CLOSE_MILLISECONDS)
    return found


def _files(settings: CollectorSettings, files: FilesSettings, storage: Storage, lake: str) -> list[Finding]:
    now = datetime.now(UTC)
    return [
        _path(path, list(Listing(path, storage, lambda: now, lake).find()), storage, now, settings.silent_after)
        for path in files.paths
    ]


def _path(path: str, found: Sequence[LogFile], storage: Storage, now: datetime, silent_after: float | None) -> Finding:
    text = f"{path} names {len(found)} file{'' if len(found) == 1 else 's'}"
    if not found:
        return failed("files", f"{path}: {NO_FILE}")
    newest_first = sorted(found, key=lambda file: (file.modified_at or now, file.uri), reverse=True)
    for file in newest_first[:_MOST_OPENED]:
        try:
            opened = OpenFile.open(file, storage)
        except UnreadableFileError as error:
            return failed("files", f"{text}: {error}")
        if opened is not None:
            opened.close()
    written = newest_first[0].modified_at
    if written is None:
        return well("files", text)
    text += f", the newest was written {duration(max(round((now - written).total_seconds()), 0))} ago"
    if silent_after is not None and (now - written).total_seconds() > silent_after:
        return failed("files", f"{text}: see that its writer is at work and still writes there")
    return well("files", text)


def check_models(settings: EvaluatorSettings) -> list[Finding]:
    """Load the model of each metric that has one; metrics without one, and those of judges, need nothing."""
    metrics = [one for name in (None, *settings.deployments) for one in settings.chosen_metrics(name or "")]
    local = {metric.name: metric for metric in metrics if not asks_judge(metric)}
    found = [finding for name, metric in local.items() for finding in _loaded(name, metric)]
    if any(one.verdict == "FAILED" for one in found):
        return found
    return [well("models", f"{len(local)} metrics run on this machine")] if local else []


def _loaded(name: str, metric: Metric) -> list[Finding]:
    if problem := problem_of(metric):
        return [failed("metrics", f"{name} cannot run: {problem}")]
    try:
        metric.score(pd.DataFrame({column: [] for column in metric.needs}))
    except ModelUnavailableError as error:
        return [failed("models", f"{name} cannot run: {error}")]
    return []


def check_judges(settings: EvaluatorSettings) -> list[Finding]:
    """Ask each judge's endpoint about its model, which costs nothing; no prompt is sent."""
    found = [
        finding
        for name, judge in settings.judges.items()
        for finding in (
            *_small_budgets(name, judge),
            *guarded("judges", partial(_judge, name, judge), f"check evaluator.judges.{name}.base_url"),
        )
    ]
    return found or [skipped("judges", "none is configured")]


def _small_budgets(name: str, judge: JudgeSettings) -> Iterator[Finding]:
    """Name budgets that a call of this judge may exceed alone, so that none is ever made."""
    least = judge.cost(0, judge.max_tokens)
    for setting, budget in (("budget_per_hour", judge.budget_per_hour), ("budget_per_day", judge.budget_per_day)):
        if budget is not None and budget < least:
            yield failed(
                "judges",
                f"{name} is never asked: a reply of max_tokens may cost {least:g}, and {setting} is {budget:g}: raise "
                f"evaluator.judges.{name}.{setting}, or lower max_tokens",
            )


def _judge(name: str, judge: JudgeSettings) -> list[Finding]:
    key = judge.api_key.get_secret_value() if judge.api_key else None
    address = judge.base_url.rstrip("/")
    if judge.deployment is None:
        address, parameters = f"{address}/models", {}
        headers = {"Authorization": f"Bearer {key}"} if key else {}
    else:
        address, parameters = f"{address}/openai/deployments/{judge.deployment}", {"api-version": judge.api_version}
        headers = origin_headers(Origin.JUDGE) | ({"api-key": key} if key else {})
    where = f"{name} at {urlsplit(address).hostname}"
    try:
        status = httpx.get(address, params=parameters, headers=headers, timeout=_SECONDS).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        text = (
            f"{where} does not answer ({type(error).__name__}): check evaluator.judges.{name}.base_url and the network"
        )
        return [failed("judges", text)]
    if status in (401, 403):
        return [failed("judges", f"{where} refuses the key ({status}): check evaluator.judges.{name}.api_key_file")]
    if status >= 500:
        return [failed("judges", f"{where} answers {status}: look at the endpoint")]
    if status >= 300:
        text = f"{where} answers, and does not list its models ({status}): the first call shows whether it has this one"
        return [well("judges", text)]
    return [well("judges", f"{where} answers and takes the key")]


def check_receivers(settings: MonitorSection, lake: Lake) -> list[Finding]:
    """Ask each receiver by HEAD, and log in to the server of mail, so that nobody gets a message.

    Then look whether each deployment has a receiver.
    """
    if not settings.receivers:
        return [skipped("receivers", "monitor.webhooks is empty: alerts are on the pages alone")]
    mail = [] if settings.mail is None else [_mail_server(settings.mail, settings)]
    return [*(_receiver(one, settings) for one in settings.webhooks), *mail, *_routes(settings.receivers, lake)]


def _mail_server(mail: MailSettings, settings: MonitorSection) -> Finding:
    where = f"mail by {mail.server}, port {mail.port_number}"
    attempt = MailServer(mail, settings.internal_hosts).try_out()
    if attempt.outcome is not DeliveryOutcome.DELIVERED:
        return failed("receivers", f"{where}, cannot be sent: {attempt.reason}")
    return well("receivers", f"{where}: the server {attempt.reason}; dialwatch webhook test sends a message")


def _routes(receivers: Sequence[ReceiverSettings], lake: Lake) -> list[Finding]:
    names = sorted(name for name in lake.deployments() if name is not None)
    routings = [(one, Routing(one)) for one in receivers]
    missed = [name for name in names if not any(routing.is_for(name) for _, routing in routings)]
    found = [
        well("receivers", f"{one.name} is for no deployment that the lake has: {', '.join(one.deployments)}")
        for one, routing in routings
        if names and not any(map(routing.is_for, names))
    ]
    if missed:
        shown = ", ".join(missed[:_SHOWN]) + (f" and {len(missed) - _SHOWN} more" if len(missed) > _SHOWN else "")
        advice = "give a receiver deployments that match, or one without that setting"
        found.append(failed("receivers", f"alerts of {shown} go to nobody: {advice}"))
    return found


def _receiver(webhook: WebhookSettings, settings: MonitorSection) -> Finding:
    # The path of the url may be a secret: it is not shown.
    where = f"{webhook.name} at {webhook.url.host}"
    try:
        with connections(settings.internal_hosts) as pool:
            status = pool.request("HEAD", str(webhook.url), headers={"host": _authority(webhook)}).status
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, ValueError) as error:
        return failed("receivers", f"{where} cannot be reached ({type(error).__name__}): {error}")
    if status == 410:
        return failed("receivers", f"{where} answers 410, it is gone: take it out of monitor.webhooks")
    return well("receivers", f"{where} can be reached; dialwatch webhook test sends it a message")


def _authority(webhook: WebhookSettings) -> str:
    url = webhook.url
    return f"{url.host}:{url.port}" if url.port else str(url.host)
