"""The story is told in each way that a framework has."""

import gc

import pytest

pytest.register_assert_rewrite("tests.adapters.story")


def pytest_generate_tests(metafunc):
    """The formats and modes of the class."""
    if "way" in metafunc.fixturenames:
        metafunc.parametrize("way", metafunc.cls.ways, ids="-".join)


@pytest.fixture(autouse=True)
def clients_are_gone():
    """The frameworks leave HTTP clients open; what is said of it belongs to the test that made them."""
    yield
    gc.collect()
