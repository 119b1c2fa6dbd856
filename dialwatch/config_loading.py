"""Reader of the settings of all parts, from dialwatch.yaml; a variable `DIALWATCH_SECTION__KEY` wins over its key."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_origin

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from dialwatch.config import Settings
from dialwatch.config_file import read_yaml, with_absolute_root
from dialwatch.config_names import current_place, variables_with_current_names, with_current_names
from dialwatch.config_words import unknown_key, words_of
from dialwatch.errors import MISSING_LAKE, ConfigError
from lake.spec.vocabulary import Kind
from lake.tables.storage import is_remote
from runtime.setting import Section, setting_of

PREFIX = "DIALWATCH_"
_FILE = "_file"
_Section = TypeVar("_Section", bound=Section)
_CONTAINERS = frozenset({list, tuple, dict, frozenset, Mapping})
"""Types of settings that a variable holds as JSON."""
_JSON_TYPES = ("list_type", "tuple_type", "dict_type", "frozen_set_type", "mapping_type", "model_type")
"""pydantic's names of what is wrong where such a variable holds none."""


def load_settings(path: Path | None, flags: Mapping[str, Any] | None = None) -> Settings:
    """Read the file (None: there is none), check it, and return the settings.

    `flags` are values of the command line, by section. A flag wins over the environment, the environment over the
    file. Raises ConfigError.
    """
    values = {} if path is None else _values_of(path)
    _refuse_unknown_variables()

    class FromAllSources(BaseSettings, Settings):
        model_config = SettingsConfigDict(
            frozen=True, extra="forbid", env_prefix=PREFIX, env_nested_delimiter="__", env_parse_none_str="null"
        )

        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - files are read with -c alone
            file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            if isinstance(env_settings, EnvSettingsSource):
                env_settings.env_vars = variables_with_current_names(env_settings.env_vars, PREFIX.lower())
            return init_settings, env_settings, InitSettingsSource(settings_cls, init_kwargs=values)

    try:
        settings = FromAllSources(**(flags or {}))
        return _paced_for_a_store(settings) if is_remote(settings.lake.root) else settings
    except ValidationError as error:
        raise ConfigError(_explain(error, path, flags or {})) from None
    except SettingsError:
        example = f'{PREFIX}COLLECTOR__LEAVE_OUT=["{Kind.EMBEDDING}"]'
        names = ", ".join(_without_json()) or f"{PREFIX}..."
        raise ConfigError(
            f"environment variable {names} cannot be read: lists and mappings are JSON there: {example}"
        ) from None


def _paced_for_a_store(section: _Section) -> _Section:
    """Return the settings with values that suit a store where nobody has set them."""
    paced: dict[str, Any] = {}
    for name, field in type(section).model_fields.items():
        value, on_store = getattr(section, name), setting_of(field).on_store
        if isinstance(value, Section):
            paced[name] = _paced_for_a_store(value)
        elif on_store is not None and name not in section.model_fields_set:
            paced[name] = on_store
    return section.model_copy(update=paced)


def _values_of(path: Path) -> dict[str, Any]:
    values = with_current_names(with_absolute_root(read_yaml(path), path))
    return {key: _with_secrets(item, (key,)) for key, item in values.items()}


def _with_secrets(value: Any, location: tuple[int | str, ...]) -> Any:
    """Put in what `<key>_file` names for a secret, and for a key that may be one; a secret in the YAML is refused."""
    if isinstance(value, list):
        return [_with_secrets(item, (*location, i)) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    result = {}
    model = _model_at(location)
    fields = model.model_fields if model else {}
    secrets = {name for name, field in fields.items() if _is_secret(field)}
    in_files = {f"{name}{_FILE}" for name, field in fields.items() if name in secrets or _may_be_secret(field)}
    for key, item in value.items():
        name = _dotted((*location, key))
        if key in secrets and item is not None:
            raise ConfigError(f"{name}: secrets do not belong into this file; write `{key}{_FILE}: <path>` instead")
        if isinstance(item, str) and key in in_files:
            plain = str(key).removesuffix(_FILE)
            if value.get(plain) is not None:
                raise ConfigError(f"{name}: give either it or `{plain}`")
            result[plain] = _read_secret(name, item)
        elif item is not None or f"{key}{_FILE}" not in value:
            result[key] = _with_secrets(item, (*location, key))
    return result


def _is_secret(field: FieldInfo) -> bool:
    return SecretStr in (field.annotation, *getattr(field.annotation, "__args__", ()))


def _may_be_secret(field: FieldInfo) -> bool:
    return setting_of(field).from_file


def _dotted(location: tuple[int | str, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).removeprefix(".")


def _read_secret(name: str, path: str) -> str:
    try:
        return Path(path).read_text("utf-8").strip()
    except OSError as error:
        raise ConfigError(f"{name}: cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{name}: {path} is no text in UTF-8") from None


def _refuse_unknown_variables() -> None:
    for name in os.environ:
        section, nested, _ = name.removeprefix(PREFIX).lower().partition("__")
        if not name.startswith(PREFIX):
            continue
        if nested and section not in Settings.model_fields:
            raise ConfigError(f"environment variable {name}: no section {section!r}; known: {_known(Settings)}")
        if not nested and section.partition("_")[0] in Settings.model_fields:
            raise ConfigError(f"environment variable {name}: two underscores stand for a dot, as in {PREFIX}LAKE__ROOT")


def _without_json() -> list[str]:
    """Names of the variables that are for a list or a mapping and hold no JSON."""
    found = []
    for name, location in _variables().items():
        model = _model_at(location[:-1])
        field = None if model is None else model.model_fields.get(location[-1])
        kinds = [] if field is None else [field.annotation, *getattr(field.annotation, "__args__", ())]
        if any(get_origin(kind) in _CONTAINERS for kind in kinds) and not _is_json(os.environ[name]):
            found.append(name)
    return found


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _variables() -> dict[str, tuple[str, ...]]:
    """Variables of the environment that are settings, with the location of each."""
    return {
        name: current_place(tuple(name.upper().removeprefix(PREFIX).lower().split("__")))
        for name in sorted(os.environ)
        if name.upper().startswith(PREFIX)
    }


def _explain(error: ValidationError, path: Path | None, flags: Mapping[str, Any]) -> str:
    lines = [f"{path or 'the configuration'} cannot be used:"]
    for problem in error.errors():
        # Names of the alternatives of a type, such as `literal['none']`, are no keys.
        location = tuple(part for part in problem["loc"] if isinstance(part, int) or "[" not in part)
        where, message = ".".join(map(str, location)), _words(problem, location)
        if where == "lake" and problem["type"] == "missing":
            where, message = MISSING_LAKE.split(": ", 1)
        if problem["type"] != "default_factory_not_called":
            origin = _origin(location, flags)
            is_json = origin and isinstance(problem["input"], str) and problem["type"] in _JSON_TYPES
            lines.append(f"  {origin}{where}: {message}{'; in the environment it is JSON' if is_json else ''}")
    return "\n".join(dict.fromkeys(lines))


def _words(problem: ErrorDetails, location: tuple[int | str, ...]) -> str:
    parent = _model_at(location[:-1])
    if problem["type"] == "extra_forbidden":
        return unknown_key(location[-1], _known(parent) if parent else "")
    if problem["type"] == "missing":
        return "is missing"
    if problem["type"] == "float_parsing":
        return f"{problem['input']!r} is neither a number nor a time such as 30s, 5m, 24h or 90d"
    own = _model_at(location)
    field = None if parent is None or not location else parent.model_fields.get(str(location[-1]))
    return words_of(problem, field, _known(own) if own else "")


def _origin(location: tuple[int | str, ...], flags: Mapping[str, Any]) -> str:
    """Say which variable a value comes from, or that it was typed; nothing where it is the file's."""
    names = tuple(map(str, location))
    if _holds(flags, names):
        return "from the command line, "
    for name, variable in _variables().items():
        rest = names[len(variable) :]
        if tuple(map(str.lower, names[: len(variable)])) != variable:
            continue
        if not rest or (_is_json(text := os.environ[name]) and _holds(json.loads(text), rest)):
            return f"environment variable {name}, "
    return ""


def _holds(values: Any, names: tuple[str, ...]) -> bool:
    """Whether nested values have something at a place."""
    for name in names:
        if isinstance(values, list) and name.isdecimal() and int(name) < len(values):
            values = values[int(name)]
        elif isinstance(values, Mapping) and name in values:
            values = values[name]
        else:
            return False
    return bool(names)


def _model_at(location: tuple[int | str, ...]) -> type[BaseModel] | None:
    model: type[BaseModel] | None = Settings
    is_name = False
    for part in location:
        if isinstance(part, int) or is_name:
            is_name = False
            continue  # an item of a list has the model of the list, a name the one of its mapping
        field = None if model is None else model.model_fields.get(str(part))
        annotation = None if field is None else field.annotation
        kinds = [annotation, *getattr(annotation, "__args__", ())]
        model = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
        is_name = get_origin(annotation) is Mapping
    return None if is_name else model


def _known(model: type[BaseModel]) -> str:
    """Return the keys of a section as the file has them: secrets are in files of their own."""
    return ", ".join(sorted(key_in_file(name, field) for name, field in model.model_fields.items()))


def key_in_file(name: str, field: FieldInfo) -> str:
    """Return the key that a setting has in the file: that of a secret names a file which holds it."""
    return f"{name}{_FILE}" if _is_secret(field) else name
