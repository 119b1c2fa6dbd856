"""Judges asked from code that does not await."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evaluator.judges.blocking_client import Memo
from evaluator.judges.exchange import ChatMessage, JudgeError, JudgeReply, JudgeRequest, Spend
from evaluator.judges.schema import MisfitError
from tests.evaluator.judges.conftest import SCHEMA, Bench, is_ending
from tests.evaluator.judges.scripted_server import ScriptedServer, as_it_can, fails, later, once, says


def requests(count: int, **given: Any) -> list[JudgeRequest]:
    return [JudgeRequest([ChatMessage("user", f"Is {number} so?")], SCHEMA, "1", **given) for number in range(count)]


def test_answers_come_in_the_order_of_the_requests(bench: Bench, server: ScriptedServer) -> None:
    """Many are asked at once, no more than the judge takes; one that fails is an error among the answers."""
    server.follow(as_it_can, *[once(lambda: server.most_at_once >= 3)] * 4, fails(400, "content_filter"))
    with bench.client(concurrency=3) as client:
        given = client.judge("strict").ask_all(requests(20))
        assert client.spent("strict").calls == 19
    failed = [answer for answer in given if isinstance(answer, JudgeError)]
    assert [error.reason for error in failed] == ["judge_content_filter"]
    assert all(answer.parsed == {"verdict": "S"} for answer in given if isinstance(answer, JudgeReply))
    assert server.most_at_once == 3


def test_several_threads_ask_and_equal_requests_are_one_call(bench: Bench, server: ScriptedServer) -> None:
    """Metrics that are scored at the same time, in threads of their own, share what they ask."""
    server.always = later(0.02)
    with bench.client() as client, ThreadPoolExecutor(4) as pool:
        given = list(pool.map(lambda _: client.judge("strict").ask_all(requests(5)), range(4)))
        assert client.spent("strict").calls == len(server.requests) == 5
    assert sum((answer.spend for answers in given for answer in answers), Spend()).calls == 5


def test_a_pickled_client_is_made_anew_with_the_same_replies(bench: Bench, server: ScriptedServer) -> None:
    """A process that scores gets the settings, and makes no call that another one has made."""
    with bench.client() as client:
        judge = client.judge("strict")
        judge.ask_all(requests(2))
        copy = pickle.loads(pickle.dumps(judge))
        with copy.client:
            assert [answer.from_cache for answer in copy.ask_all(requests(2))] == [True, True]
    assert len(server.requests) == 2


def test_after_the_end_there_are_no_answers(bench: Bench, server: ScriptedServer) -> None:
    """A request made while the process ends gets an error at once, and neither waits nor raises."""
    client = bench.client()
    client.judge("strict").ask_all(requests(1))
    client.close()
    client.close()
    (after,) = client.judge("strict").ask_all(requests(1))
    assert isinstance(after, JudgeError)
    assert after.reason == "judge_unavailable"


def test_requests_that_wait_at_the_end_are_errors(bench: Bench, server: ScriptedServer) -> None:
    """Closing from another thread: the call under way is answered, those that wait are not made."""
    client = bench.client(concurrency=1)

    async def act(request: Any, send: Any) -> None:
        pool.submit(client.close)
        await once(lambda: is_ending(client))(request, send)

    server.follow(as_it_can, act)
    with ThreadPoolExecutor() as pool:
        given = client.judge("strict").ask_all(requests(5))
    assert [isinstance(answer, JudgeReply) for answer in given] == [True, True, False, False, False]


def test_a_file_of_calls_that_cannot_be_opened_is_an_error_each_time(bench: Bench) -> None:
    """Nothing is asked that could not be kept, and a folder that is mended is used."""
    bench.path = bench.path.parent / "blocked" / "calls.sqlite"
    bench.path.parent.write_text("a file where the folder shall be")
    with bench.client() as client:
        for _ in range(2):
            with pytest.raises(FileExistsError):
                client.judge("strict").ask_all(requests(1))
        bench.path.parent.unlink()
        assert isinstance(client.judge("strict").ask_all(requests(1))[0], JudgeReply)


def test_a_schema_that_cannot_be_checked_is_an_error(bench: Bench, server: ScriptedServer) -> None:
    """A mistake in the code is raised where the request was made, and the client goes on."""
    with bench.client() as client:
        with pytest.raises(ValueError, match="must have type object"):
            client.judge("strict").ask_all([JudgeRequest([], {"type": "array"}, "1"), *requests(40)])
        assert len(client.judge("strict").ask_all(requests(40))) == 40


def test_an_unknown_judge_is_an_error_that_names_the_known_ones(bench: Bench) -> None:
    """A typing error in a configuration."""
    with pytest.raises(LookupError, match="'strickt'; known: strict"):
        bench.client().judge("strickt")


def test_a_reply_that_does_not_fit_the_question_is_asked_for_once_more(bench: Bench, server: ScriptedServer) -> None:
    """The judge is sent what is wrong; the second reply is taken if it fits the schema, for what is in it."""

    def check(reply: Any) -> None:
        raise MisfitError("verdict", "there is no such claim")

    server.follow(says('{"verdict": "S"}'), says('{"verdict": "C"}'))
    with bench.client() as client:
        (answer,) = client.judge("strict").ask_all(requests(1, check=check))
    assert isinstance(answer, JudgeReply)
    assert (answer.parsed, answer.spend.calls) == ({"verdict": "C"}, 2)
    assert "there is no such claim" in server.requests[1].body["messages"][-1]["content"]


def test_what_is_remembered_is_bounded_and_failures_not_for_long() -> None:
    """The last 2,048 things stay; a failure may be tried again after ten minutes."""
    now = [0.0]
    memo = Memo(lambda: now[0])
    memo.keep("failed", "why", is_failure=True)
    memo.keep(0, "first", is_failure=False)
    now[0] = 600.0
    assert (memo.find("failed"), memo.find(0)) == ("why", "first")
    now[0] = 601.0
    assert (memo.find("failed"), memo.find(0), memo.find("never")) == (None, "first", None)
    for key in range(1, 2_049):
        memo.keep(key, "more", is_failure=False)
    assert (memo.find(0), memo.find(1)) == (None, "more")
    memo.keep(2, "again", is_failure=False)
    for key in range(3_000, 3_002):
        memo.keep(key, "new", is_failure=False)
    assert [memo.find(key) for key in (1, 2, 3, 4, 5)] == ["more", "again", None, None, "more"]


@pytest.mark.integration
def test_the_metrics_are_imported_without_what_asks_a_judge() -> None:
    """As a library for lexical metrics, `evaluator.metrics` loads no client, and of the lake the words of columns."""
    code = (
        "import sys, evaluator.metrics; "
        "print({'openai', 'httpx2', 'torch', 'deltalake', 'sqlite3'} & set(sys.modules), "
        "sorted(name for name in sys.modules if name.startswith('lake.')))"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    words = [
        "answer_kinds",
        "case_vocabulary",
        "message_parts",
        "texts",
        "texts.refusals",
        "texts.unicode_forms",
        "thoughts",
        "tool_calls",
        "tool_messages",
        "vocabulary",
    ]
    assert finished.stdout == f"set() {['lake.spec', *(f'lake.spec.{one}' for one in words)]}\n"
