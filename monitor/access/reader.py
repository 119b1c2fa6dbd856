"""Reader of the pages: who asks, and what they may see and do."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from monitor.access.settings import GroupSettings, Right

_EVERY = "*"


@dataclass(frozen=True)
class Grant:
    """Rights to the deployments whose names fit one of the globs; scores and ids of these may be seen in any case."""

    deployments: tuple[str, ...]
    rights: frozenset[Right] = frozenset()

    @classmethod
    def of(cls, group: GroupSettings) -> Grant:
        """Return what the settings of a group grant."""
        return cls(group.deployments, frozenset(group.rights))

    def covers(self, deployment: str | None) -> bool:
        """Return whether it is about this deployment; None is all of them together."""
        if deployment is None or _EVERY in self.deployments:
            return _EVERY in self.deployments
        return any(fnmatchcase(deployment, glob) for glob in self.deployments)


@dataclass(frozen=True)
class Reader:
    """Somebody who asks for a page. The default is nobody, who may do nothing.

    `who` is a name for the header and for `_audit`; None where nobody has to say who they are. `session` is what the
    tokens of forms are bound to; None for a script, which needs none, as no browser sends its header by itself.
    """

    who: str | None = None
    grants: tuple[Grant, ...] = ()
    session: str | None = None
    address: str = field(default="", compare=False)
    """Address from which they ask, as clients are counted."""

    @property
    def counted_as(self) -> str:
        """Who they are where searches are counted: the session of a person, the address of anybody else."""
        return self.session or self.address

    def may_see(self, deployment: str | None) -> bool:
        """Return whether they may see scores and ids of a deployment; None is all deployments together."""
        return any(grant.covers(deployment) for grant in self.grants)

    def may_read_texts(self, deployment: str | None) -> bool:
        """Return whether they may read its questions, answers and other texts."""
        return self._has(Right.TEXTS, deployment)

    @property
    def may_read_some(self) -> bool:
        """Whether they may read texts of any deployment."""
        return any(Right.TEXTS in grant.rights for grant in self.grants)

    def may_act(self, deployment: str | None) -> bool:
        """Return whether they may change something: label an answer, silence, acknowledge, mark a release."""
        return self._has(Right.ACT, deployment)

    def _has(self, right: Right, deployment: str | None) -> bool:
        return any(right in grant.rights and grant.covers(deployment) for grant in self.grants)


ALL_RIGHTS = (Grant((_EVERY,), frozenset(Right)),)
