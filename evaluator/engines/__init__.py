"""Engines that compute metrics: processes of this machine, or a Ray cluster."""

from evaluator.engines.choice import engine_of
from evaluator.engines.ray_engine import ClusterError
from evaluator.engines.settings import EngineName, RaySettings

__all__ = ["ClusterError", "EngineName", "RaySettings", "engine_of"]
