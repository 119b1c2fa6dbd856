"""Errors of a configuration: what is wrong, where it stands, and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialwatch.commands.options import settings_of
from dialwatch.config_loading import load_settings
from dialwatch.errors import ConfigError
from runtime.logs import Logs, chosen_logs, configure_logs
from tests.dialwatch.test_config import explained


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "dialwatch.yaml"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("lake: {root: x}\ncollector: {files: {paths: [a]}}\nlog: {level: info}\ncollector: {http: {}}\n", (2, 4)),
        ("lake:\n  root: x\n  access: all\n  root: y\n", (2, 4)),
        ("lake: {root: x,\n  'root': y}", (1, 2)),
        ("lake: {root: x}\nmonitor:\n  webhooks:\n    - {url: a, name: b,\n       name: c}", (4, 5)),
    ],
)
def test_a_key_that_stands_twice_is_refused_with_both_lines(config: Path, text: str, where: tuple[int, int]) -> None:
    """YAML's usual readers keep the second in silence, at any depth and in any form."""
    config.write_text(text)
    assert f"is given twice, in line {where[0]} and in line {where[1]}" in explained(config)


def test_a_key_that_is_merged_in_may_be_given_anew(config: Path) -> None:
    """`<<` takes over what an anchor has, and a key beside it wins, also where that mapping is merged itself."""
    config.write_text(
        "lake: {root: x}\nmonitor:\n  limits:\n    deployments:\n"
        "      a: &a {errors: 0.1, refusals: 0.2}\n      b: &b {<<: *a, errors: 0.3}\n      c: {<<: *b, errors: 0.4}\n"
    )
    limits = load_settings(config).monitor.limits.deployments
    assert [limits[name].errors for name in "abc"] == [0.1, 0.3, 0.4]


def test_a_relative_root_is_below_the_folder_of_the_file(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the command is started; one that is typed, or in the environment, is below the current folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    config.write_text("lake: {root: data/../lake-data}")
    assert load_settings(Path("../dialwatch.yaml")).lake.root == f"{tmp_path}/lake-data"
    assert load_settings(config, {"lake": {"root": "typed"}}).lake.root == "typed"
    monkeypatch.setenv("DIALWATCH_LAKE__ROOT", "of-the-environment")
    assert load_settings(config).lake.root == "of-the-environment"
    monkeypatch.delenv("DIALWATCH_LAKE__ROOT")
    for root in ("/absolute", "s3://bucket/prefix", "file:///absolute"):
        config.write_text(f"lake: {{root: '{root}'}}")
        assert load_settings(config).lake.root == root


def test_a_lake_of_an_earlier_version_is_not_begun_anew(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lake below the current folder, where none is below that of the file, is an error that says what to write."""
    here = tmp_path / "here"
    (here / "lake-data" / "rag-app" / "parsed_logs" / "_delta_log").mkdir(parents=True)
    monkeypatch.chdir(here)
    config.write_text("lake: {root: lake-data}")
    assert f"there is a lake in {here}/lake-data: write this whole path" in explained(config)
    (tmp_path / "lake-data").mkdir()
    assert load_settings(config).lake.root == f"{tmp_path}/lake-data"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("DIALWATCH_COLLECTOR__FLUSH_BYTES", "lots", "collector.flush_bytes: a text is not a whole number"),
        ("DIALWATCH_EVALUATOR__EVERY", "never", "evaluator.every: 'never' is neither"),
        ("DIALWATCH_COLLECTOR__FILES", '{"paths": "a.log"}', "collector.files.paths: a text is not a list"),
        ("DIALWATCH_MONITOR__WEBHOOKS", '[{"url": 5}]', "monitor.webhooks.0.url: "),
        ("DIALWATCH_MONITOR__LISTN", "x", "monitor.listn: unknown key"),
        ("DIALWATCH_COLLECTOR__LEAVE_OUT", "embedding", "cannot be read: lists and mappings are JSON"),
        ("DIALWATCH_COLLECTOR__FILES__PATHS", "a.log", "cannot be read: lists and mappings are JSON"),
        ("DIALWATCH_COLLECTOR__KAFKA", "{", "topics; in the environment it is JSON"),
    ],
)
def test_an_error_of_a_variable_names_it(
    config: Path, name: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file may have the same key: what cannot be used is told from what can."""
    config.write_text("lake: {root: x}\ncollector: {flush_bytes: 5, files: {paths: [a]}}\nevaluator: {every: 5}")
    monkeypatch.setenv("DIALWATCH_LOG__LEVEL", "info")
    monkeypatch.setenv(name, value)
    message = explained(config)
    assert f"environment variable {name}" in message
    assert says in message
    assert "DIALWATCH_LOG__LEVEL" not in message
    monkeypatch.delenv(name)
    config.write_text("lake: {root: x}\ncollector: {flush_bytes: lots}")
    assert "environment" not in explained(config)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("collector: {files: {paths: a.log}}", 'a text is not a list: write one such as ["/var/log/dial/*.log"]'),
        ("collector: {files: {paths: []}}", "is empty: give at least 1, such as ["),
        ("collector: {files: a.log}", "is a text and takes keys of its own: paths, poll_seconds"),
        ("collector: {flush_bytes: 1.5}", "1.5 is not a whole number: write one such as 268435456"),
        ("collector: {keep_raw_response: maybe}", "a text is not true or false: write one such as false"),
        ("collector: {leave_out: embedding}", "a text is not a list: write one such as [embedding]"),
        ("collector: {kafka: {bootstrap_servers: b, topics: t}}", 'write one such as ["broker:9092"]'),
        ("evaluator: {metrics: refusal}", "a text is not a list: write one such as [faithfulness_kprecision, "),
        ("evaluator: {judges: [a]}", "a list is not a mapping: write one such as {strict: {base_url:"),
        ("monitor: {listen: 9464}", '9464 is not a text: write one such as "127.0.0.1:9464"'),
        ("monitor: {webhooks: {url: x}}", "a mapping is not a list: write one such as [{name: team, url:"),
        ("monitor: {limits: {window: never}}", "a text is not a time: write one such as 900s"),
        ("monitor: {limits: {errors: 2}}", "2 must be less than or equal to 1"),
        ("monitor: {silences: [{until: soon}]}", "a text is not a time with a zone"),
        ("log: {format: xml}", "must be one of 'text', 'json'; a text is none of them"),
        ("collector: {silent_after: 5}", "5 must be greater than or equal to 60; it is in seconds, and 30s"),
        ("monitor: {access: {}}", "token_file"),
    ],
)
def test_a_value_of_the_wrong_type_is_told_with_an_example(config: Path, text: str, says: str) -> None:
    """In words of the file, and none of the library's."""
    config.write_text(f"lake: {{root: x}}\n{text}")
    message = explained(config)
    assert says in message
    for word in ("Input should", "instance of", "tuple", "frozenset", "dictionary", "timedelta", "factory", "literal["):
        assert word not in message, word


@pytest.mark.parametrize(
    ("text", "is_json"),
    [
        ("log: {format: json}\nlake: {root: x, rot: y}\n", True),
        ("lake: {root: x}\nlog:\n  # for the shipper\n  level: info\n  format: 'json'\nlake: {}\n", True),
        ("lake: [\nlog: {level: info, format: json}\n", True),
        ("log: {format: text}\nlake: {root: x, rot: y}\n", False),
        ("log:\n  level: info\nexport:\n  format: json\n", False),
    ],
)
def test_errors_of_a_file_that_asks_for_json_logs_are_json(config: Path, text: str, is_json: bool) -> None:
    """Also where it cannot be read at all."""
    config.write_text(text)
    configure_logs(Logs())
    try:
        with pytest.raises(ConfigError):
            settings_of(config, None)
        assert (chosen_logs().format == "json") is is_json
    finally:
        configure_logs(Logs())
