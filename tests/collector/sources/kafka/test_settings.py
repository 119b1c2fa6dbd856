"""Tests of values that the Kafka source's settings refuse."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from collector.sources.kafka.client import SubscribedRoundRobinAssignor
from collector.sources.kafka.settings import KafkaSettings

LEAST = {"bootstrap_servers": ["kafka:9092"], "topics": ["dial"]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"security_protocol": "SASL_SSL"}, "need a sasl_mechanism"),
        ({"sasl_mechanism": "PLAIN"}, "the others take none"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"}, "also needs sasl_username, sasl_password"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"}, "also needs oauth_token_url"),
        ({"topics": []}, "at least 1 item"),
        ({"acks": 1}, "Extra inputs are not permitted"),
    ],
    ids=["no-mechanism", "no-sasl", "no-password", "no-token-url", "no-topic", "unknown-key"],
)
def test_settings_that_cannot_work(options: dict[str, object], message: str) -> None:
    """What cannot log in or read anything is refused at the start, with what is missing."""
    with pytest.raises(ValidationError, match=message):
        KafkaSettings.model_validate(LEAST | options)


def test_secrets_are_not_shown() -> None:
    """A printed configuration holds no password."""
    login = {"sasl_mechanism": "PLAIN", "sasl_username": "u", "sasl_password": "hush"}
    assert "hush" not in repr(KafkaSettings.model_validate(LEAST | login | {"security_protocol": "SASL_SSL"}))


def test_a_group_is_of_its_topics_unless_it_has_a_name() -> None:
    """Collectors of different topics do not share a group by accident; the order of topics makes no other group."""
    assert KafkaSettings.model_validate(LEAST).group_id == "dialwatch-dial"
    groups = {KafkaSettings.model_validate(LEAST | {"topics": topics}).group_id for topics in (["b", "a"], ["a", "b"])}
    assert groups == {"dialwatch-a-b"}
    assert KafkaSettings.model_validate(LEAST | {"group_id": "g"}).group_id == "g"


MEMBERS = st.lists(st.tuples(st.booleans(), st.sets(st.sampled_from("abc"), min_size=1)), min_size=1, max_size=5)


@given(MEMBERS, st.fixed_dictionaries(dict.fromkeys("abc", st.integers(0, 5))))
def test_each_partition_goes_to_one_member_that_subscribes_to_it(
    given_members: list[tuple[bool, set[str]]], partitions: dict[str, int]
) -> None:
    """In any order of members, static ones or not; where all subscribe to the same, their numbers differ by one."""
    members = [
        SimpleNamespace(
            member_id=f"m{n}",
            group_instance_id=f"i{n}" if static else None,
            metadata=SimpleNamespace(topics=list(topics)),
        )
        for n, (static, topics) in enumerate(given_members)
    ]
    cluster = SimpleNamespace(partitions_for_topic=lambda topic: set(range(partitions[topic])) or None)
    found = SubscribedRoundRobinAssignor.assign(cluster, members)
    assert found.keys() == {member.member_id for member in members}
    given_out = []
    for member in members:
        for topic, numbers in found[member.member_id].assigned_partitions:
            assert topic in member.metadata.topics
            given_out += [(topic, number) for number in numbers]
    subscribed = set().union(*(topics for _, topics in given_members))
    assert sorted(given_out) == sorted((topic, n) for topic in subscribed for n in range(partitions[topic]))
    if len({frozenset(topics) for _, topics in given_members}) == 1:
        counts = [sum(len(numbers) for _, numbers in found[m.member_id].assigned_partitions) for m in members]
        assert max(counts) - min(counts) <= 1
