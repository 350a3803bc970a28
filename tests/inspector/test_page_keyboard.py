"""The whole way by keyboard alone: from the list through a session to a strike, and back from it."""

import re

from playwright.sync_api import expect

import redline
from tests.inspector.browser import message, page_of, ready
from tests.inspector.support import write_log


def tab_to(page, wanted):
    """Presses Tab until something has the focus."""
    for _ in range(60):
        if wanted.count() and wanted.first.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {wanted}")


def test_from_the_list_to_an_undone_strike(tabs, serve, tmp_path):
    """Tab, Enter and s: nothing needs a pointer."""
    log = write_log(tmp_path / "chat.jsonl")
    with redline.open(log) as talk:
        first, *others = talk.strikes
    page = tabs.open(serve(log).url)
    expect(page.get_by_role("link", name="step 0")).to_be_visible()
    tab_to(page, page.get_by_role("link", name="step 0"))
    page.keyboard.press("Enter")
    expect(message(page, first.index).get_by_role("button", name="struck: ")).to_be_attached()
    page.keyboard.press("s")
    expect(message(page, first.index)).to_be_focused()
    page.keyboard.press("Enter")
    card = message(page, first.index).get_by_role("region", name=f"Strike {first.number}")
    expect(card).to_be_visible()
    tab_to(page, card.get_by_role("button", name="Undo this strike"))
    page.keyboard.press("Enter")
    expect(message(page, first.index).get_by_role("button", name="no longer struck")).to_be_visible()
    with redline.open(log) as talk:
        assert [strike.number for strike in talk.strikes] == [strike.number for strike in others]


def test_keys_of_the_conversation(tabs, running):
    """The keys j and k, s, / and n, [ and ], G; and none of them while someone types."""
    strikes = running.get(f"{running.session('talk')}/strikes")["strikes"]
    struck = sorted({strike["index"] for strike in strikes if strike["end"] is None})
    page = tabs.open(page_of(running, "talk"))
    expect(page.get_by_role("button", name="struck: ").first).to_be_visible()
    for key, index in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        expect(message(page, index)).to_be_focused()
    for index in struck[:3]:
        page.keyboard.press("s")
        expect(message(page, index)).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("jks")
    expect(page.get_by_text("Nothing found")).to_be_visible()
    page.get_by_role("searchbox").fill("part2")
    expect(page.get_by_role("search").get_by_text(re.compile(r"^\d+ messages$"))).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("search").get_by_text(re.compile(r"^1 of \d+ messages$"))).to_be_visible()
    page.get_by_role("searchbox").blur()
    page.keyboard.press("n")
    expect(page.get_by_role("search").get_by_text(re.compile(r"^2 of \d+ messages$"))).to_be_visible()
    page.keyboard.press("N")
    expect(page.get_by_role("search").get_by_text(re.compile(r"^1 of \d+ messages$"))).to_be_visible()
    for key, number in (("[", 30), ("[", 29), ("]", 30)):
        page.keyboard.press(key)
        expect(page).to_have_url(re.compile(rf"request={number}$"))
    page.keyboard.press("G")
    expect(message(page, 60)).to_be_in_viewport()


def test_the_list_of_keys(tabs, running):
    """? shows it on every page, Escape closes it, and the focus is where it was."""
    for url in (running.url, page_of(running, "talk", "/timeline")):
        page = tabs.open(url)
        ready(page)
        page.keyboard.press("?")
        keys = page.get_by_role("dialog", name="Keys")
        expect(keys).to_contain_text("Next strike")
        page.keyboard.press("Escape")
        expect(keys).to_have_count(0)


def test_the_first_tab_skips_to_the_content(tabs, running):
    """Past the top of the page."""
    page = tabs.open(page_of(running, "talk"))
    expect(message(page, 0)).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    expect(message(page, 0)).to_be_visible()
