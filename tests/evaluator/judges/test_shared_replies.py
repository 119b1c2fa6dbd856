"""Replies that workers with files of calls of their own share over a lake."""

from __future__ import annotations

import logging
import os
import pickle
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from s3fs import S3FileSystem

from evaluator.judges.blocking_client import JudgeClient
from evaluator.judges.calls import Calls
from evaluator.judges.completion import ChatCompletion
from evaluator.judges.exchange import ChatMessage, JudgeReply, JudgeRequest
from evaluator.judges.shared_replies import SharedReplies
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from tests.evaluator.judges.conftest import SCHEMA, Bench, at_once
from tests.evaluator.judges.scripted_server import ScriptedServer, as_it_can, later
from tests.servers import Bucket

KEY = "ab" * 32
REPLY = ChatCompletion('{"verdict": "\ud83d S"}', None, None, "stop", 3, 0, 2)


@pytest.fixture
def lake(lake_of_each_kind: Lake) -> Lake:
    return lake_of_each_kind


@pytest.fixture
def local(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def worker(bench: Bench, name: str, shared: SharedReplies | None, **settings: Any) -> JudgeClient:
    """One machine's: with a file of calls of its own."""
    return JudgeClient({"strict": bench.settings(**settings)}, bench.path.parent / name, sleep=at_once, shared=shared)


def ask(client: JudgeClient, count: int = 3) -> list[JudgeReply]:
    requests = [JudgeRequest([ChatMessage("user", f"Is {number} so?")], SCHEMA, "1") for number in range(count)]
    answers = client.judge("strict").ask_all(requests)
    assert all(isinstance(answer, JudgeReply) for answer in answers)
    return [answer for answer in answers if isinstance(answer, JudgeReply)]


def stored(lake: Lake) -> Iterator[str]:
    filesystem, root = lake.storage.filesystem(lake.root)
    yield from filesystem.find(f"{root}/_judge_replies")


def test_another_machine_makes_no_call(bench: Bench, server: ScriptedServer, lake: Lake) -> None:
    """What one worker paid, another takes from the lake: no call, no spend, nothing in its ledger."""
    with worker(bench, "one", SharedReplies.of(lake)) as one:
        paid = ask(one)
    assert len(list(stored(lake))) == len(server.requests) == 3
    with worker(bench, "two", SharedReplies.of(lake)) as two:
        copy = pickle.loads(pickle.dumps(two))
        with copy:
            found = [*ask(two), *ask(copy)]
        assert two.spent("strict").calls == 0
    assert len(server.requests) == 3
    assert [answer.parsed for answer in found] == [answer.parsed for answer in paid] * 2
    assert all(answer.from_cache for answer in found)
    with closing(Calls(bench.path.parent / "two")) as calls:
        assert calls.spent("strict") == (0, 0)


def test_nothing_is_shared_unless_it_shall_be(bench: Bench, server: ScriptedServer, local: Lake) -> None:
    """Without it each machine asks for itself, and the lake gets no reply."""
    for name in ("one", "two"):
        with worker(bench, name, None) as client:
            ask(client)
    assert len(server.requests) == 6
    assert not list(stored(local))


def test_forgetting_empties_it(lake: Lake) -> None:
    """All go, or those that are older than they may be; where there are none, nothing happens."""
    shared = SharedReplies.of(lake)
    assert shared.forget() == 0
    for number in range(5):
        shared.keep(f"{number:064x}", REPLY)
        shared.keep(f"{number}{0:063x}", REPLY)
    assert shared.forget(before=datetime.now(UTC) - timedelta(days=1)) == 0
    assert shared.find(f"{0:064x}") == REPLY
    assert shared.forget(before=datetime.now(UTC) + timedelta(days=1)) == 9
    shared.keep(KEY, REPLY)
    assert shared.forget() == 1
    assert not list(stored(lake))
    assert shared.find(KEY) is None


def test_objects_that_the_store_does_not_remove_are_logged(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """An erasure never says that it removed what is still there."""
    shared = SharedReplies.of(Lake(bucket.uri, bucket.storage))
    shared.keep(KEY, REPLY)

    async def refuse(*_: object) -> list[str]:
        return []

    monkeypatch.setattr(S3FileSystem, "_bulk_delete", refuse)
    with pytest.raises(OSError, match=r"1 replies of judges are still in .*_judge_replies"):
        shared.forget()


def test_only_old_files_go_with_time(local: Lake) -> None:
    """By the time at which they were kept; what a killed writer left over goes too."""
    shared = SharedReplies.of(local)
    shared.keep(KEY, REPLY)
    cut = Path(f"{shared.folder}/ab/.cut")
    cut.write_text("half")
    os.utime(cut, (time.time() - 86400 * 3,) * 2)
    assert shared.forget(before=datetime.now(UTC) - timedelta(days=2)) == 1
    assert not cut.exists()
    assert shared.find(KEY) == REPLY


def test_a_lake_holds_no_deployment_or_table_more(lake: Lake) -> None:
    """Who lists deployments sees nothing of it."""
    lake.table(PARSED_LOGS, "app").append(PARSED_LOGS.rows([{"event_id": "1", "deployment": "app"}]))
    SharedReplies.of(lake).keep(KEY, REPLY)
    assert lake.deployments() == ["app"]


def test_a_store_that_fails_costs_no_reply(
    bench: Bench, server: ScriptedServer, local: Lake, caplog: pytest.LogCaptureFixture
) -> None:
    """Each call is made once and kept in the file; the log says it once, and no text."""
    Path(local.root).write_text("a file where the folder shall be")
    with worker(bench, "one", SharedReplies.of(local)) as one:
        assert not any(answer.from_cache for answer in ask(one, 10))
        assert all(answer.from_cache for answer in ask(one, 10))
    assert len(server.requests) == 10
    messages = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert [message.partition(", ")[0].rpartition(" ")[2] for message in messages] == ["read", "claimed", "written"]
    assert "verdict" not in caplog.text


def test_a_store_that_failed_is_tried_again(local: Lake, caplog: pytest.LogCaptureFixture) -> None:
    """After a minute, so that one that hangs holds up one call a minute; the next outage is logged again."""
    now = [0.0]
    shared = SharedReplies(f"{local.root}/_judge_replies", local.storage, lambda: now[0])
    blocked = Path(local.root)
    for _ in range(2):
        blocked.write_text("")
        shared.keep(KEY, REPLY)
        blocked.unlink()
        shared.keep(KEY, REPLY)
        assert not blocked.exists()
        now[0] += 60
        shared.keep(KEY, REPLY)
        assert shared.find(KEY) == REPLY
        assert shared.forget() == 1
        for folder in (blocked / "_judge_replies" / "ab", blocked / "_judge_replies", blocked):
            folder.rmdir()
    assert len(caplog.records) == 2


@pytest.mark.parametrize("content", ['{"content": ', '{"content": "secret"}', "[]", '{"content": 1}', "\xff"])
def test_an_object_that_is_no_reply_is_replaced(
    local: Lake, content: str, bench: Bench, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not used, and the log says where it is, not what is in it."""
    for _ in range(2):
        with worker(bench, f"{len(server.requests)}", SharedReplies.of(local)) as client:
            ask(client, 1)
        (path,) = stored(local)
        good = Path(path).read_bytes()
        Path(path).write_bytes(content.encode("latin-1"))
    assert len(server.requests) == 2
    with worker(bench, "last", SharedReplies.of(local)) as client:
        ask(client, 1)
    assert Path(path).read_bytes() == good
    assert path in caplog.text
    assert "secret" not in caplog.text


def test_a_reply_is_there_whole_or_not_at_all(local: Lake) -> None:
    """Who reads while others write sees all of it; a write that fails leaves nothing."""
    shared = SharedReplies.of(local)
    long = ChatCompletion("x" * 300_000, None, None, "stop", 3, 0, 2)
    shared.keep(KEY, long)
    with ThreadPoolExecutor(3) as pool:
        writing = [pool.submit(shared.keep, KEY, long) for _ in range(40)]
        assert all(shared.find(KEY) == long for _ in range(40))
        assert all(future.result() is None for future in writing)
    assert len(list(stored(local))) == 1


def test_what_is_paid_is_given_where_the_end_comes_before_it_is_shared(
    bench: Bench, server: ScriptedServer, local: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing does not wait for a slow store to give the answer, nor is that lost."""
    kept = SharedReplies.keep

    def closing_first(shared: SharedReplies, key: str, reply: ChatCompletion) -> None:
        pool.submit(client.close)
        time.sleep(0.3)
        kept(shared, key, reply)

    monkeypatch.setattr(SharedReplies, "keep", closing_first)
    server.follow(as_it_can, later(0.01))
    with ThreadPoolExecutor() as pool:
        client = worker(bench, "one", SharedReplies.of(local))
        (answer,) = ask(client, 1)
    assert answer.spend.calls == 1


def test_a_store_that_goes_on_failing_is_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is tried once a minute; once it answers, the log says how many were not read."""
    caplog.set_level("INFO")
    now, tries, is_away = [0.0], list[float](), [True]
    shared = SharedReplies(str(tmp_path), Storage(), lambda: now[0])

    def read(_: str) -> None:
        tries.append(now[0])
        if is_away[0]:
            raise OSError("no answer")

    monkeypatch.setattr(shared, "_read", read)
    for seconds in (0, 1, 59, 60, 61, 119, 120):
        now[0] = float(seconds)
        is_away[0] = seconds < 120
        assert shared.find("key") is None
    assert tries == [0, 60, 120]
    assert caplog.messages == [
        f"{tmp_path}: shared replies of judges cannot be read, OSError: no answer",
        f"{tmp_path}: shared replies of judges can be read again; 6 were not",
    ]
