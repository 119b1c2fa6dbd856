"""Settings as a support bundle shows them: numbers and choices as they are, of free texts only those known harmless."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

_SHOWN = frozenset(
    {
        *("root", "region", "paths", "bootstrap_servers", "topics", "group_id", "group_instance_id", "listen"),
        *("metrics_listen", "metrics", "judge", "judges", "deployment", "model", "metric", "api_version", "segment_by"),
        *("time_zone", "question_likelihood", "answer_reward", "sentence_encoder", "entailment", "toxicity", "device"),
        *("judge_calls", "leave_out", "sasl_mechanism", "limit_parameter", "installation"),
    }
)
"""Keys whose texts name a place, a metric or a model."""
_ADDRESSES = ("http://", "https://")


def shown_settings(model: BaseModel) -> dict[str, Any]:
    """Give the settings as JSON takes them; what is not shown says how long it is."""
    return {name: _shown(name, field, getattr(model, name)) for name, field in type(model).model_fields.items()}


def _shown(name: str, field: FieldInfo | None, value: Any) -> Any:
    if isinstance(value, BaseModel):
        return shown_settings(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, SecretStr):
        return "(secret)"
    if isinstance(value, Mapping):
        return {str(key): _shown(name, None, item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_shown(name, field, item) for item in value]
    text = str(value.value if isinstance(value, Enum) else value)
    if text.startswith(_ADDRESSES):
        # The path may be a secret, and so may what stands before the host.
        parts = urlsplit(text)
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"
    if name in _SHOWN or isinstance(value, Enum) or (field is not None and _is_choice(field.annotation)):
        return text
    return f"({len(text)} characters)"


def _is_choice(annotation: Any) -> bool:
    """Whether only words of ours can stand there."""
    kinds = [annotation, *get_args(annotation)]
    return any(get_origin(kind) is Literal for kind in kinds)
