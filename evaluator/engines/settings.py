"""Settings of the engines."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from runtime.setting import Section

EngineName = Literal["local", "ray"]


class RaySettings(Section):
    """Where the Ray cluster is, and what a task takes there."""

    address: Annotated[str, Field(pattern=r"^ray://[^/\s]+:[0-9]+$")] = "ray://127.0.0.1:10001"
    """Where the head of the cluster serves [Ray
    Client](https://docs.ray.io/en/latest/cluster/running-applications/job-submission/ray-client.html):
    `ray://HOST:10001`."""
    cpus: Annotated[float, Field(gt=0)] = 1.0
    """Processors that a task takes."""
    gpus: Annotated[float, Field(ge=0)] = 0.0
    """GPUs that a task takes, for metrics of local models; 0.5 lets two share one."""
