"""The scripted endpoint of the judges' tests."""

from tests.evaluator.judges.conftest import bench, server, stage

__all__ = ["bench", "server", "stage"]
