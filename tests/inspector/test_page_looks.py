"""How the page looks and who can use it: dark, a phone's width, less motion, and what axe finds."""

import re

import pytest
from playwright.sync_api import expect

from tests.inspector.browser import PHONE, VIEWS, message, page_of, ready, serious

PLACES = ("list", *VIEWS)
LIGHT = """() => {
    const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number);
    return (r + g + b) / 3 > 128;
}"""


def address(running, place, name="chat"):
    return running.url if place == "list" else page_of(running, name, place)


def drawn(page, place):
    """Waits for what the view is about."""
    ready(page)
    shown = {
        "list": lambda: page.get_by_role("link", name="step 0"),
        "": lambda: page.get_by_role("button", name="struck: ").first,
        "/timeline": lambda: page.get_by_role("img", name="Tokens by kind"),
        "/branches": lambda: page.get_by_role("list", name="Records, oldest first"),
        "/compare": lambda: page.get_by_role("status").filter(has_text="First difference"),
        "/what-if": lambda: page.get_by_role("status").filter(has_text="sending everything"),
    }
    expect(shown[place]()).to_be_visible()


def is_for_everybody(page):
    """Nothing serious, and nothing to be scrolled sideways: light, dark and as narrow as a phone."""
    for scheme, width in (("light", 1280), ("dark", 1280), ("light", 360)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(LIGHT) == (scheme == "light")
        assert serious(page) == [], (scheme, width)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"wider than {width}"


@pytest.mark.parametrize("place", PLACES)
def test_axe_finds_nothing_serious(tabs, running, place):
    """In every view; what can be opened is open."""
    page = tabs.open(address(running, place))
    drawn(page, place)
    if place == "":
        page.get_by_role("button", name="struck: ").first.click()
        expect(page.get_by_role("region", name="Strike 0")).to_be_visible()
    if place == "/branches":
        page.get_by_role("button", name="Rewind here").first.click()
    if place in ("/timeline", "/what-if"):
        page.evaluate("() => document.querySelectorAll('main details').forEach((one) => (one.open = true))")
    is_for_everybody(page)


def test_axe_finds_nothing_serious_in_a_session_of_an_agent(tabs, running):
    """With diffs, failures and folded calls; and in the list of keys."""
    page = tabs.open(page_of(running, "talk"))
    expect(message(page, 5).get_by_label("Changes")).to_be_attached()
    is_for_everybody(page)
    page.get_by_role("button", name="Keys").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert serious(page) == []


@pytest.mark.parametrize("place", PLACES)
def test_a_phone_shows_no_sideways_scroll(tabs, running, place):
    """On a device that is touched, with the session of an agent."""
    page = tabs.open(address(running, place, "talk"), **PHONE)
    drawn(page, place)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_switch_of_colours_is_remembered(tabs, running):
    """Over the wish of the system, on every page, also after a reload."""
    page = tabs.open(running.url, color_scheme="dark")
    assert not page.evaluate(LIGHT)
    page.get_by_role("button", name="Colours: auto").click()
    expect(page.get_by_role("button", name="Colours: light")).to_be_visible()
    assert page.evaluate(LIGHT)
    page.reload()
    assert page.evaluate(LIGHT)
    page.get_by_role("button", name="Colours: light").click()
    page.emulate_media(color_scheme="light")
    page.goto(page_of(running, "talk"))
    expect(page.get_by_role("button", name="Colours: dark")).to_be_visible()
    assert not page.evaluate(LIGHT)


def test_a_phone_reaches_every_control(tabs, running):
    """Search, filters, slider, tabs, colours and keys: all of them inside the window and large enough to touch."""
    page = tabs.open(page_of(running, "talk"), **PHONE)
    expect(message(page, 0)).to_be_visible()
    page.get_by_role("button", name="Filter").tap()
    controls = [
        page.get_by_role("searchbox"),
        page.get_by_role("combobox", name="Kind"),
        page.get_by_role("combobox", name="Tool"),
        page.get_by_role("checkbox", name="Struck"),
        page.get_by_role("slider", name="Request"),
        page.get_by_role("button", name="Next request"),
        page.get_by_role("link", name="As sent"),
        page.get_by_role("button", name="Colours"),
        page.get_by_role("button", name="Keys"),
    ]
    for control in controls:
        expect(control).to_be_in_viewport()
        box = control.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
    page.get_by_role("checkbox", name="Struck").tap()
    expect(page).to_have_url(re.compile("struck=1"))
    page.get_by_role("link", name="What if").tap()
    expect(page.get_by_role("form", name="Policy")).to_be_visible()


def test_less_motion(tabs, running):
    """Who asks for less motion gets none, not even the light over a part that was jumped to."""
    page = tabs.open(page_of(running, "talk"), reduced_motion="reduce")
    page.evaluate("addEventListener('animationstart', () => (window.moved = true), true)")
    page.evaluate("addEventListener('transitionstart', () => (window.moved = true), true)")
    message(page, 1).get_by_role("button", name="Result").click()
    expect(message(page, 2)).to_be_focused()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("document.getAnimations().length") == 0
    assert page.evaluate("window.moved") is None
