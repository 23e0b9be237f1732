"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared():
    """The folder `shared/data` beside the checkout.

    It holds real data and golden outputs of the original code. Away from CI
    a checkout may lack it: then the test is skipped. In CI its absence is an
    error.
    """
    data = SHARED / "data"
    if not data.is_dir():
        if os.environ.get("CI") == "true":
            raise RuntimeError(f"CI needs the shared data folder: {data}")
        pytest.skip(f"needs the shared data folder {data}")
    return data


def pytest_collection_modifyitems(items):
    """Last of all the test that loads every model the others have saved."""
    items.sort(key=lambda item: item.path.name == "test_reload.py")
