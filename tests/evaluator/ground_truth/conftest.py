"""The scripted endpoint of the judges' tests."""

from tests.evaluator.judges.conftest import server, stage

__all__ = ["server", "stage"]
