"""A section of dialwatch.yaml, and what a setting says of itself beside its type, its default and its docstring."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo


class Section(BaseModel):
    """Keys in one place of dialwatch.yaml; the docstring below a field is its text in docs/configuration.md."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Setting:
    """Stands in the `Annotated` of a field; a field without one is a setting for experts with its default everywhere.

    `common`: most installations set it, so it comes first in docs. `on_store`: its default where the lake is on a
    store, which is paid by the request. `default`: words for a default that depends on something else. `from_file`: it
    may be a secret, so that `<key>_file` may name a file that holds it.
    """

    common: bool = False
    on_store: float | None = None
    default: str | None = None
    from_file: bool = False


COMMON = Setting(common=True)


def setting_of(field: FieldInfo) -> Setting:
    """Return what a field says of itself."""
    return next((one for one in field.metadata if isinstance(one, Setting)), Setting())
