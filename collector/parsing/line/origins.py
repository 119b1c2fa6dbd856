"""Origin of a request, as far as its line shows it: people's own use, an evaluation, a replay, a judge, or a test."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from collector.parsing.line.call import Call
from lake import Origin

ProjectOrigins = Mapping[str, Origin]
"""Origin of the requests of some projects; a project is the owner of an API key in Core."""

NO_PROJECTS: Final[ProjectOrigins] = MappingProxyType({})
_EVALUATION_RUN: Final = "eval.run.id"


def read_origin(call: Call, projects: ProjectOrigins) -> Origin:
    """Return the origin of a call: that of its project, else evaluation if its baggage names an evaluation run.

    DIAL's evaluation framework names its run in the header `baggage`, which Core logs if it is configured to.
    """
    if call.project_id is not None and call.project_id in projects:
        return projects[call.project_id]
    headers = call.left.get("headers")
    if isinstance(headers, dict):
        for name, value in headers.items():
            if name.lower() == "baggage" and isinstance(value, str) and _names_run(value):
                return Origin.EVALUATION
    return Origin.PRODUCTION


def _names_run(baggage: str) -> bool:
    """Whether W3C baggage, `key=value;property,key=value`, has the id of an evaluation's run."""
    return any(member.partition("=")[0].strip() == _EVALUATION_RUN for member in baggage.split(","))
