"""Who may see the pages, as the configuration and the command line say it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dialwatch.config import Settings
from dialwatch.config_loading import load_settings
from dialwatch.errors import ConfigError
from dialwatch.services import running
from dialwatch.serving.addresses import is_loopback
from monitor.access.settings import AccessSettings
from tests.commands import dialwatch

TOKEN = "correct horse battery staple"
OPEN = ["0.0.0.0:9464", ":9464", "[::]:9464", "10.0.0.5:9464", "dialwatch:9464", "127.0.0.1.example.com:1", "127.1:1"]


@pytest.mark.parametrize("listen", OPEN)
def test_pages_for_others_need_to_be_told_who_may_see_them(tmp_path: Path, listen: str) -> None:
    """Beyond loopback neither service starts, nor writes anything, without `access`; the message says what to write."""
    root = tmp_path / "lake"
    settings = Settings.model_validate({"lake": {"root": str(root)}, "monitor": {"listen": listen}})
    for services in (running.only_monitor, running.all_services):
        with pytest.raises(ConfigError, match=r"monitor\.access\.token_file .* `access: none`"), services(settings):
            pass
    assert not root.exists()


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "127.8.9.10:0", "[::1]:0", "localhost:0"])
def test_loopback_needs_nothing(listen: str) -> None:
    """What this machine alone can reach is open, as it was."""
    assert is_loopback(listen)


def test_the_command_says_what_to_write(tmp_path: Path) -> None:
    """On one line, with the exit code of what a person can fix."""
    done = dialwatch("monitor", "--lake", tmp_path / "lake", "--listen", "0.0.0.0:9464")
    assert done.returncode == 2
    assert "monitor.listen is 0.0.0.0:9464, which other machines can reach" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_says_what_a_time_zone_is(tmp_path: Path) -> None:
    """A wrong name of a zone is found at the start."""
    done = dialwatch("monitor", "--lake", tmp_path / "lake", DIALWATCH_MONITOR__TIME_ZONE="Europe/Berlim")
    assert done.returncode == 2
    assert "monitor.time_zone" in done.stderr
    assert "'Europe/Berlim' is no time zone: give a name like Europe/Berlin" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_the_token_comes_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It never stands in the configuration, and is in no text of the settings."""
    secret, config = tmp_path / "token", tmp_path / "dialwatch.yaml"
    secret.write_text(f"{TOKEN}\n")
    config.write_text(f"lake: {{root: x}}\nmonitor: {{access: {{token_file: {secret}}}}}\n")
    access = load_settings(config).monitor.access
    assert isinstance(access, AccessSettings)
    assert access.token is not None
    assert access.token.get_secret_value() == TOKEN
    assert TOKEN not in repr(access)
    config.write_text(f"lake: {{root: x}}\nmonitor: {{access: {{token: {TOKEN}}}}}\n")
    with pytest.raises(ConfigError, match="token_file"):
        load_settings(config)
    config.write_text("lake: {root: x}\n")
    monkeypatch.setenv("DIALWATCH_MONITOR__ACCESS__TOKEN", TOKEN)
    assert load_settings(config).monitor.access == access
    monkeypatch.setenv("DIALWATCH_MONITOR__ACCESS__TOKEN", "short")
    with pytest.raises(ConfigError, match="too easily guessed") as caught:
        load_settings(config)
    assert "short" not in str(caught.value)


@pytest.mark.parametrize("written", ["none", '"none"'])
def test_none_is_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    """In the file and in the environment; null, as nothing, is no decision."""
    config = tmp_path / "dialwatch.yaml"
    config.write_text(f"lake: {{root: x}}\nmonitor: {{access: {written}}}\n")
    assert load_settings(config).monitor.access == "none"
    config.write_text("lake: {root: x}\nmonitor: {access: null}\n")
    assert load_settings(config).monitor.access is None
    monkeypatch.setenv("DIALWATCH_MONITOR__ACCESS", written)
    assert load_settings(config).monitor.access == "none"


def test_a_proxy_is_written_as_the_page_says(tmp_path: Path) -> None:
    """The example of docs/access.md is a configuration; a wrong key in it is named."""
    page = (Path(__file__).parents[2] / "docs" / "access.md").read_text("utf-8")
    example = page.split("```yaml\n")[1].split("```")[0]
    config = tmp_path / "dialwatch.yaml"
    config.write_text(f"lake: {{root: x}}\n{example}")
    access = load_settings(config).monitor.access
    assert isinstance(access, AccessSettings)
    assert access.proxy is not None
    assert set(access.proxy.groups) == {"support", "platform"}
    config.write_text(f"lake: {{root: x}}\n{example.replace('rights:', 'right:')}")
    with pytest.raises(ConfigError, match="unknown key"):
        load_settings(config)
