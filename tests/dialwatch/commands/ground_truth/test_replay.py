"""`dialwatch ground-truth replay` asks a server that speaks DIAL's protocol: what it prints, writes and returns."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from dialwatch.config_loading import load_settings
from dialwatch.services.replaying import run_replay
from lake.spec.case_tables import GROUND_TRUTH, REPLAYS
from lake.tables.lake import Lake
from tests.commands import Done, dialwatch

AT = datetime(2026, 11, 20, 10, tzinfo=UTC)
CASES = 8
HOSTILE = "<script>alert(1)</script> [x](javascript:alert(1)) \x1b[31m | `a`"
Answer = Callable[[str], tuple[int, dict[str, Any]]]


class DialServer:
    """A deployment behind DIAL: `answer` gives status and body for a question."""

    def __init__(self) -> None:
        self.answer: Answer = right
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        dial = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                dial.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                status, reply = dial.answer(body["messages"][-1]["content"])
                data = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"


def fact(number: str) -> str:
    return f"Store {number} sells {number} kinds of tea"


def completion(text: str, found: str) -> dict[str, Any]:
    chunk = {"type": "text/markdown", "title": "[0.1] 'tea.pdf'", "data": found, "reference_url": "files/tea.pdf"}
    stage = {"index": 0, "name": "Combined search [0.01s]", "status": "completed", "attachments": [chunk]}
    message = {"role": "assistant", "content": text, "custom_content": {"stages": [stage]}}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
    return {"id": "r-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def right(question: str) -> tuple[int, dict[str, Any]]:
    number = question.split()[-1].strip("?")
    return 200, completion(f"{fact(number)}.", fact(number))


def misses(_: str) -> tuple[int, dict[str, Any]]:
    return 200, completion(HOSTILE, "Coffee is sold next door")


def refuses(_: str) -> tuple[int, dict[str, Any]]:
    return 400, {"error": {"message": "no such deployment", "code": "400"}}


@pytest.fixture
def dial() -> Iterator[DialServer]:
    made = DialServer()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


@pytest.fixture
def config(tmp_path: Path, dial: DialServer) -> Path:
    lake = Lake(str(tmp_path / "lake"))
    rows = [
        {"case_id": f"case-{n}", "deployment": "rag", "version": 1, "question": f"How many kinds has store {n}?"}
        | {"documents": ["files/tea.pdf"], "facts": [fact(str(n))], "answer": fact(str(n)), "status": "accepted"}
        | {"context": [fact(str(n))], "created_at": AT, "updated_at": AT}
        for n in range(CASES)
    ]
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows(rows))
    path = tmp_path / "dialwatch.yaml"
    key = tmp_path / "key"
    key.write_text("key-of-rag")
    replay = {"base_url": dial.address, "deployments": {"rag": {"api_key_file": str(key)}}}
    path.write_text(yaml.safe_dump({"lake": {"root": lake.root}, "evaluator": {"replay": replay}}))
    return path


def replayed(config: Path, *options: object) -> Done:
    return dialwatch("ground-truth", "replay", "--deployment", "rag", "-c", config, *options)


def test_cases_are_asked_as_dial_is_asked(config: Path, dial: DialServer) -> None:
    """By the deployment's own key, with its documents, marked as dialwatch's own, each in its own trace."""
    done = replayed(config)
    assert (done.returncode, done.stderr) == (0, "")
    assert "rag: first run: later ones are compared with it" in done.stdout
    assert "8 cases asked; 200 tokens" in done.stdout
    path, headers, body = dial.requests[0]
    assert path.split("?")[0] == "/openai/deployments/rag/chat/completions"
    assert headers["api-key"] == "key-of-rag"
    assert headers["baggage"] == "dialwatch.origin=replay"
    assert {name.lower(): value for name, value in headers.items()}["x-job-title"] == "dialwatch/replay"
    assert len({headers["traceparent"].split("-")[1] for _, headers, _ in dial.requests}) == CASES
    attached = {"type": "application/pdf", "title": "tea.pdf", "url": "files/tea.pdf"}
    assert body["messages"][0]["custom_content"] == {"attachments": [attached]}
    row = Lake(str(config.parent / "lake")).table(REPLAYS, "rag").read().to_pylist()[0]
    assert row["contexts"][0]["text"].startswith("Store")
    assert {score["metric"]: score["value"] for score in row["scores"]}["facts_recall"] == 1.0


def test_a_regression_ends_with_1_where_that_is_asked_for(config: Path, dial: DialServer, tmp_path: Path) -> None:
    """The reports name the part that failed and the worst cases with both answers, and no text of them is code."""
    assert replayed(config, "--fail-on-regression").returncode == 0
    dial.answer = misses
    junit, markdown = tmp_path / "junit.xml", tmp_path / "replay.md"
    assert replayed(config).returncode == 0
    done = replayed(config, "--fail-on-regression", "--junit", junit, "--markdown", markdown)
    assert done.returncode == 1
    assert "regression: the answers got worse" in done.stdout
    assert "8 of 8 cases that got worse: retrieval (retrieval did not find the fact)" in done.stdout
    assert "before: Store" in done.stdout
    assert "\x1b" not in done.stdout
    suite = ElementTree.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("9", "9", "0")
    text = markdown.read_text()
    assert text.count("- now: ") == 5
    assert "<script>" not in text
    assert "](javascript" not in text


def test_a_case_fails_in_the_report_alone_where_the_run_does(config: Path, dial: DialServer, tmp_path: Path) -> None:
    """A case that got worse by chance is a note: a report that fails each night is switched off."""
    junit = tmp_path / "junit.xml"
    replayed(config)
    dial.answer = lambda question: misses(question) if "store 3" in question else right(question)
    done = replayed(config, "--fail-on-regression", "--junit", junit)
    assert (done.returncode, "1 worse" in done.stdout) == (0, True)
    suite = ElementTree.parse(junit).getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    [note] = suite.iter("system-out")
    assert note.text == "worse than before: retrieval did not find the fact"


def test_a_judge_says_which_answers_it_prefers(config: Path, dial: DialServer, tmp_path: Path) -> None:
    """On the terminal, in Markdown, and beside each test of JUnit's report; no text of an answer is in these words."""

    def answer(said: str) -> tuple[int, dict[str, Any]]:
        if "TASK." not in said:
            return misses(said) if "store 3" in said or "store 5" in said else right(said)
        one, other = said.split("<answer 1 ")[1].split("<answer 2 ")
        better = "tie" if "store 5" in said else "first" if "kinds" in one else "second"
        assert ("kinds" in one) != ("kinds" in other), "of equal answers it is not asked"
        return 200, completion(json.dumps({"better": better}), "")

    settings = yaml.safe_load(config.read_text())
    judge = {"base_url": dial.address, "model": "m", "prompt_price": 1, "completion_price": 1}
    settings["evaluator"] |= {"judges": {"strict": judge}, "judge_calls": str(tmp_path / "calls.sqlite")}
    settings["evaluator"]["replay"]["preference"] = "strict"
    config.write_text(yaml.safe_dump(settings))
    replayed(config)
    dial.answer = answer
    junit, markdown = tmp_path / "junit.xml", tmp_path / "replay.md"
    done = replayed(config, "--junit", junit, "--markdown", markdown)
    assert done.returncode == 0
    words = "preferred by the judge: now 0, before 1, ties 7, undecided 0; sign test 1"
    assert words in done.stdout
    assert "preferred by the judge" in markdown.read_text()
    notes = {test.get("name"): test.findtext("system-out") for test in ElementTree.parse(junit).getroot()}
    worse = "worse than before: retrieval did not find the fact"
    assert notes["no regression"] == words
    assert notes["How many kinds has store 3?"] == f"{worse}; the judge prefers the answer of before"
    assert notes["How many kinds has store 5?"] == f"{worse}; the judge prefers neither answer"
    assert notes["How many kinds has store 1?"] == "the judge prefers neither answer"


def test_evidence_can_be_required(config: Path, dial: DialServer) -> None:
    """A CI that wants to be sure fails where nothing was compared, and where too little was."""
    assert replayed(config, "--require-evidence").returncode == 1
    assert replayed(config, "--require-evidence").returncode == 0
    table = Lake(str(config.parent / "lake")).table(GROUND_TRUTH, "rag")
    fewer = [row | {"version": 2, "status": "rejected"} for row in table.read().to_pylist()[:3]]
    table.append(GROUND_TRUTH.rows(fewer))
    done = replayed(config, "--require-evidence")
    assert done.returncode == 1
    assert "too few: nothing is known; 5 cases could be compared, and a regression shows with 7 or more" in done.stdout
    assert replayed(config).returncode == 0


def test_a_suspicion_fails_a_release_and_alerts_nobody(config: Path, dial: DialServer, tmp_path: Path) -> None:
    """One bad night may be one: two more of the same are a regression."""
    table = Lake(str(config.parent / "lake")).table(GROUND_TRUTH, "rag")
    [row, *_] = table.read().to_pylist()
    more = [row | {"case_id": f"more-{n}", "question": f"How many kinds has store {n}?", "facts": [fact(str(n))],
                   "answer": fact(str(n)), "context": [fact(str(n))]} for n in range(10, 50)]  # fmt: skip
    table.append(GROUND_TRUTH.rows(more))
    dial.answer = lambda question: misses(question) if question.endswith("9?") else right(question)
    replayed(config)
    dial.answer = lambda question: misses(question) if question[-2] in "56789" else right(question)
    junit = tmp_path / "junit.xml"
    done = replayed(config, "--require-evidence", "--junit", junit)
    assert done.returncode == 1
    assert "suspected: the answers are worse than single answers vary, but whole runs may differ so much" in done.stdout
    assert int(ElementTree.parse(junit).getroot().get("failures") or 0) > 0
    done = [replayed(config, "--fail-on-regression") for _ in range(2)]
    assert [one.returncode for one in done] == [1, 1]
    assert ["suspected: " in one.stdout for one in done] == [True, False]


def test_a_regression_that_lasts_names_its_first_run(config: Path, dial: DialServer) -> None:
    replayed(config)
    dial.answer = misses
    replayed(config)
    dial.answer = lambda question: right(question) if question.endswith(("0?", "1?", "2?", "3?")) else misses(question)
    done = replayed(config, "--fail-on-regression")
    assert done.returncode == 1
    assert "regression: the answers got worse in the run of 20" in done.stdout
    assert "and are not shown to be as good again" in done.stdout


def test_what_cannot_be_asked_is_explained(config: Path, dial: DialServer) -> None:
    """No answers are an error by themselves, as nothing is known then."""
    done = dialwatch("ground-truth", "replay", "--deployment", "other", "-c", config)
    assert (done.returncode, "evaluator.replay.deployments.other.api_key_file is not set" in done.stderr) == (2, True)
    dial.answer = refuses
    done = replayed(config)
    assert done.returncode == 1
    assert "incomplete: more than a tenth of the cases were not answered" in done.stdout
    assert "no answer: status 400" in done.stdout
    settings = yaml.safe_load(config.read_text())
    del settings["evaluator"]["replay"]["base_url"]
    config.write_text(yaml.safe_dump(settings))
    done = replayed(config)
    assert (done.returncode, "evaluator.replay.base_url is not set" in done.stderr) == (2, True)


@pytest.mark.slow
def test_a_key_is_never_shown(config: Path, dial: DialServer) -> None:
    dial.answer = lambda _: (500, {"error": {"message": "bad", "code": "500"}})
    settings = load_settings(config)
    made = run_replay(settings, settings.lake.open(), "rag")
    assert made is not None
    assert "key-of-rag" not in repr(settings) + repr(made)
