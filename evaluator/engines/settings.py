"""Settings of the engines."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

EngineName = Literal["local", "ray"]


class RaySettings(BaseModel):
    """Where the Ray cluster is, and what a task takes there.

    `address` is that of the head, `host:port`, `ray://host:10001` for a client outside of the cluster, or `auto`: the
    environment variable RAY_ADDRESS, or the cluster that this machine is a node of. `cpus` and `gpus` are those of one
    task; a fraction of a GPU lets several tasks share it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: Annotated[str, Field(min_length=1)] = "auto"
    cpus: Annotated[float, Field(gt=0)] = 1.0
    gpus: Annotated[float, Field(ge=0)] = 0.0
