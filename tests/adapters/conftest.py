"""The story is told in each way that a framework has."""

import pytest

pytest.register_assert_rewrite("tests.adapters.story")


def pytest_generate_tests(metafunc):
    """The formats and modes of the class."""
    if "way" in metafunc.fixturenames:
        metafunc.parametrize("way", metafunc.cls.ways, ids="-".join)
