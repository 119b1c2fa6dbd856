"""The consumer of kafka-python, configured; for SASL OAUTHBEARER with tokens from an OAuth 2.0 server."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import httpx
from kafka import KafkaConsumer
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.net.compat import KafkaNetClient
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment
from pydantic import SecretStr

from collector.sources.kafka.settings import KafkaSettings

logger = logging.getLogger(__name__)

_FETCH_BYTES = 16 << 20
"""Limit on the compressed bytes of one fetch response; a larger batch still comes, alone."""
_PARTITION_BYTES = 4 << 20
_FRAME_BYTES = 256 << 20
_MAX_POLL_SECONDS = 600
_CONNECT_SECONDS = 10
_TIMEOUT_SECONDS = 10.0
_SHARE_OF_LIFE = 0.8
"""A token is used for this part of its life, so that none ends on the way to the broker."""


class SubscribedRoundRobinAssignor(RoundRobinPartitionAssignor):  # type: ignore[misc]
    """Partitions in turn to the members that subscribe to their topic, static members first.

    kafka-python 3.0.12's own fails with KeyError where members subscribe to different topics, and leaves members out
    where static and other ones come mixed. The name stays, so that a group may hold both while it is updated.
    """

    @classmethod
    def assign(cls, cluster: Any, members: Sequence[Any]) -> dict[str, Any]:
        """Return each member's partitions, by topic; the leader of the group calls it."""
        ordered = sorted(members, key=lambda one: (one.group_instance_id is None, one.group_instance_id, one.member_id))
        topics = {topic for member in members for topic in member.metadata.topics}
        if any(set(member.metadata.topics) != topics for member in members):
            logger.warning(
                "members of the consumer group subscribe to different topics, in all to %s: give collectors of "
                "different topics a group_id of their own", ", ".join(sorted(topics)),
            )  # fmt: skip
        assigned: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        counts: Counter[str] = Counter()
        for topic in sorted(topics):
            subscribed = [one.member_id for one in ordered if topic in one.metadata.topics]
            for partition in sorted(cluster.partitions_for_topic(topic) or ()):
                member_id = min(subscribed, key=lambda one: counts[one])
                counts[member_id] += 1
                assigned[member_id][topic].append(partition)
        return {
            member.member_id: ConsumerProtocolAssignment(cls.version, sorted(assigned[member.member_id].items()), b"")
            for member in members
        }


def connect(settings: KafkaSettings) -> KafkaConsumer:
    """Return a consumer that knows the cluster; raises a KafkaError where no broker answers within 10 s.

    It commits nothing by itself and never jumps: a position that the broker has not is an error.
    """
    clients: list[KafkaNetClient] = []

    def client(**options: Any) -> KafkaNetClient:
        # Its thread shares Python with the collector's own, so a slow step of it is no news to warn of.
        clients.append(KafkaNetClient(**options, slow_task_threshold_secs=0))
        return clients[-1]

    try:
        return KafkaConsumer(kafka_client=client, **options_of(settings))
    except BaseException:
        # Its thread and sockets would stay: the consumer that would close them was not made.
        for made in clients:
            made.close()
        raise


def go_on_joining(consumer: KafkaConsumer) -> None:
    """Have the next poll finish a join that the last poll left unfinished.

    kafka-python 3.0.12 forgets one that changed metadata had begun: its member then neither reads nor sends a
    heartbeat until the broker throws it out.
    """
    coordinator = consumer._coordinator
    if coordinator.rejoining:
        coordinator.request_rejoin()


def known_topics(consumer: KafkaConsumer) -> set[str]:
    """Return the consumer's topics as last reported by the broker; `consumer.topics()` waits for a broker for ever."""
    return set(consumer._cluster.topics())


def options_of(settings: KafkaSettings) -> dict[str, Any]:
    """Return the keyword arguments of KafkaConsumer."""
    session = int(settings.session_timeout_seconds * 1000)
    return {
        "bootstrap_servers": settings.bootstrap_servers,
        "client_id": settings.group_instance_id or "dialwatch-collector",
        "group_id": settings.group_id,
        "group_instance_id": settings.group_instance_id,
        "enable_auto_commit": False,
        "auto_offset_reset": "none",
        "allow_auto_create_topics": False,
        "isolation_level": "read_committed",
        "partition_assignment_strategy": (SubscribedRoundRobinAssignor,),
        "session_timeout_ms": session,
        "heartbeat_interval_ms": min(3000, session // 4),
        "max_poll_interval_ms": max(_MAX_POLL_SECONDS * 1000, session),
        "metadata_max_age_ms": 60_000,
        "fetch_max_bytes": _FETCH_BYTES,
        "max_partition_fetch_bytes": _PARTITION_BYTES,
        "receive_message_max_bytes": _FRAME_BYTES,
        "reconnect_backoff_max_ms": 2000,
        "bootstrap_timeout_ms": _CONNECT_SECONDS * 1000,
        "metrics_enabled": False,
        **_security(settings),
    }


def _security(settings: KafkaSettings) -> dict[str, Any]:
    options = {
        "security_protocol": settings.security_protocol,
        "ssl_cafile": settings.ssl_cafile,
        "ssl_certfile": settings.ssl_certfile,
        "ssl_keyfile": settings.ssl_keyfile,
        "ssl_password": _revealed(settings.ssl_password),
        "ssl_check_hostname": settings.ssl_check_hostname,
        "sasl_mechanism": settings.sasl_mechanism,
        "sasl_plain_username": settings.sasl_username,
        "sasl_plain_password": _revealed(settings.sasl_password),
    }
    if settings.sasl_mechanism == "OAUTHBEARER":
        options["sasl_oauth_token_provider"] = ClientCredentials(settings, httpx.Client())
    return options


def _revealed(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()


class ClientCredentials(AbstractTokenProvider):  # type: ignore[misc]
    """Takes tokens by the client-credentials grant (RFC 6749, section 4.4) and uses each again while it lives."""

    def __init__(
        self, settings: KafkaSettings, client: httpx.Client, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._settings = settings
        self._client = client
        self._clock = clock
        self._lock = threading.Lock()
        self._token = ""
        self._good_until = float("-inf")

    def token(self) -> str:
        """Return a token that is still good; raises httpx.HTTPError or ValueError where the server gives none."""
        with self._lock:
            if self._clock() >= self._good_until:
                self._token, seconds = self._fetch()
                self._good_until = self._clock() + seconds * _SHARE_OF_LIFE
            return self._token

    def _fetch(self) -> tuple[str, float]:
        settings, url = self._settings, self._settings.oauth_token_url or ""
        secret = settings.oauth_client_secret.get_secret_value() if settings.oauth_client_secret else ""
        form = {"grant_type": "client_credentials"}
        if settings.oauth_scope is not None:
            form["scope"] = settings.oauth_scope
        login = httpx.BasicAuth(settings.oauth_client_id or "", secret)
        answer = self._client.post(url, data=form, auth=login, timeout=_TIMEOUT_SECONDS)
        answer.raise_for_status()
        # The text of the answer may contain a token, so the error names only the missing member.
        try:
            given = answer.json()
            return str(given["access_token"]), float(given.get("expires_in", 0))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{url} answered without an access_token; check oauth_token_url") from error
