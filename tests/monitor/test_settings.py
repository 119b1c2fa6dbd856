import pytest
from pydantic import ValidationError

from monitor.settings import MonitorSettings


@pytest.mark.parametrize(("written", "meant"), [("auto", "auto"), ("off", "off"), (False, "off"), (True, "auto")])
def test_versions_are_read_as_yaml_gives_them(written: object, meant: str) -> None:
    """YAML 1.1 reads a bare `off` as false."""
    found = MonitorSettings.model_validate({"versions": written})
    assert found.versions == meant
    assert found.families.by_id is (meant == "auto")


def test_named_versions_are_families() -> None:
    found = MonitorSettings.model_validate({"versions": {"help": ["help-v1", "help-v2"]}})
    assert found.families.older("help-v2", ["help-v1", "other"]) == ["help-v1"]
    assert found.families.by_id


@pytest.mark.parametrize("versions", [{"help": ["v1", "v1"]}, {"help": ["v1"], "other": ["v2", "v1"]}])
def test_a_deployment_of_two_families_is_refused_with_its_name(versions: dict[str, list[str]]) -> None:
    with pytest.raises(ValidationError, match="names the deployment 'v1' twice: name it once"):
        MonitorSettings.model_validate({"versions": versions})
