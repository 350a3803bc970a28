"""What grows is seen while the page is open: a file that an agent writes, and a session that goes through the proxy."""

import re

import pytest
from playwright.sync_api import expect

from redline.testing import fake_provider
from tests.cli.test_proxy import send, started
from tests.inspector.browser import message, page_of
from tests.inspector.claude_code import line, write_messages

FIRST = 40


@pytest.fixture
def growing(tmp_path):
    """A session, and a way to add messages to it."""
    path = write_messages(
        tmp_path / "talk.jsonl", [(("user", "assistant")[n % 2], f"Message number {n}") for n in range(FIRST)]
    )

    def grow(count):
        with path.open("a", encoding="utf-8") as out:
            for number in range(grow.written, grow.written + count):
                out.write(line(number, ("user", "assistant")[number % 2], f"Message number {number}"))
        grow.written += count

    grow.written, grow.path = FIRST, path
    return grow


def test_at_the_end_the_page_follows(tabs, serve, growing):
    """Who looks at the last message sees the next ones come."""
    page = tabs.open(page_of(serve(growing.path), None))
    expect(message(page, 0)).to_be_in_viewport()
    page.keyboard.press("G")
    expect(message(page, FIRST - 1)).to_be_in_viewport()
    for _ in range(2):
        growing(6)
        expect(message(page, growing.written - 1)).to_be_in_viewport()
        expect(message(page, growing.written - 1)).to_contain_text(f"Message number {growing.written - 1}")
    expect(page.get_by_role("button", name="new message")).to_be_hidden()
    expect(page.get_by_text(f"{growing.written // 2} requests")).to_be_visible()


def test_elsewhere_the_page_stays_and_tells(tabs, serve, growing):
    """Who reads further up keeps their place; a button says how many came, and leads to them."""
    page = tabs.open(page_of(serve(growing.path), None))
    expect(message(page, 0)).to_be_in_viewport()
    top = message(page, 1).bounding_box()["y"]
    growing(4)
    expect(page.get_by_role("button", name="4 new messages")).to_be_visible()
    growing(2)
    expect(page.get_by_role("button", name="6 new messages")).to_be_visible()
    assert message(page, 1).bounding_box()["y"] == top
    page.get_by_role("button", name="6 new messages").click()
    expect(message(page, growing.written - 1)).to_be_in_viewport()
    expect(page.get_by_role("button", name="new messages")).to_be_hidden()


@pytest.mark.parametrize("view", ["/timeline", "/compare"])
def test_the_drawings_grow(tabs, serve, growing, view):
    """The timeline gets the new requests; the numbers to choose from, too."""
    page = tabs.open(page_of(serve(growing.path), None, view))
    if view == "/timeline":
        cursor = page.get_by_role("slider", name="Request")
        expect(cursor).to_have_attribute("aria-valuenow", "19")
        growing(4)
        expect(cursor).to_have_attribute("aria-valuenow", "21")
    else:
        number = page.get_by_role("spinbutton", name="Request b")
        expect(number).to_have_attribute("max", "19")
        growing(4)
        expect(number).to_have_attribute("max", "21")


def test_a_session_through_the_proxy_is_watched(tabs, serve, tmp_path):
    """`redline proxy` records into a folder that is served: the session appears, and grows, without a reload."""
    store = tmp_path / "store"
    store.mkdir()
    with fake_provider() as provider, started(provider, str(store)) as proxy:
        served = serve(store)
        page = tabs.open(served.url)
        expect(page.get_by_text("No sessions yet")).to_be_visible()
        send(proxy.url, 3)
        page.get_by_role("row").get_by_role("link").first.click()
        expect(message(page, 6)).to_be_attached()
        before = page.get_by_role("banner").inner_text()
        for count in (5, 9):
            send(proxy.url, count)
            expect(page.get_by_role("feed").get_by_role("article").last).to_have_attribute(
                "aria-setsize", re.compile(rf"{2 * count + 1}|{2 * count + 2}")
            )
        page.keyboard.press("G")
        expect(message(page, 18)).to_contain_text("line 8")
        assert page.get_by_role("banner").inner_text() != before
