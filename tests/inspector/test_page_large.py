"""A hundred thousand messages in a browser: any of them is in sight at once, and scrolling stays smooth."""

import os
import re

import pytest
from playwright.sync_api import expect

from tests.inspector.browser import message, page_of
from tests.inspector.claude_code import write_messages

pytestmark = pytest.mark.skipif(not os.environ.get("REDLINE_SLOW"), reason="takes a minute; `make test-inspector` runs it")

MESSAGES = 100_000
MOST_ROWS = 400
LONGEST_MS = 200
"""Of work for one screen, all pieces together."""
IN_SIGHT = """rows => rows.flatMap((row) => {
    const { top, bottom } = row.getBoundingClientRect();
    return bottom > 200 && top < innerHeight ? [[row.ariaLabel, row.innerText]] : [];
})"""
DRAG = """async (list, share) => {
    for (let step = 0; step < 10; step += 1) {
        list.scrollTop = share * (list.scrollHeight - list.clientHeight) + step;
        await new Promise(requestAnimationFrame);
    }
}"""
FIRST = "parseInt(document.querySelector('[role=feed] > article')?.ariaLabel?.slice(8))"
PATIENCE_MS = 90_000
"""Until so long a session is read for the first time."""


@pytest.fixture
def long_session(tmp_path):
    texts = ((("user", "assistant")[number % 2], f"This is message {number}.") for number in range(MESSAGES))
    return write_messages(tmp_path / "long.jsonl", texts, seconds=1)


def in_sight(page):
    """The indices of the rows inside the window; they must say what they should."""
    rows = page.get_by_role("article").evaluate_all(IN_SIGHT)
    found = []
    for name, text in rows:
        index = int(re.match(r"Message (\d+), ", name)[1])
        assert f"This is message {index}." in text
        found.append(index)
    assert found == list(range(found[0], found[0] + len(found)))
    assert page.get_by_role("article").count() < MOST_ROWS
    return found


def filled(page):
    """Waits until all rows in sight have their messages."""
    page.wait_for_function("() => [...document.querySelectorAll('[role=feed] > article')].every((row) => row.innerText)")


def test_a_hundred_thousand_messages(tabs, serve, long_session):
    """One after the other on one page, because reading so long a file takes its time."""
    running = serve(long_session)
    page = tabs.open(page_of(running, None, policy="sent", index=73_456))
    expect(message(page, 73_456)).to_be_in_viewport(timeout=PATIENCE_MS)
    filled(page)
    assert 73_456 in in_sight(page)
    from_one_end_to_the_other(page)
    two_hundred_screens_of_the_wheel(page)
    search_in_all_of_it(page)


def from_one_end_to_the_other(page):
    """End, Home and the scroll bar: the right messages are there."""
    feed = page.get_by_label("Messages").first
    feed.focus()
    page.keyboard.press("End")
    expect(message(page, MESSAGES - 1)).to_be_in_viewport()
    filled(page)
    assert in_sight(page)[-1] == MESSAGES - 1
    for share in (0.25, 0.5, 0.9, 0.1):
        feed.evaluate(DRAG, share)
        page.wait_for_function(f"wanted => Math.abs({FIRST} - wanted) < {MESSAGES // 50}", arg=round(share * MESSAGES))
        filled(page)
        in_sight(page)
    page.keyboard.press("Home")
    expect(message(page, 0)).to_be_in_viewport()
    filled(page)
    assert in_sight(page)[0] == 0


def two_hundred_screens_of_the_wheel(page):
    """Messages in order, few rows, and no screen that takes long."""
    page.mouse.move(640, 500)
    worked = WorkedTime(page)
    longest = 0.0
    for screen in range(200):
        page.mouse.wheel(0, 600)
        page.evaluate("new Promise(requestAnimationFrame)")
        longest = max(longest, worked.since())
        if screen % 40 == 39:
            filled(page)
            in_sight(page)
            worked.since()
    assert in_sight(page)[0] > 500
    assert longest < LONGEST_MS


class WorkedTime:
    """The time that the page's main thread has worked, which does not grow while other programs have the processor."""

    def __init__(self, page):
        self.session = page.context.new_cdp_session(page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.before = 0.0
        self.since()

    def since(self):
        """In milliseconds, since this was last asked."""
        found = {one["name"]: one["value"] for one in self.session.send("Performance.getMetrics")["metrics"]}
        before, self.before = self.before, found["TaskDuration"]
        return 1000 * (self.before - before)


def search_in_all_of_it(page):
    """The only hit, far away, is a click from here."""
    page.get_by_role("searchbox").fill("message 99998.")
    expect(page.get_by_role("search").get_by_text("1 message", exact=True)).to_be_visible()
    page.get_by_role("button", name="Next hit").click()
    expect(message(page, 99_998).get_by_role("mark")).to_be_in_viewport()
