from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_origin

from pydantic import BaseModel, SecretStr

from dialwatch.config import Settings

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        kinds = [field.annotation, *getattr(field.annotation, "__args__", ())]
        nested = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
        if nested is None:
            yield f"{prefix}{name}_file" if SecretStr in kinds else f"{prefix}{name}"
        else:
            inner = f"{name}.<name>" if get_origin(field.annotation) is Mapping else name
            yield from keys(nested, f"{prefix}{inner}.")


def test_the_page_lists_just_the_settings_that_there_are() -> None:
    """Each key stands once in the table of its section, and no other does."""
    listed = [line.split("`")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert sorted(listed) == sorted(keys(Settings))
