"""Families of deployments: the versions of one application, of which each is a deployment of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

_VERSION = re.compile(r"(.+)__([0-9]{1,9}(?:\.[0-9]{1,9}){1,3})", re.DOTALL)
"""DIAL's id of a published application ends in its version: `applications/public/help__1.1.0`."""
_PARTS = 4


def without_version(deployment: str) -> str:
    """Return a deployment's id without the version that it ends in."""
    found = _VERSION.fullmatch(deployment)
    return found[1] if found else deployment


@dataclass(frozen=True, order=True)
class Version:
    """Which version of which family a deployment is; of one family those can be ordered, the oldest first."""

    family: str
    number: tuple[int, ...]


@dataclass(frozen=True)
class Families:
    """Families by the ids of deployments, where `by_id` says so, and those that have names.

    `named` has the deployments of each family, the oldest first; what their ids say does not count then.
    """

    named: Mapping[str, Sequence[str]] = field(default_factory=dict)
    by_id: bool = True

    @cached_property
    def _named(self) -> Mapping[str, Version]:
        return {
            deployment: Version(family, (place,))
            for family, deployments in self.named.items()
            for place, deployment in enumerate(deployments)
        }

    def version_of(self, deployment: str) -> Version | None:
        """Return the version that a deployment is; None where it is of no family."""
        if (named := self._named.get(deployment)) is not None:
            return named
        found = _VERSION.fullmatch(deployment) if self.by_id else None
        if found is None or found[1] in self.named:
            return None
        number = tuple(int(part) for part in found[2].split("."))
        return Version(found[1], number + (0,) * (_PARTS - len(number)))

    @staticmethod
    def short_name(older: str, deployment: str) -> str:
        """Return the version that an older deployment's id ends in, where that is all that differs; else its id."""
        found, mine = _VERSION.fullmatch(older), _VERSION.fullmatch(deployment)
        return found[2] if found and mine and found[1] == mine[1] else older

    def of(self, deployments: Iterable[str]) -> list[tuple[str, ...]]:
        """Return the families of two or more of the deployments, each with its versions, the oldest first."""
        found: dict[str, list[tuple[Version, str]]] = {}
        for name in deployments:
            if (version := self.version_of(name)) is not None:
                found.setdefault(version.family, []).append((version, name))
        return [tuple(name for _, name in sorted(members)) for members in found.values() if len(members) > 1]

    def older(self, deployment: str, others: Iterable[str]) -> list[str]:
        """Return those of other deployments that are older versions of the same family, the newest first."""
        mine = self.version_of(deployment)
        if mine is None:
            return []
        versions = ((self.version_of(name), name) for name in others)
        older = ((version, name) for version, name in versions if version and version.family == mine.family)
        return [name for version, name in sorted(older, reverse=True) if version < mine]
