"""Callers: whether a person made a call (`is_entry`), its origin (people, an evaluation, a judge ...), its client."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from collector.parsing.line.kinds import Target
from lake.spec.vocabulary import ORIGIN_BAGGAGE, ORIGIN_TITLE, Origin

ProjectOrigins = Mapping[str, Origin]
"""Origin of the requests of some projects; a project is the owner of an API key in Core."""

NO_PROJECTS: Final[ProjectOrigins] = MappingProxyType({})
_EVALUATION_RUN: Final = "eval.run.id"


def is_made_by_person(target: Target, parent_deployment: str | None, has_parent_span: bool) -> bool:
    """Whether a person made the call, and not another deployment.

    Core gives a parent span to each call that a deployment makes, and to those that reach their deployment through
    interceptors, whoever made them. A person's call has no parent; Core 0.18 names the called deployment itself as
    the parent of one that came through interceptors.
    """
    return parent_deployment in (None, target.deployment) and (target.is_intercepted or not has_parent_span)


def read_origin(project_id: str | None, headers: Any, user_title: str | None, projects: ProjectOrigins) -> Origin:
    """Return the origin of a call: that of its project, else what its baggage or its job title says.

    DIAL's evaluation framework names its run in the header `baggage`, and dialwatch the origin of what it asks itself;
    Core logs that header if it is configured to. So dialwatch names the origin in the job title too, which Core always
    logs, and passes on to the calls behind.
    """
    if project_id is not None and project_id in projects:
        return projects[project_id]
    if isinstance(headers, dict):
        for name, value in headers.items():
            if name.lower() == "baggage" and isinstance(value, str) and (found := _origin_in(value)):
                return found
    if user_title is not None and user_title.startswith(ORIGIN_TITLE):
        return _origin(user_title.removeprefix(ORIGIN_TITLE)) or Origin.PRODUCTION
    return Origin.PRODUCTION


def take_client(left: dict[str, Any], header: str) -> str | None:
    """Take the value of this request header, in upper or lower case, out of a line's members without a column.

    None where Core did not log it, and where it is empty or no text, which stays.
    """
    headers = left.get("headers")
    if not isinstance(headers, dict):
        return None
    for name, value in headers.items():
        if name.lower() == header.lower() and isinstance(value, str) and value:
            left["headers"] = {other: text for other, text in headers.items() if other != name}
            if not left["headers"]:
                del left["headers"]
            return value
    return None


def _origin_in(baggage: str) -> Origin | None:
    """Return the origin that W3C baggage, `key=value;property,key=value`, names: by an evaluation's run, or by ours."""
    members = {key.strip(): value for key, _, value in (one.partition("=") for one in baggage.split(","))}
    if _EVALUATION_RUN in members:
        return Origin.EVALUATION
    return _origin(members.get(ORIGIN_BAGGAGE, "").partition(";")[0].strip())


def _origin(name: str) -> Origin | None:
    return Origin(name) if name in set(Origin) else None
