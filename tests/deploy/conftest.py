"""Debian's Prometheus, for the tests of what is deployed beside dialwatch."""

import pytest

from tests.servers import needed


@pytest.fixture(scope="session")
def promtool() -> str:
    return needed("promtool")


@pytest.fixture(scope="session")
def prometheus() -> str:
    return needed("prometheus")
