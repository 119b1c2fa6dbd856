"""Settings of the engines."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

EngineName = Literal["local", "ray"]


class RaySettings(BaseModel):
    """Where the Ray cluster is, and what a task takes there.

    `address` is that of Ray Client at the head, which `ray start --head` serves at port 10001. `cpus` and `gpus` are
    those of one task; a fraction of a GPU lets several tasks share it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: Annotated[str, Field(pattern=r"^ray://[^/\s]+:[0-9]+$")] = "ray://127.0.0.1:10001"
    cpus: Annotated[float, Field(gt=0)] = 1.0
    gpus: Annotated[float, Field(ge=0)] = 0.0
