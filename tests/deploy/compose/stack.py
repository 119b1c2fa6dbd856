"""The compose files, read: alone and one on top of the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[3] / "deploy"
FILES = ("compose.yaml", "compose.dial.yaml")


def stack(*names: str) -> dict[str, Any]:
    """Give the services, volumes and secrets of compose files together."""
    merged: dict[str, Any] = {"services": {}, "volumes": {}, "secrets": {}}
    for name in names:
        loaded = yaml.safe_load((DEPLOY / name).read_text())
        for part, values in merged.items():
            values |= loaded[part]
    return merged


def services() -> dict[str, dict[str, Any]]:
    """Give all services of both files."""
    found: dict[str, dict[str, Any]] = stack(*FILES)["services"]
    return found


def by_default(text: str) -> str:
    """Give a value as compose reads it where no variable is set."""
    return re.sub(r"\$\{\w+:-(.*?)\}", r"\1", text)


def mounts(service: dict[str, Any]) -> list[tuple[str, str]]:
    """Give source and target of a service's volumes."""
    parts = [by_default(volume).split(":") for volume in service.get("volumes", ())]
    return [(part[0], part[1]) for part in parts]
