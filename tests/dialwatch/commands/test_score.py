from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from standardwebhooks import Webhook

from evaluator.judges.dry_run import least
from evaluator.models import Models
from tests.commands import Done, dialwatch
from tests.evaluator.judges.scripted_server import Request, Send, fails, says, serving
from tests.evaluator.metrics.llm.judging import answered, prompt
from tests.evaluator.models.real_encoder import real_encoder
from tests.servers import wait_for

SECRET = "whsec_" + base64.b64encode(b"k" * 24).decode()


def score(folder: Path, *arguments: str, **variables: str) -> Done:
    return dialwatch("score", *arguments, folder=folder, **variables)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    answer = {"question": "Q?", "documents": ["a"], "context": ["the sky is blue"], "answer": "blue sky"}
    others = [answer | {"context": None}, answer | {"question": "Other?"}]
    truth = {"question": "Q?", "documents": ["a"], "facts": ["sky is blue", "snow"], "answer": "blue"}
    pq.write_table(pa.Table.from_pylist([answer, *others]), tmp_path / "answers.parquet")
    pq.write_table(pa.Table.from_pylist([truth]), tmp_path / "gt.parquet")
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    return tmp_path


class Receiver(BaseHTTPRequestHandler):
    status = 204
    received: list[dict[str, object]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        Webhook(SECRET).verify(body, dict(self.headers))
        type(self).received.append(json.loads(body))
        self.send_response(type(self).status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[tuple[str, type[Receiver]]]:
    handler = type("OneReceiver", (Receiver,), {"received": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", handler
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_table_is_scored_and_the_means_are_shown(folder: Path) -> None:
    """The command writes the table, shows each mean with what it is over, and says what was left out."""
    done = score(folder, "answers.parquet", "--ground-truth", "gt.parquet", "--metrics", "all", "-o", "metrics.parquet")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if "facts_recall " in line]
    assert [cell.strip() for cell in line.strip("│").split("│")] == [
        "facts_recall",
        "0.5000",
        "1",
        "1",
        "1 no_contexts",
    ]
    assert "2 rows written to metrics.parquet" in done.stdout
    assert "1 answers without ground truth, 0 cases" in done.stdout
    assert "not scored for want of context_ids, duration_ms, price, reference_context_ids" in done.stdout
    assert "ndcg" in done.stdout
    assert pq.read_table(folder / "metrics.parquet").column("facts_recall").to_pylist() == [0.5, None]
    assert json.loads((folder / "metrics.parquet.metadata.json").read_text())["metrics"]["recall"] == 0.5


def test_a_page_shows_the_distributions(folder: Path) -> None:
    """The page stands by itself, with a bar where there are values, and names in it are no HTML."""
    (folder / "answers.parquet").rename(folder / "<b>.parquet")
    arguments = ["--ground-truth", "gt.parquet", "--metrics", "facts_recall,context_present", "-o", "<i>.parquet"]
    done = score(folder, "<b>.parquet", *arguments, "--html", "page.html")
    assert done.returncode == 0, done.stderr
    page = (folder / "page.html").read_text("utf-8")
    assert "Scores of &lt;i&gt;.parquet" in page
    assert "1 from 0.5 to 0.55" in page
    assert "1 no_contexts" in page
    assert not re.findall(r"https?:|//|url\(|@import|src=|<link", page)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--metrics", "facts_recall"), "'facts_recall' needs column 'facts' of the ground truth"),
        (("--metrics", "hit_rate", "--ground-truth", "gt.parquet"), "'hit_rate' needs column 'context_ids'"),
        (("--metrics", "faithfulnes_kprecision"), "did you mean faithfulness_kprecision"),
        (("--metrics", "ndgc@5"), "did you mean ndcg@5?"),
        (("--metrics", ","), "name at least one"),
        (("--ground-truth", "nowhere.parquet"), "nowhere.parquet"),
        (("--ground-truth", "secret"), "secret must end in .parquet, .csv, .jsonl"),
        (("--webhook", "http://127.0.0.1:1/"), "go together"),
        (("--webhook", "nowhere", "--webhook-secret-file", "secret"), "--webhook: url"),
    ],
)
def test_an_error_is_a_message_and_not_a_trace(arguments: tuple[str, ...], says: str, folder: Path) -> None:
    """What a person can mend is said, with exit code 2, and nothing is written."""
    done = score(folder, "answers.parquet", *arguments, "-o", "out.parquet")
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "out.parquet").exists()


def test_columns_that_no_metric_reads_are_an_error(folder: Path) -> None:
    """It names the columns that there are and those that are read, with exit code 2, and nothing is written."""
    pq.write_table(pa.table({"q": ["Why?"], "a": ["So."]}), folder / "mine.parquet")
    done = score(folder, "mine.parquet", "-o", "out.parquet")
    assert done.returncode == 2
    assert "the answers have q, a; metrics read question, answer, context," in done.stderr
    assert not (folder / "out.parquet").exists()


def test_cells_that_cannot_be_read_are_said_and_are_no_success(folder: Path) -> None:
    """Which column, how many rows, the first of them and what belongs there; the other rows have their scores."""
    row = {"answer": "blue sky", "context": '["the sky is blue"]'}
    rows = [row, row | {"context": "the sky"}, row | {"context": "['the sky']"}]
    (folder / "a.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    done = score(folder, "a.jsonl", "--metrics", "context_present", "-o", "out.parquet")
    assert done.returncode == 1
    assert "column 'context' cannot be read in 2 rows, the first is row 2: a cell must hold a list of" in done.stderr
    assert pq.read_table(folder / "out.parquet")["context_present"].to_pylist() == [1.0, None, None]


def test_tables_of_text_are_scored(folder: Path) -> None:
    """CSV with lists as JSON, and JSON lines."""
    (folder / "answers.csv").write_text(
        'question,documents,context,answer\nQ?,"[""a""]","[""the sky is blue""]",blue\n'
    )
    truth = {"question": "Q?", "documents": ["a"], "facts": ["sky is blue", "snow"], "answer": "blue"}
    (folder / "gt.jsonl").write_text(json.dumps(truth))
    done = score(folder, "answers.csv", "--ground-truth", "gt.jsonl", "--metrics", "facts_recall", "-o", "out.parquet")
    assert done.returncode == 0, done.stderr
    assert pq.read_table(folder / "out.parquet")["facts_recall"].to_pylist() == [0.5]


@pytest.mark.parametrize("terminal", [{}, {"TTY_COMPATIBLE": "1", "COLUMNS": "40"}], ids=["pipe", "narrow"])
def test_no_name_and_no_count_is_cut(terminal: dict[str, str], folder: Path) -> None:
    """Neither in a pipe, where each row is one line whatever the width, nor on a terminal that is too narrow."""
    metrics = "answer_correctness_token_recall_squad,facts_recall"
    arguments = ("answers.parquet", "--ground-truth", "gt.parquet", "--metrics", metrics, "-o", "out.parquet")
    done = score(folder, *arguments, **{"COLUMNS": "40"} | terminal)
    assert done.returncode == 0, done.stderr
    assert "…" not in done.stdout
    assert "1.0000" in done.stdout
    if not terminal:
        (line,) = [line for line in done.stdout.splitlines() if "facts_recall " in line]
        assert [cell.strip() for cell in line.split("│")][1:4] == ["facts_recall", "0.5000", "1"]
        assert "answer_correctness_token_recall_squad" in done.stdout


def test_a_webhook_gets_the_means(folder: Path, receiver: tuple[str, type[Receiver]]) -> None:
    """The signed body has a mean and counts a metric, null where nothing is scored, and no text of the table."""
    url, handler = receiver
    arguments = ["answers.parquet", "--metrics", "context_present,faithfulness_kprecision", "-o", "out.parquet"]
    done = score(folder, *arguments, "--webhook", url, "--webhook-secret-file", "secret")
    assert done.returncode == 0, done.stderr
    (body,) = handler.received
    assert body["rows"] == 3
    assert body["metrics"] == {
        "context_present": {"mean": pytest.approx(2 / 3), "scored": 3, "not_scored": 0, "reasons": {}},
        "faithfulness_kprecision": {"mean": 1.0, "scored": 2, "not_scored": 1, "reasons": {"no_contexts": 1}},
    }
    assert "blue" not in json.dumps(body)


def test_a_webhook_that_refuses_is_said(folder: Path, receiver: tuple[str, type[Receiver]]) -> None:
    """The table is there and the exit code is 1."""
    url, handler = receiver
    handler.status = 500
    arguments = ["answers.parquet", "--metrics", "context_present", "-o", "out.parquet"]
    done = score(folder, *arguments, "--webhook", url, "--webhook-secret-file", "secret")
    assert done.returncode == 1
    assert "the webhook was not delivered: answered 500" in done.stderr
    assert (folder / "out.parquet").exists()


@pytest.mark.usefixtures("models")
def test_a_metric_without_its_model_is_reported_and_the_others_are_scored(folder: Path) -> None:
    """The exit code is 1 where it was asked for by its name, and 0 where all was asked for."""
    arguments = ("answers.parquet", "--ground-truth", "gt.parquet", "-o", "out.parquet", "--metrics")
    missing = {"DIALWATCH_EVALUATOR__MODELS__SENTENCE_ENCODER": "nobody/none"}
    named = score(folder, *arguments, "facts_recall", "--metrics", "semantic_similarity", **missing)
    assert named.returncode == 1
    assert "not scored: semantic_similarity: model 'nobody/none' for sentence_encoder is not on" in named.stderr
    assert "facts_recall" in named.stdout
    assert pq.read_table(folder / "out.parquet")["facts_recall"].to_pylist() == [0.5, None]
    assert score(folder, *arguments, "all", **missing).returncode == 0


@pytest.mark.usefixtures("models")
def test_a_model_is_given_by_an_environment_variable(folder: Path) -> None:
    """A folder is enough: no network, no configuration file."""
    model = {"DIALWATCH_EVALUATOR__MODELS__SENTENCE_ENCODER": real_encoder()}
    ended = score(
        folder, "answers.parquet", "--ground-truth", "gt.parquet", "-o", "out.parquet", "--metrics",
        "semantic_similarity", **model,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    assert 0.5 < pq.read_table(folder / "out.parquet")["semantic_similarity"][0].as_py() < 1


def test_a_configured_combination_can_be_scored(folder: Path) -> None:
    """The names are those of the same configuration that the service has."""
    (folder / "c.yaml").write_text("evaluator: {combinations: {quality: {facts_recall: 1, context_present: 1}}}\n")
    arguments = ("answers.parquet", "--ground-truth", "gt.parquet", "-o", "out.parquet", "-c", "c.yaml")
    ended = score(folder, *arguments, "--metrics", "quality")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert pq.read_table(folder / "out.parquet")["quality"][0].as_py() == 0.75


def test_a_combination_reads_the_columns_that_its_metrics_may_have(folder: Path) -> None:
    """The label says that the question has no answer, so an answer that declines is right."""
    rows = [{"answer": "I do not know.", "is_answerable_label": label} for label in (True, False)]
    pq.write_table(
        pa.Table.from_pylist([row | {"reference_answers": ["blue"]} for row in rows]), folder / "rows.parquet"
    )
    (folder / "c.yaml").write_text("evaluator: {combinations: {quality: {is_answerable: 1}}}\n")
    ended = score(folder, "rows.parquet", "-o", "out.parquet", "-c", "c.yaml", "--metrics", "quality")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert pq.read_table(folder / "out.parquet")["quality"].to_pylist() == [0.0, 1.0]


def configure_judge(folder: Path, url: str) -> None:
    judge = f"{{base_url: '{url}', model: m, prompt_price: 1, completion_price: 10}}"
    (folder / "c.yaml").write_text(f"evaluator: {{judges: {{strict: {judge}}}, judge_calls: calls.sqlite}}\n")


@pytest.mark.integration
def test_claims_verdicts_and_bounds_are_written_where_details_are_asked_for(folder: Path) -> None:
    """A column of JSON beside each score, in the tables of one process and of several; without `--details` none."""
    rows = [{"question": f"{name}?", "context": ["So."], "answer": "It is so. It was so."} for name in ("good", "bad")]
    pq.write_table(pa.Table.from_pylist([*rows, rows[0] | {"answer": ""}]), folder / "answers.parquet")
    whole = json.loads(answered([[([1], "S")], [([], "N")]]))
    half = whole | {"sentences": whole["sentences"][:1]}

    async def judge(request: Request, send: Send) -> None:
        await says(json.dumps(half if "bad?" in prompt(request) else whole))(request, send)

    arguments = (
        "answers.parquet",
        "-o",
        "out.parquet",
        "-c",
        "c.yaml",
        "--metrics",
        "faithfulness_claims,answer_length",
    )
    with serving() as stage:
        stage.fresh().always = judge
        configure_judge(folder, stage.playing.url)
        for more in (("--details",), ("--details", "--workers", "2")):
            ended = score(folder, *arguments, *more)
            assert ended.returncode == 0, ended.stderr
            table = pq.read_table(folder / "out.parquet")
            good, bad, empty = table["faithfulness_claims_details"].to_pylist()
            first = {"fact": "Fact 1.1", "sentence": 1, "contexts": [0], "verdict": "S"}
            second = {"fact": "Fact 2.1", "sentence": 2, "contexts": [], "verdict": "N"}
            assert json.loads(good) == {"facts": [first, second]}
            assert json.loads(bad) == {"low": 0.0, "high": 1.0, "facts": [first]}
            assert empty is None
            assert table["faithfulness_claims"].to_pylist() == [0.5, None, None]
            assert table["answer_length_details"].null_count == 3
        assert score(folder, *arguments).returncode == 0
    assert not [name for name in pq.read_table(folder / "out.parquet").column_names if name.endswith("_details")]


def test_a_judge_that_answers_nothing_is_reported_at_once_and_is_no_success(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The exit code is 1, also where a metric without a judge scored all; the log says what the endpoint said."""
    with serving() as stage:
        stage.fresh().always = fails(401)
        configure_judge(folder, stage.playing.url)
        arguments = ("answers.parquet", "-o", "out.parquet", "-c", "c.yaml", "--metrics")
        ended = score(folder, *arguments, "faithfulness_claims,answer_length")
    assert ended.returncode == 1
    assert "judge 'strict' gives no answer: status 401" in caplog.text
    assert "nothing was scored by faithfulness_claims: 2 judge_unavailable, 1 no_contexts" in ended.stderr
    assert pq.read_table(folder / "out.parquet")["answer_length"].null_count == 0


def test_rows_about_which_a_judge_may_say_more_later_are_said(folder: Path) -> None:
    """How many, why, and what helps; the table has what the judge said."""
    rows = [{"question": f"{name}?", "context": ["So."], "answer": "It is so."} for name in ("good", "bad")]
    pq.write_table(pa.Table.from_pylist(rows), folder / "answers.parquet")

    async def judge(request: Request, send: Send) -> None:
        busy = "bad?" in prompt(request)
        await (fails(429, retry_after="7200") if busy else says(answered([[([1], "S")]])))(request, send)

    with serving() as stage:
        stage.fresh().always = judge
        configure_judge(folder, stage.playing.url)
        ended = score(
            folder, "answers.parquet", "-o", "out.parquet", "-c", "c.yaml", "--metrics", "faithfulness_claims"
        )
    assert ended.returncode == 0, ended.stderr
    says_so = (
        "faithfulness_claims has no value in 1 of 2 rows: 1 judge_unavailable. The log says why, and docs/judges.md"
    )
    assert says_so in ended.stderr
    assert pq.read_table(folder / "out.parquet")["faithfulness_claims"].to_pylist() == [1.0, None]


def test_a_table_without_a_single_score_is_no_success(folder: Path) -> None:
    """Whatever the reason: no row has what the metric reads, or there is no row."""
    table = pq.read_table(folder / "answers.parquet")
    for rows, why in (
        (table.slice(1, 1), "nothing was scored\n"),
        (table.slice(0, 0), "nothing was scored: there are no rows\n"),
    ):
        pq.write_table(rows, folder / "answers.parquet")
        ended = score(folder, "answers.parquet", "-o", "out.parquet", "--metrics", "citation_validity")
        assert (ended.returncode, ended.stderr) == (1, why)


@pytest.mark.integration
def test_a_judge_is_asked_where_a_metric_is_named_that_asks_one(folder: Path) -> None:
    """Several processes share the file of calls; what it took is printed. Without a judge nothing is scored."""
    arguments = ("answers.parquet", "-o", "out.parquet", "--metrics", "refusal_judged", "--workers", "2")
    without = score(folder, *arguments)
    assert (without.returncode, "configure one under evaluator.judges.<name>" in without.stderr) == (2, True)

    async def smallest(request: Request, send: Send) -> None:
        schema = request.body["response_format"]["json_schema"]["schema"]
        await says(json.dumps(least(schema)))(request, send)

    with serving() as stage:
        server = stage.fresh()
        server.always = smallest
        configure_judge(folder, server.url)
        ended = score(folder, *arguments, "-c", "c.yaml")
        asked = len(server.requests)
        again = score(folder, *arguments, "-c", "c.yaml")
    assert (ended.returncode, ended.stderr) == (0, "asking judge strict\n")
    assert f"judge strict: calls of today (UTC) for {asked * 0.0002:.4f}" in ended.stdout
    assert (again.returncode, len(server.requests)) == (0, asked)
    assert pq.read_table(folder / "out.parquet")["refusal_judged"].to_pylist() == [0.0] * 3


def test_a_model_of_another_kind_stops_no_other_metric(folder: Path, models: Models) -> None:
    """It is reported like one that is missing."""
    wrong = {"DIALWATCH_EVALUATOR__MODELS__SENTENCE_ENCODER": models.question_likelihood}
    arguments = ("answers.parquet", "--ground-truth", "gt.parquet", "-o", "out.parquet", "--metrics")
    ended = score(folder, *arguments, "facts_recall,semantic_similarity", **wrong)
    assert ended.returncode == 1
    assert "not scored: semantic_similarity: it fails with ValueError" in ended.stderr
    assert pq.read_table(folder / "out.parquet")["facts_recall"].to_pylist() == [0.5, None]


@pytest.mark.integration
def test_processes_that_score_end_with_a_parent_that_is_killed(folder: Path) -> None:
    """SIGKILL of the command leaves no process behind."""
    rows = pq.read_table(folder / "answers.parquet")
    pq.write_table(pa.concat_tables([rows] * 20_000), folder / "answers.parquet")
    command = [sys.executable, "-m", "dialwatch", "score", "answers.parquet", "-o", "out.parquet", "--workers", "2"]
    environment = {"PYTHONPATH": str(Path(__file__).parents[3]), "PATH": ""}
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL) as parent:
        children = wait_for(lambda: len(found := scoring_processes(parent.pid)) >= 2 and found, 120)
        parent.kill()
    assert wait_for(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
    assert not (folder / "out.parquet").exists()


def scoring_processes(parent: int) -> list[int]:
    """Children of a process that it has started for work."""
    try:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [int(pid) for pid in children if b"worker_pool" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    except FileNotFoundError:
        return []
