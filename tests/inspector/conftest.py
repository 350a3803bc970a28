import os
from contextlib import ExitStack

import pytest
from playwright.sync_api import sync_playwright

from tests.inspector.browser import Tabs, require_chromium
from tests.inspector.support import inspector, write_log, write_transcript

IN_EVERY_RUN = ("test_page_hostile.py", "test_page_conversation.py", "test_page_list.py", "test_page_size.py")
"""Of the pages' tests; the others take minutes, and some of them wait for what a busy machine does late."""


def pytest_collection_modifyitems(items):
    """Most of the pages' tests are for `make test-inspector`."""
    slow = pytest.mark.skip(reason="`make test-inspector` runs it")
    for item in items:
        name = item.path.name
        if name.startswith("test_page_") and name not in IN_EVERY_RUN and not os.environ.get("REDLINE_SLOW"):
            item.add_marker(slow)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A transcript and a log."""
    place = tmp_path_factory.mktemp("sessions")
    write_transcript(place / "talk.jsonl")
    write_log(place / "chat.jsonl")
    return place


@pytest.fixture(scope="module")
def running(folder, tmp_path_factory):
    with inspector(folder, home=tmp_path_factory.mktemp("home")) as served:
        yield served


@pytest.fixture(scope="module")
def chromium():
    """A browser. Not for the whole run: while it is driven, nothing else in this process can use asyncio."""
    path = require_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def serve(tmp_path_factory):
    """Starts inspectors; they end after the pages that look at them."""
    with ExitStack() as started:
        home = tmp_path_factory.mktemp("home")
        yield lambda *places, **options: started.enter_context(inspector(*places, home=home, **options))


@pytest.fixture
def tabs(chromium, serve):
    opened = Tabs(chromium)
    yield opened
    opened.close()
