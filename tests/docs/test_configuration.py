from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, get_origin

import pytest
from pydantic import BaseModel, SecretStr, TypeAdapter
from pydantic.fields import FieldInfo

from dialwatch.config import Settings
from dialwatch.documentation import page, rows
from runtime.setting import setting_of

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"
KEYS_OF_OTHERS = ("evaluator.deployments.<name>.sampling", "monitor.limits.deployments.<name>")
"""Sections with the keys of another section, for one deployment; each is one row."""


def fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        kinds = [field.annotation, *getattr(field.annotation, "__args__", ())]
        nested = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
        key = f"{prefix}{name}" + (".<name>" if nested and get_origin(field.annotation) is Mapping else "")
        if nested is None or key in KEYS_OF_OTHERS:
            yield f"{key}_file" if SecretStr in kinds else key, field
        else:
            yield from fields(nested, f"{key}.")


FIELDS = dict(fields(Settings))


def test_the_page_is_what_the_settings_say_of_themselves() -> None:
    """The page is written from the settings; write it anew when one changes."""
    command = "python -m dialwatch.documentation docs/configuration.md"
    assert PAGE.read_text(encoding="utf-8") == page(), f"run {command}"


def test_the_page_lists_just_the_settings_that_there_are() -> None:
    """Each key stands once, in the table of the common settings or in that of its section, and no other does."""
    listed = [line.split("`")[1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert sorted(listed) == sorted(FIELDS)


def test_the_settings_that_most_installations_need_are_few_and_come_first() -> None:
    """The other settings are for experts."""
    common = [row.key for row in rows() if row.common]
    assert 25 <= len(common) <= 35
    assert {"lake.root", "collector.files.paths", "evaluator.metrics", "monitor.listen"} < set(common)
    first, _, rest = PAGE.read_text(encoding="utf-8").partition("## All other settings")
    assert [key for key in common if f"| `{key}` |" not in first or f"| `{key}` |" in rest] == []


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.key)
def test_each_setting_says_what_it_means(row: Any) -> None:
    """The meaning is a sentence that starts a line of the table."""
    assert row.meaning
    assert row.meaning[-1] in ".!?"
    assert "|" not in row.meaning


NUMBERS = [
    row for row in rows() if row.default[0].isdecimal() and isinstance(FIELDS[row.key].default, float | int | timedelta)
]


@pytest.mark.parametrize("row", NUMBERS, ids=lambda row: row.key)
def test_a_number_of_the_page_can_be_written_into_the_file(row: Any) -> None:
    """A default with its unit, as the page shows it, is read as just the default; so is that on a store."""
    field = FIELDS[row.key]
    reader: TypeAdapter[Any] = TypeAdapter(Annotated[(field.annotation, *field.metadata, None)])
    shown, _, on_store = row.default.partition("; on a store ")
    assert reader.validate_python(shown.split(" ")[0]) == field.default
    assert (reader.validate_python(on_store) if on_store else None) == setting_of(field).on_store
