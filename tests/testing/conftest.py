"""One Spark for all tests of this process."""

import pytest

from headrace.spark.session import session


@pytest.fixture(scope="session", autouse=True)
def spark() -> None:
    """Start Spark, so that no test's own time counts it."""
    session()
