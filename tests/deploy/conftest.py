"""Debian's Prometheus, for the tests of what is deployed beside dialwatch."""

import os
import shutil

import pytest


def _program(name: str) -> str:
    path = shutil.which(name)
    if path:
        return path
    message = f"{name} is not installed; Debian's package `prometheus` has it"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def promtool() -> str:
    return _program("promtool")


@pytest.fixture(scope="session")
def prometheus() -> str:
    return _program("prometheus")
