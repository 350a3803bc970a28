"""A phone of 360 pixels: what matters of a session is in sight, and nothing has to be looked for sideways."""

import pytest
from playwright.sync_api import expect

from tests.inspector.browser import PHONE, page_of, ready
from tests.inspector.claude_code import call, result, write_messages

WIDTH = PHONE["viewport"]["width"]
TOOL = "mcp__plugin_company_internal_tools__search_all_issues_and_documents_by_text"


def is_inside(locator):
    """Whether all of it is between the sides of the window."""
    box = locator.bounding_box()
    return box["x"] >= 0 and box["x"] + box["width"] <= WIDTH


@pytest.mark.parametrize(("view", "name"), [("", "Conversation"), ("/timeline", "Timeline"), ("/what-if", "What if")])
def test_the_open_tab_and_the_saving_are_in_sight(tabs, running, view, name):
    """R175: also of the last tab, and whatever else the line says of the session."""
    page = tabs.open(page_of(running, "talk", view), **PHONE)
    ready(page)
    saved = page.get_by_role("banner").get_by_text("would be saved")
    expect(saved).to_be_visible()
    tab = page.get_by_role("link", name=name, exact=True)
    expect(tab).to_have_attribute("aria-current", "true")
    assert is_inside(saved)
    assert is_inside(tab)


def test_the_answer_is_near_the_choice(tabs, running):
    """R175: what a policy would have cost stands under the preset; rules open with a tap, and are open in a wide window."""
    page = tabs.open(page_of(running, "talk", "/what-if"), **PHONE)
    bill = page.get_by_role("region", name="What it would have done").get_by_text("Bill")
    expect(bill).to_be_in_viewport()
    rule = page.get_by_role("switch", name="stale terminal")
    expect(rule).to_be_hidden()
    page.get_by_text("Rules, schedule and price").tap()
    expect(rule).to_be_visible()
    page.get_by_role("combobox", name="Preset").select_option("bold")
    expect(rule).to_be_visible()
    page.get_by_text("Rules, schedule and price").tap()
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(rule).to_be_visible()


def test_long_names_of_tools_leave_room_for_their_numbers(tabs, serve, tmp_path):
    """R175: the tool comes before its server, the whole name is there to be pointed at, and the numbers stand in a column."""
    turns = [
        ("user", "Look for it."),
        ("assistant", call("c1", TOOL, {"text": "zone"})),
        ("user", result("c1", "found\n" * 200)),
    ]
    served = serve(write_messages(tmp_path / "long.jsonl", [*turns, ("assistant", "It is found.")]))
    for size in (PHONE["viewport"], {"width": 1280, "height": 800}):
        page = tabs.open(page_of(served, "long", "/timeline"), viewport=size)
        row = page.get_by_role("button", name="search_all_issues_and_documents_by_text (")
        expect(row).to_be_visible()
        assert row.locator("bdi").get_attribute("title") == TOOL
        assert row.evaluate("(one) => one.scrollWidth <= one.clientWidth")
        ends = page.locator(".legend .number").evaluate_all(
            "(all) => all.map((one) => Math.round(one.getBoundingClientRect().right))"
        )
        assert len(set(ends)) == 1
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_session_without_branches_says_so(tabs, running):
    """R175: the page says what it would show, instead of nothing."""
    page = tabs.open(page_of(running, "talk", "/branches"), **PHONE)
    expect(page.get_by_text("No branches, no batches")).to_be_visible()
