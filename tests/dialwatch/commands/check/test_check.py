"""`dialwatch check`: what a person reads before services are started."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from dialwatch.commands.check.finding import Verdict
from dialwatch.commands.check.lake_checks import check_classes, check_lake, check_limits, check_signals
from lake.delta_log.log_files import LocalLogFiles
from lake.queries.application_classes import ApplicationClasses, DecidedClass
from lake.spec.application_classes import ApplicationClass, SeenAnswers
from lake.spec.root_tables import SERVICES
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.store.log_copy import commit_name
from lake.tables.lake import Lake
from lake.tables.write_probe import probe_writes
from monitor.detect.limits import LimitSettings
from tests.commands import Done, dialwatch
from tests.monitor.notify.smtp_server import SmtpServer
from tests.servers import Bucket, free_port

SECRET = "whsec_" + "A" * 44


class Endpoint(HTTPServer):
    """Answers GET and HEAD with `status` and keeps what was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.asked: list[tuple[str, str, str | None]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                endpoint.asked.append((self.command, self.path, self.headers["api-key"]))
                self.send_response(endpoint.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_HEAD = do_POST = _answer  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def check(folder: Path, text: str) -> Done:
    config = folder / "dialwatch.yaml"
    config.write_text(f"lake: {{root: {folder}/lake}}\n{text}")
    return dialwatch("check", "-c", config, folder=folder)


def lines(done: Done, verdict: Verdict) -> list[str]:
    return [" ".join(line.split()) for line in done.stdout.splitlines() if line.startswith(verdict)]


def test_all_is_well(tmp_path: Path, endpoint: Endpoint) -> None:
    """One line each and exit code 0; no message was sent, no prompt, and nothing is left in the lake."""
    (tmp_path / "aidial.log").write_text("")
    (tmp_path / "key").write_text("dial-key")
    (tmp_path / "secret").write_text(SECRET)
    done = check(
        tmp_path,
        f"""
collector: {{files: {{paths: ["{tmp_path}/*.log"]}}}}
evaluator:
  judges:
    strict: {{base_url: "http://127.0.0.1:{endpoint.server_port}", deployment: gpt, api_key_file: {tmp_path}/key,
             allow_unpriced: true}}
monitor:
  listen: "127.0.0.1:{free_port()}"
  internal_hosts: [127.0.0.1]
  webhooks: [{{name: team, url: "http://127.0.0.1:{endpoint.server_port}/a-secret-path",
               secret_file: {tmp_path}/secret}}]
""",
    )
    assert (done.returncode, done.stderr) == (0, "")
    subjects = ["lake", "retention", "addresses", "start", "files", "models", "judges", "receivers"]
    assert [line.split()[1] for line in lines(done, Verdict.OK)] == subjects
    assert len(done.stdout.splitlines()) == len(subjects)
    assert endpoint.asked == [
        ("GET", "/openai/deployments/gpt?api-version=2024-10-21", "dial-key"),
        ("HEAD", "/a-secret-path", None),
    ]
    assert not (tmp_path / "lake").exists()
    for secret in ("dial-key", "a-secret-path", SECRET):
        assert secret not in done.stdout


def test_the_server_of_mail_is_asked_without_a_mail(tmp_path: Path) -> None:
    with SmtpServer() as server:
        text = f"""
monitor:
  listen: "127.0.0.1:{free_port()}"
  internal_hosts: [127.0.0.1]
  mail: {{server: 127.0.0.1, port: {server.port}, security: none, sender: a@b.example,
          receivers: [{{to: [c@d.example]}}]}}
"""
        assert any(
            line.startswith(f"ok receivers mail by 127.0.0.1, port {server.port}: the server answers;")
            for line in lines(check(tmp_path, text), Verdict.OK)
        )
        assert server.received == []
    (wrong,) = lines(check(tmp_path, text), Verdict.FAILED)
    assert wrong.startswith(
        f"FAILED receivers mail by 127.0.0.1, port {server.port}, cannot be sent: ConnectionRefused"
    )


def test_each_thing_that_is_wrong_is_a_line(tmp_path: Path, endpoint: Endpoint) -> None:
    """With what to do; the others are looked at all the same, and the exit code is 1."""
    endpoint.status = 401
    done = check(
        tmp_path,
        f"""
collector: {{files: {{paths: ["{tmp_path}/none/*.log"]}}}}
evaluator:
  judges:
    strict: {{base_url: "http://127.0.0.1:{endpoint.server_port}", deployment: gpt, allow_unpriced: true}}
    away: {{base_url: "http://127.0.0.1:{free_port()}", model: gpt, allow_unpriced: true}}
    poor: {{base_url: "http://127.0.0.1:{free_port()}", model: gpt, prompt_price: 1, completion_price: 10,
            budget_per_hour: 0.01}}
monitor:
  listen: "127.0.0.1:{free_port()}"
  webhooks: [{{name: team, url: "https://127.0.0.1/a-secret-path", format: slack}}]
""",
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    wrong = lines(done, Verdict.FAILED)
    assert [line.split()[1] for line in wrong] == ["files", "judges", "judges", "judges", "judges", "receivers"]
    assert "refuses the key (401): check evaluator.judges.strict.api_key_file" in wrong[1]
    assert "does not answer" in wrong[2]
    assert "poor is never asked: a reply of max_tokens may cost 0.04096, and budget_per_hour is 0.01" in wrong[3]
    assert "monitor.internal_hosts" in wrong[5]
    assert "a-secret-path" not in done.stdout
    assert endpoint.asked == [("GET", "/openai/deployments/gpt?api-version=2024-10-21", None)]


@pytest.mark.slow
def test_a_model_that_is_not_here_is_named(tmp_path: Path) -> None:
    """With the metric that needs it; a metric without a model is no line of its own."""
    metrics = "metrics: [context_present, answer_reward]"
    listen = f'monitor: {{listen: "127.0.0.1:{free_port()}"}}'
    done = check(tmp_path, f"{listen}\nevaluator: {{{metrics}, models: {{answer_reward: {tmp_path}/no-model}}}}")
    assert done.returncode == 1
    (wrong,) = lines(done, Verdict.FAILED)
    assert wrong.startswith("FAILED models answer_reward cannot run: ")


def test_a_deployment_that_no_receiver_is_for_is_told(tmp_path: Path, endpoint: Endpoint) -> None:
    """Its alerts would go to nobody; a receiver that matches nothing may wait for its deployments, and is named."""
    for name in ("hr-leave", "payroll"):
        Lake(str(tmp_path / "lake")).table(PARSED_LOGS, name).append(PARSED_LOGS.rows([{"event_id": name}]))
    url = f'url: "http://127.0.0.1:{endpoint.server_port}/", format: slack'
    done = check(
        tmp_path,
        f"""
monitor:
  internal_hosts: [127.0.0.1]
  listen: "127.0.0.1:{free_port()}"
  webhooks: [{{name: hr, {url}, deployments: ["hr-*"]}}, {{name: typo, {url}, deployments: ["HR-*", "pay"]}}]
""",
    )
    assert done.returncode == 1
    (wrong,) = lines(done, Verdict.FAILED)
    assert wrong.startswith("FAILED receivers alerts of payroll go to nobody: give a receiver deployments that match")
    assert "ok receivers typo is for no deployment that the lake has: HR-*, pay" in lines(done, Verdict.OK)


def test_what_is_not_configured_is_no_failure(tmp_path: Path) -> None:
    """A lake alone is well."""
    done = check(tmp_path, f'monitor: {{listen: "127.0.0.1:{free_port()}"}}')
    assert done.returncode == 0
    assert [line.split()[1] for line in lines(done, Verdict.SKIPPED)] == ["sources", "judges", "receivers"]


def test_a_lake_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """The store's own words, and what to look at."""
    (tmp_path / "lake").write_text("a file stands where the folder should be")
    done = check(tmp_path, f'monitor: {{listen: "127.0.0.1:{free_port()}"}}')
    assert done.returncode == 1
    assert [line.split()[1] for line in lines(done, Verdict.FAILED)] == ["lake"]
    assert "lake.root" in done.stdout


def test_a_store_that_writes_a_name_twice_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a store has no conditional writes: two collectors would lose each other's commits."""

    def overwrite(self: LocalLogFiles, version: int, commit: bytes) -> bool:
        (self._folder / commit_name(version)).write_bytes(commit)
        return True

    monkeypatch.setattr(LocalLogFiles, "create", overwrite)
    assert not probe_writes(Lake(str(tmp_path))).is_conditional
    (first, *_) = check_lake(Lake(str(tmp_path)))
    assert (first.subject, first.verdict) == ("lake", Verdict.FAILED)


@pytest.mark.parametrize(("minutes", "verdict"), [(0, Verdict.OK), (-5, Verdict.FAILED), (5, Verdict.FAILED)])
def test_the_clock_is_compared_with_that_of_the_store(tmp_path: Path, minutes: int, verdict: Verdict) -> None:
    """Ours ahead, and behind."""
    found = check_lake(Lake(str(tmp_path)), lambda: datetime.now(UTC) + timedelta(minutes=minutes))
    assert [one.verdict for one in found if one.subject == "clocks"] == [verdict]


def test_a_host_whose_heartbeat_comes_from_the_future_is_named(tmp_path: Path) -> None:
    """Its clock is ahead of ours by so much at least."""
    lake, now = Lake(str(tmp_path)), datetime.now(UTC)
    row = {"part": "collector", "state": "running", "since": now, "date": now.date()}
    beats = [("fast", now + timedelta(minutes=7)), ("right", now - timedelta(seconds=30))]
    lake.table(SERVICES).append(SERVICES.rows([row | {"host": host, "heartbeat_at": at} for host, at in beats]))
    wrong = [one.text for one in check_lake(lake) if one.verdict is Verdict.FAILED]
    assert len(wrong) == 1
    assert "host fast" in wrong[0]


@pytest.mark.integration
def test_a_bucket_is_written_and_left_as_it_was(bucket: Bucket) -> None:
    """A conditional PUT, and the store's own time."""
    lake = Lake(bucket.uri, bucket.storage)
    probe = probe_writes(lake)
    assert (probe.is_conditional, probe.can_remove) == (True, True)
    assert abs(probe.clock_ahead) < timedelta(minutes=1)
    assert lake.is_empty()


@pytest.mark.parametrize(("unnamed", "verdict"), [(0, Verdict.OK), (9, Verdict.OK), (10, Verdict.FAILED)])
def test_signals_that_are_joined_with_no_answer_are_told(tmp_path: Path, unnamed: int, verdict: Verdict) -> None:
    """A gateway gives all answers one id, and some likes say neither whose they are nor of which conversation."""
    lake, now = Lake(str(tmp_path)), datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert check_signals(lake, lambda: now) == []
    seen = {"kind": "chat_completion", "is_entry": True, "status": 200, "response_id": "chat", "response_ids": ["chat"]}
    seen |= {"date": now.date(), "requested_at": now - timedelta(hours=1)}
    answers = [seen | {"event_id": who, "chat_id": who} for who in "abcdef"]
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows(answers))
    said = {"signal": "like", "origin": "explicit", "response_id": "chat", "date": now.date(), "signaled_at": now}
    signals = [said | {"signal_id": str(number), "chat_id": "b"} for number in range(40)]
    signals += [said | {"signal_id": f"unnamed-{number}"} for number in range(unnamed)]
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows(signals))
    (finding,) = check_signals(lake, lambda: now)
    assert finding.verdict == verdict
    assert f"of {40 + unnamed} signals of the last 7 days {unnamed} are joined with no answer" in finding.text
    assert ("rag: 10 shared_id, of 50" in finding.text) == (verdict == Verdict.FAILED)


def test_it_says_what_each_application_does(tmp_path: Path) -> None:
    """With the metrics that are scored for that; at most so many by name, and how many are not known yet."""
    lake, classes = Lake(str(tmp_path)), ApplicationClasses(Lake(str(tmp_path)))
    for number in range(52):
        name, now = f"bot-{number:02}", datetime.now(UTC)
        lake.table(PARSED_LOGS, name).append(PARSED_LOGS.rows([{"event_id": "1", "date": now.date()}]))
        if number:
            seen = SeenAnswers(60, 0, 60, 0)
            kind = ApplicationClass.CALLS_TOOLS
            classes.keep(DecidedClass(name, 1, (kind,), seen, ("refusal",), False, now, now))
    found = [one.text for one in check_classes(lake)]
    assert (
        found[0]
        == "bot-01 calls tools: 60 of 60 answers that were looked at called a tool. Scored for that: “refusals”"
    )
    assert found[50:] == [
        "1 more deployments: the page of each says it",
        "1 deployment has too few answers yet to say what it does, or none that people saw",
    ]


def test_a_limit_of_a_mean_that_fits_no_metric_is_a_warning(tmp_path: Path) -> None:
    """Scores of the last week and people's ratings are looked at; it never fails."""
    lake, now = Lake(str(tmp_path)), datetime(2026, 11, 20, 12, tzinfo=UTC)
    seen = {"metric": "refusal", "metric_version": "1", "date": now.date(), "requested_at": now, "scored_at": now}
    seen |= {"direction": "down", "low": 0.0, "high": 1.0}
    old = seen | {"metric": "toxicity", "date": (now - timedelta(days=9)).date()}
    lake.table(SCORES, "rag").append(SCORES.rows([seen | {"value": 0.0, "event_id": "a"}, old | {"event_id": "b"}]))
    like = {"signal": "like", "signal_id": "1", "date": now.date(), "signaled_at": now}
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows([like]))

    def found(**at_least: float) -> list[tuple[Verdict, str]]:
        limits = check_limits(lake, LimitSettings(at_least=at_least), lambda: now)
        return [(one.verdict, one.text) for one in limits]

    assert found() == []
    assert found(refusal=0.3, dislikes=0.4) == [(Verdict.OK, "each limit of a mean fits a metric")]
    assert [verdict for verdict, _ in found(refusal=30, toxicity=0.1, refusals=0.3)] == [Verdict.WARNING] * 3
