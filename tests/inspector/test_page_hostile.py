"""Hostile sessions in a browser: nothing in them runs, loads or leads away, in any view; their text is shown as text."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.inspector.browser import VIEWS, message, page_of, ready
from tests.inspector.hostile import HUGE, NAME, SCRIPT, write_hostile_log, write_hostile_transcript

WEB = "https://elsewhere.example/page?of=`x`"
NAMES = (NAME, f"log of {NAME}")
OWN = """() => {
    const all = (selector) => [...document.querySelectorAll(selector)];
    const opened = "[target=_blank][rel='noopener noreferrer']";
    const addresses = all(`[src], a[href]:not(${opened})`).map((one) => one.src ?? one.href);
    return {
        hacked: [window.hacked, ({}).hacked, document.hacked],
        active: all("iframe, object, embed, base, style, form[action], meta[http-equiv]").length,
        scripts: document.scripts.length,
        handlers: all("*").flatMap((one) => one.getAttributeNames()).filter((name) => /^on|srcdoc/.test(name)),
        foreign: addresses.filter((address) => new URL(address).origin !== location.origin),
    };
}"""
UNSEEN = """() => {
    const unseen = /[\\0\\x07\\x1b\\x7f\\u202a-\\u202e\\u2066-\\u2069\\u200b\\u{e0000}-\\u{e007f}]/u;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
        const { data, parentElement } = walker.currentNode;
        if (unseen.test(data)) found.push([parentElement.tagName, data.slice(0, 90)]);
    }
    return found;
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One session of an agent, one log."""
    place = tmp_path_factory.mktemp("sessions")
    write_hostile_transcript(place)
    write_hostile_log(place)
    return place


def is_harmless(page, url):
    """Nothing ran, nothing was made of what was said, and the page is where it was."""
    found = page.evaluate(OWN)
    assert found == {"hacked": [None] * 3, "active": 0, "scripts": 2, "handlers": [], "foreign": []}, found
    assert page.evaluate(UNSEEN) == []
    assert page.url.split("?")[0] == url.split("?")[0]


def open_everything(page):
    """Unfolds all that is folded in sight."""
    for _ in range(4):
        folded = page.get_by_role("main").locator("[aria-expanded=false]:visible, summary:visible")
        page.evaluate(
            "selector => document.querySelectorAll(selector).forEach((one) => one.click())", "main [aria-expanded=false]"
        )
        page.evaluate("() => document.querySelectorAll('main details').forEach((one) => (one.open = true))")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        if not folded.count():
            return


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("is_log", [False, True])
def test_no_view_runs_anything(tabs, running, view, is_log):
    """All of it unfolded."""
    url = page_of(running, NAMES[is_log], view)
    page = tabs.open(url)
    ready(page)
    expect(page.get_by_role("heading", level=1)).to_contain_text(NAME)
    if not view:
        expect(message(page, 0)).to_contain_text(NAME)
    open_everything(page)
    is_harmless(page, url)
    expect(page.get_by_text(NAME).first).to_be_attached()


def test_the_list_runs_nothing(tabs, running):
    """Titles, projects, file names, models and agents are text."""
    page = tabs.open(running.url)
    expect(page.get_by_role("link", name=f"{NAME} U+202E {SCRIPT}")).to_be_visible()
    page.get_by_role("searchbox", name="Search sessions").fill(NAME)
    expect(page.get_by_text("2 sessions")).to_be_visible()
    is_harmless(page, f"{running.url}/")


@pytest.mark.parametrize("is_log", [False, True])
def test_the_whole_conversation_runs_nothing(tabs, running, is_log):
    """Every message from the first to the last, and every request."""
    url = page_of(running, NAMES[is_log])
    page = tabs.open(url)
    messages = running.get(running.session(NAMES[is_log]))["messages"]
    expect(message(page, 0)).to_be_visible()
    for index in range(0, messages, 4):
        page.evaluate(
            "path => { history.pushState(null, '', path); dispatchEvent(new Event('popstate')) }", f"{url}?index={index}"
        )
        expect(message(page, index)).to_be_in_viewport()
        open_everything(page)
        is_harmless(page, url)
    page.get_by_role("slider", name="Request").fill("7")
    expect(page).to_have_url(re.compile("request=7"))
    is_harmless(page, url)


def test_text_that_misleads_is_marked(tabs, running):
    """Turned text, escapes and null bytes are seen as what they are."""
    page = tabs.open(page_of(running, NAME, text="gnp.exe"))
    page.get_by_role("button", name="Next hit").click()
    expect(page.get_by_role("main")).to_contain_text(
        "right to left U+202E gnp.exe U+2066 and back U+202CU+2069 zeroU+200Bwidth U+E0041tags"
    )
    page.get_by_role("searchbox").fill("null")
    page.get_by_role("button", name="Next hit").click()
    expect(page.get_by_role("main")).to_contain_text(
        "escapes red ␛]8;;https://elsewhere.example␇link␛]8;;␇ ␛[2J null ␀ bell ␇ delete ␡"
    )


def test_a_huge_line_is_cut(tabs, running):
    """Five million characters in one line: a few are shown, more on demand, never all."""
    found = running.get(f"{running.session(NAME)}/find", text="AAAAAAAA")
    index = found["runs"][0][0]
    page = tabs.open(page_of(running, NAME, index=index, policy="sent"))
    more = message(page, index).get_by_role("button", name=f"Show all {len(HUGE):,} characters")
    expect(more).to_be_visible()
    assert len(message(page, index).inner_text()) < 10_000
    more.click()
    expect(message(page, index)).to_contain_text("more characters")
    assert len(message(page, index).inner_text()) < 250_000
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_link_opens_by_the_second_click_only(tabs, running):
    """The first shows where it leads; what is no web address cannot be opened at all."""
    page = tabs.open(running.url)
    page.context.route("https://elsewhere.example/**", lambda route: route.fulfill(body="elsewhere"))
    script, web = [
        running.get(f"{running.session(NAME)}/find", text=text, kind="text")["runs"][0][0] for text in ("click here", "a link")
    ]
    for index, name, leads in (
        (script, "click here", "javascript:window.hacked=1 is not a web address."),
        (web, "a link", WEB),
    ):
        with page.expect_response(re.compile("/strikes")) as strikes:
            page.goto(page_of(running, NAME, index=index))
        strikes.value.finished()
        expect(page.get_by_role("banner")).not_to_contain_text("counting")
        expect(message(page, index)).to_be_in_viewport()
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        message(page, index).get_by_role("button", name=name, exact=True).click()
        expect(message(page, index).get_by_text(leads).first).to_be_visible()
    link = page.get_by_role("link", name="Open in a new tab")
    assert len(page.context.pages) == 1
    with page.expect_popup() as opened:
        link.click()
    opened.value.wait_for_load_state()
    assert opened.value.url.startswith("https://elsewhere.example/page")
    assert opened.value.evaluate("[opener, document.referrer]") == [None, ""]
    assert page.evaluate("window.hacked") is None


def test_a_hostile_address_runs_nothing(tabs, running):
    """What is in the address is text, too; an address that means nothing says so."""
    page = tabs.open(running.url)
    for query in ("text={}", "tool={}&kind={}", "policy={}", "request={}", "index={}&at={}", "conversation={}"):
        url = f"{page_of(running, NAME)}?{query.replace('{}', quote(NAME))}"
        page.goto(url)
        expect(page.get_by_role("alert").or_(page.get_by_role("searchbox")).first).to_be_visible()
        is_harmless(page, url)
    assert all(re.search(r"status of 4\d\d", problem) for problem in tabs.problems), tabs.problems
    tabs.problems.clear()
