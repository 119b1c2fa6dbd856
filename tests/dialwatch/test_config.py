from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialwatch.config_loading import load_settings
from dialwatch.errors import ConfigError

SECRET = "whsec_" + "A" * 44
WHOLE = """
lake: {root: /data/lake, storage: {endpoint_url: "http://store:9000", region: eu-central-1}}
collector:
  files: {paths: ["/logs/*.log"]}
  http: {listen: "0.0.0.0:8080", token_file: TOKEN}
  leave_out: [embedding]
evaluator: {every: 5m, metrics: [context_present]}
monitor:
  listen: "0.0.0.0:9464"
  webhooks: [{name: team, url: "https://example.com/hook", secret_file: SECRET}]
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "dialwatch.yaml"


def explained(path: Path | None) -> str:
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    return str(caught.value)


@pytest.mark.parametrize("hour", ["1h", "60m", "3600", "PT1H"])
def test_times_of_the_monitor_are_written_as_elsewhere(
    config: Path, hour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the file and in the environment a time has a unit, or is in seconds."""
    config.write_text(f"lake: {{root: x}}\nmonitor: {{refresh_seconds: 1m, regression: {{batch: {hour}}}}}\n")
    monkeypatch.setenv("DIALWATCH_MONITOR__REGRESSION__GRACE", hour)
    monkeypatch.setenv("DIALWATCH_MONITOR__GROUP_SECONDS", "2m")
    monitor = load_settings(config).monitor
    assert (monitor.refresh_seconds, monitor.group_seconds) == (60.0, 120.0)
    assert monitor.regression.batch == monitor.regression.grace == timedelta(hours=1)


def test_one_file_configures_all(config: Path, tmp_path: Path) -> None:
    """Every section is read, and secrets come from the files that it names."""
    (tmp_path / "token").write_text("abc\n")
    (tmp_path / "secret").write_text(SECRET)
    config.write_text(WHOLE.replace("TOKEN", str(tmp_path / "token")).replace("SECRET", str(tmp_path / "secret")))
    settings = load_settings(config)
    assert settings.lake.root == "/data/lake"
    assert settings.lake.storage.storage().endpoint_url == "http://store:9000"
    assert settings.collector.files is not None
    assert settings.collector.files.paths == ["/logs/*.log"]
    assert settings.collector.http is not None
    assert settings.collector.http.token is not None
    assert settings.collector.http.token.get_secret_value() == "abc"
    assert settings.evaluator.every == 300
    secret = settings.monitor.webhooks[0].secret
    assert secret is not None
    assert secret.get_secret_value() == SECRET
    assert "abc" not in repr(settings)
    assert SECRET not in repr(settings)


def test_the_environment_wins_over_the_file_and_flags_over_both(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each key has a variable, lists as JSON."""
    config.write_text("lake: {root: from-file}\nevaluator: {every: 10}\nmonitor: {listen: '127.0.0.1:1'}\n")
    monkeypatch.setenv("DIALWATCH_EVALUATOR__EVERY", "20s")
    monkeypatch.setenv("DIALWATCH_MONITOR__LISTEN", "127.0.0.1:2")
    monkeypatch.setenv("DIALWATCH_COLLECTOR__FILES__PATHS", '["/logs"]')
    settings = load_settings(config, {"monitor": {"listen": "127.0.0.1:3"}})
    assert settings.lake.root == f"{config.parent}/from-file"
    assert settings.evaluator.every == 20
    assert settings.monitor.listen == "127.0.0.1:3"
    assert settings.collector.files is not None
    assert settings.collector.files.paths == ["/logs"]


def test_an_installation_has_a_name(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of its lake, or the one that is given; what is no name is refused."""
    monkeypatch.setenv("DIALWATCH_LAKE__ROOT", "s3://dialwatch-staging/lake")
    assert load_settings(None).lake.open().installation == "dialwatch-staging/lake"
    monkeypatch.setenv("DIALWATCH_LAKE__INSTALLATION", "production")
    assert load_settings(None).lake.open().installation == "production"
    for name in ("", " ", "production ", "a\tb"):
        monkeypatch.setenv("DIALWATCH_LAKE__INSTALLATION", name)
        assert "lake.installation" in explained(None)


def test_no_file_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment alone can say all that must be said."""
    monkeypatch.setenv("DIALWATCH_LAKE__ROOT", "s3://bucket/lake")
    assert load_settings(None).lake.root == "s3://bucket/lake"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("lake: {root: x}\nmonitr: {}", ["monitr", "unknown key", "monitor"]),
        ("lake: {root: x, rot: y}", ["lake.rot", "unknown key", "root"]),
        ("lake: {root: x}\ncollector: {files: {path: [a]}}", ["collector.files.path", "paths"]),
        ("evaluator: {every: 1}", ["lake", "is missing"]),
        ("lake: {root: x}\nevaluator: {metrics: [faithfullness]}", ["evaluator.metrics", "faithfullness"]),
        ("lake: {root: x}\nevaluator: {matcher: judge}", ["evaluator.matcher", "facts_recall_judge", "known here"]),
        (
            "lake: {root: x}\nevaluator: {deployments: {rag: {metrics: [{facts_recall: {matcher: judge}}]}}}",
            ["evaluator.deployments.rag.metrics.0", "facts_recall_judge", "facts_f1_judge"],
        ),
        ("lake: {root: x}\nevaluator: {every: never}", ["evaluator.every"]),
        ("lake: {root: x}\ncollector: {http: {token: abc}}", ["collector.http.token", "token_file"]),
        (
            "lake: {root: x}\nmonitor: {webhooks: [{url: 'https://a.example', secret_file: /nowhere}]}",
            ["monitor.webhooks[0].secret_file", "/nowhere"],
        ),
        ("lake: {root: 'a%20b'}", ["lake.root", "%"]),
        ("lake: {root: 'gs://bucket/lake'}", ["lake.root", "gs:// are not supported", "s3://bucket/prefix"]),
        ("lake: {root: 'abfss://c@a.dfs.core.windows.net/l'}", ["lake.root", "abfss:// are not supported"]),
        ("lake: {root: x}\ncollector: {files: {paths: ['gs://logs/*.log']}}", ["collector.files.paths", "gs://"]),
        ("lake: {root: x}\ncollector: {leave_out: [embeddings]}", ["collector.leave_out", "embeddings", "tokenize"]),
        ("lake: [", ["no YAML"]),
        ("just text", ["sections"]),
    ],
)
def test_what_is_wrong_is_named(config: Path, text: str, names: list[str]) -> None:
    """An error names the key, what is wrong with it and what to do, and shows no secret."""
    config.write_text(text)
    message = explained(config)
    assert all(name in message for name in names), message
    assert "abc" not in message


def test_an_unknown_variable_is_an_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt variable is not silently without effect."""
    monkeypatch.setenv("DIALWATCH_LAKE__ROOT", "x")
    monkeypatch.setenv("DIALWATCH_MONITR__LISTEN", "x")
    assert "DIALWATCH_MONITR__LISTEN" in explained(None)
    monkeypatch.delenv("DIALWATCH_MONITR__LISTEN")
    monkeypatch.setenv("DIALWATCH_MONITOR__LISTN", "x")
    assert "monitor.listn" in explained(None)


def test_a_variable_that_is_no_json_is_shown_how(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list in the environment is JSON, and the message shows one."""
    monkeypatch.setenv("DIALWATCH_LAKE__ROOT", "x")
    monkeypatch.setenv("DIALWATCH_COLLECTOR__LEAVE_OUT", "embedding")
    assert 'LEAVE_OUT=["embedding"]' in explained(None)


def test_a_file_that_is_no_text_is_named(config: Path) -> None:
    """Bytes that are no UTF-8 are an error like any other."""
    config.write_bytes(b"lake: {root: \xff}")
    assert "dialwatch.yaml is no YAML" in explained(config)


def said_of(path: Path | None) -> list[str]:
    """Lines of the error, none where there is none."""
    try:
        load_settings(path)
    except ConfigError as error:
        return str(error).splitlines()
    return []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("token: *hunter2-hunter2", "line 2, column 8: found undefined alias ...; a text that begins with *"),
        ("token: !hunter2-hunter2 x", "line 2, column 8: could not determine a constructor for the tag ...; a text"),
        ("token: 'hunter2-hunter2", "found unexpected end of stream (in what begins in line 2)"),
        ("token: a: hunter2-hunter2", "line 2, column 9: mapping values are not allowed here"),
        ("token: [hunter2-hunter2: }", "line 2, column 26: "),
        ('token: "hunter2-hunter2" hunter2-hunter2', "line 2, column 26: "),
        ("\ttoken: hunter2-hunter2", "line 2, column 1: found character '\\t' that cannot start any token"),
        ("token: !!float hunter2-hunter2", "put texts in quotes"),
        ("token: !!bool hunter2-hunter2", "put texts in quotes"),
        ("token: 2026-13-45 # hunter2-hunter2", None),
        ("since: 2026-13-45", "put texts in quotes"),
        ("token: hunter2-hunter2\x01", "character "),
        ("[" * 5000, None),
    ],
)
def test_broken_yaml_shows_no_secret(config: Path, line: str, says: str | None) -> None:
    """The message has the place and the kind of the error, and nothing of what stands there."""
    config.write_text(f"lake: {{root: x}}\n{line}\n")
    said = explained(config)
    assert "dialwatch.yaml is no YAML: " in said
    assert (says or "") in said
    assert "hunter2" not in said


@given(st.data())
def test_a_file_that_was_broken_anywhere_shows_no_secret(data: st.DataObject) -> None:
    """Whatever is put wherever in a file with passwords, no message holds one."""
    whole = WHOLE.replace("token_file: TOKEN", "token: hunter2").replace("secret_file: SECRET", "secret: '*hunter2'")
    at = data.draw(st.integers(0, len(whole)))
    put = data.draw(st.text("{}[]'\"*&!%:,-\t\n |>?#a", min_size=1, max_size=4))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dialwatch.yaml"
        path.write_text(whole[:at] + put + whole[at:])
        # What has become the name of a key is named: a misspelt one must be found.
        assert [line for line in said_of(path) if "hunter2" in line and ": unknown key" not in line] == []


@pytest.mark.parametrize("value", ["[hunter2]", "{hunter2: 1}", '"hunter2', "[1, {x: hunter2}]"])
@pytest.mark.parametrize("key", ["COLLECTOR__HTTP__TOKEN", "MONITOR__WEBHOOKS", "LAKE__STORAGE", "COLLECTOR__HTTP"])
def test_a_variable_that_cannot_be_read_shows_no_secret(key: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what is no JSON nor what is the wrong JSON is repeated."""
    monkeypatch.setenv("DIALWATCH_LAKE__ROOT", "x")
    monkeypatch.setenv(f"DIALWATCH_{key}", value)
    assert [line for line in said_of(None) if "hunter2" in line] == []


def test_the_address_of_a_receiver_may_stand_in_a_file(config: Path, tmp_path: Path) -> None:
    """That of Slack is a secret; both at once are refused, and a wrong one is not repeated."""
    (tmp_path / "url").write_text("https://hooks.example.com/services/hunter2\n")
    receiver = f"name: team, format: slack, url_file: {tmp_path / 'url'}"
    config.write_text(f"lake: {{root: x}}\nmonitor: {{webhooks: [{{{receiver}}}]}}\n")
    (webhook,) = load_settings(config).monitor.webhooks
    assert str(webhook.url) == "https://hooks.example.com/services/hunter2"
    config.write_text(f"lake: {{root: x}}\nmonitor: {{webhooks: [{{{receiver}, url: null}}]}}\n")
    assert load_settings(config).monitor.webhooks == (webhook,)
    (tmp_path / "url").write_text("hooks.example.com/hunter2")
    said = explained(config)
    assert "monitor.webhooks.0.url" in said
    assert "hunter2" not in said
    config.write_text(f"lake: {{root: x}}\nmonitor: {{webhooks: [{{{receiver}, url: 'https://a.example'}}]}}\n")
    assert "monitor.webhooks[0].url_file: give either it or `url`" in explained(config)


def test_a_secret_that_is_no_text_is_named(config: Path, tmp_path: Path) -> None:
    """A key file with other bytes is an error that names the file."""
    (tmp_path / "token").write_bytes(b"\xff\xfe")
    config.write_text(f"lake: {{root: x}}\ncollector: {{http: {{token_file: {tmp_path / 'token'}}}}}\n")
    assert f"collector.http.token_file: {tmp_path / 'token'} is no text" in explained(config)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The path and the flag to mend it are in the message."""
    assert "nowhere.yaml" in explained(tmp_path / "nowhere.yaml")


def test_one_underscore_is_not_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that would be ignored for want of an underscore is an error: it may have been a token."""
    monkeypatch.setenv("DIALWATCH_LAKE__ROOT", "lake")
    monkeypatch.setenv("DIALWATCH_COLLECTOR_HTTP_TOKEN", "secret")
    said = explained(None)
    assert "DIALWATCH_COLLECTOR_HTTP_TOKEN" in said
    assert "two underscores" in said


def test_a_judges_key_comes_from_a_file_or_the_environment(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret below a name of the user's choice is a secret too, and an unknown key there is named."""
    judge = "lake: {root: x}\nevaluator: {judges: {strict: {base_url: 'https://a.example', model: m, %s}}}"
    (config.parent / "key").write_text("from-file\n")
    config.write_text(judge % f"api_key_file: {config.parent / 'key'}")
    key = load_settings(config).evaluator.judges["strict"].api_key
    assert key is not None
    assert key.get_secret_value() == "from-file"
    monkeypatch.setenv("DIALWATCH_EVALUATOR__JUDGES__STRICT__API_KEY", "from-environment")
    key = load_settings(config).evaluator.judges["strict"].api_key
    assert key is not None
    assert key.get_secret_value() == "from-environment"
    config.write_text(judge % "api_key: abc")
    assert "evaluator.judges.strict.api_key: secrets do not belong" in explained(config)
    config.write_text(judge % "apikey: abc")
    assert (
        "evaluator.judges.strict.apikey: unknown key; known here: allow_own_model, allow_unpriced, api_key"
        in explained(config)
    )


def test_null_and_mappings_come_from_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """`null` is none, a mapping is JSON."""
    monkeypatch.setenv("DIALWATCH_LAKE__ROOT", "lake")
    monkeypatch.setenv("DIALWATCH_LAKE__MAINTENANCE__EVERY", "null")
    monkeypatch.setenv("DIALWATCH_LAKE__MAINTENANCE__RETENTION", '{"parsed_logs": "30d"}')
    maintenance = load_settings(None).lake.maintenance
    assert maintenance.every is None
    assert maintenance.retention == {"parsed_logs": 30 * 86400.0}


def test_a_time_that_is_none_is_shown_how(config: Path) -> None:
    """The message says that the text is no time, and how to write one; no wording of the library is left."""
    config.write_text("lake: {root: lake, maintenance: {retention: {parsed_logs: 90 days}}}")
    assert "'90 days' is neither a number nor a time such as 30s" in explained(config)
    config.write_text("lake: {root: lake}\ncollector: {leave_out: [chat]}")
    assert "Value error" not in explained(config)


def test_a_missing_lake_is_shown_how(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a lake the message names the flag and the key."""
    monkeypatch.delenv("DIALWATCH_LAKE__ROOT", raising=False)
    said = explained(None)
    assert "lake.root" in said
    assert "--lake" in said


def paces(path: Path) -> tuple[float, float, float | None]:
    settings = load_settings(path)
    return settings.collector.flush_seconds, settings.evaluator.every, settings.lake.maintenance.every


def test_a_lake_on_a_store_is_paced_for_its_bill(config: Path) -> None:
    """What nobody has set has other defaults there; what is set stays, in a folder all defaults do."""
    config.write_text("lake: {root: s3://bucket/lake}\n")
    assert paces(config) == (40.0, 90.0, 7200.0)
    config.write_text(
        "lake: {root: s3://bucket/lake, maintenance: {every: null}}\n"
        "collector: {flush_seconds: 30}\nevaluator: {every: 1m}\n"
    )
    assert paces(config) == (30.0, 60.0, None)
    config.write_text("lake: {root: /data/lake}\n")
    assert paces(config) == (30.0, 60.0, 3600.0)
