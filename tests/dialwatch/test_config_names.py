from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dialwatch.config import Settings
from dialwatch.config_loading import load_settings
from dialwatch.config_names import RENAMED, RETIRED


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "dialwatch.yaml"


@pytest.mark.parametrize("limits_first", [False, True])
def test_an_earlier_name_is_read_with_a_warning(config: Path, limits_first: bool, caplog: Any) -> None:
    """Of a key under both names that of today counts, at any depth, and whatever stands first."""
    lines = ["  floors: {errors: 0.1, refusals: 0.2, deployments: {a: {errors: 0.3}}}"]
    lines.insert(0 if limits_first else 1, "  limits: {errors: 0.4, deployments: {b: {errors: 0.5}}}")
    config.write_text("\n".join(["lake: {root: x}", "monitor:", *lines]))
    limits = load_settings(config).monitor.limits
    assert (limits.errors, limits.refusals) == (0.4, 0.2)
    assert {name: one.errors for name, one in limits.deployments.items()} == {"a": 0.3, "b": 0.5}
    assert caplog.messages == ["the setting monitor.floors is an earlier name of monitor.limits: rename it"]


def test_a_variable_may_have_an_earlier_name(config: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    """It wins over the file, and the name of today wins over it; each is named."""
    config.write_text("lake: {root: x}\nmonitor: {limits: {errors: 0.1}}")
    monkeypatch.setenv("DIALWATCH_MONITOR__FLOORS__ERRORS", "0.2")
    monkeypatch.setenv("DIALWATCH_MONITOR__FLOORS__DEPLOYMENTS", '{"a": {"errors": 0.3}}')
    monkeypatch.setenv("DIALWATCH_MONITOR__FLOORS__REFUSALS", "0.6")
    monkeypatch.setenv("DIALWATCH_MONITOR__LIMITS__REFUSALS", "0.7")
    limits = load_settings(config).monitor.limits
    assert (limits.errors, limits.refusals, limits.deployments["a"].errors) == (0.2, 0.7, 0.3)
    name = "DIALWATCH_MONITOR__{}__ERRORS"
    assert (
        f"the setting {name.format('FLOORS')} is an earlier name of {name.format('LIMITS')}: rename it" in caplog.text
    )


def test_an_error_names_the_variable_with_the_earlier_name(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads it has set that one."""
    config.write_text("lake: {root: x}")
    monkeypatch.setenv("DIALWATCH_MONITOR__FLOORS__ERRORS", "2")
    with pytest.raises(Exception, match="environment variable DIALWATCH_MONITOR__FLOORS__ERRORS"):
        load_settings(config)


@pytest.mark.parametrize("place", RETIRED, ids=".".join)
@pytest.mark.parametrize("by_variable", [False, True])
def test_a_setting_that_is_a_constant_stops_nothing(
    config: Path, place: tuple[str, ...], by_variable: bool, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """It is left out, whatever it says, and the log says what holds."""
    text = "lake: {root: x}\n"
    if by_variable:
        monkeypatch.setenv("DIALWATCH_" + "__".join(place).upper(), "7")
    else:
        text += f"{place[0]}: " + "".join(f"{{{key}: " for key in place[1:]) + "7" + "}" * (len(place) - 1)
    config.write_text(text)
    load_settings(config)
    assert f"has no effect: {RETIRED[place]}" in caplog.text


def test_a_name_is_of_today_or_of_an_earlier_version() -> None:
    """What a place is called today is a setting; an earlier name and a retired one are none."""

    def is_setting(place: tuple[str, ...]) -> bool:
        model: Any = Settings
        for key in place:
            field = getattr(model, "model_fields", {}).get(key)
            if field is None:
                return False
            kinds = (field.annotation, *getattr(field.annotation, "__args__", ()))
            model = next((kind for kind in kinds if hasattr(kind, "model_fields")), None)
        return True

    assert all(map(is_setting, RENAMED.values()))
    assert not any(map(is_setting, [*RENAMED, *RETIRED]))
    assert all(old[:-1] == new[:-1] for old, new in RENAMED.items())
