"""Branches, batches and two requests side by side, in a browser; what is done there is in the log afterwards."""

import re

import pytest
from playwright.sync_api import expect

import redline
from redline.testing import conversation, says
from tests.inspector.browser import message, money, page_of
from tests.inspector.support import write_log


@pytest.fixture
def log(tmp_path):
    """A log with two batches."""
    path = write_log(tmp_path / "chat.jsonl")
    with redline.open(path) as talk:
        talk.start_batch(6)
    return path


def confirm(page, place, offer, verb):
    """Asks for something, once without meaning it."""
    expect(page.get_by_role("banner")).not_to_contain_text("counting")
    place.get_by_role("button", name=offer).click()
    asked = place.get_by_role("group", name=offer)
    expect(asked).to_contain_text("A record is appended")
    page.keyboard.press("Escape")
    expect(asked).to_have_count(0)
    place.get_by_role("button", name=offer).click()
    asked.get_by_role("button", name=verb, exact=True).click()


def test_rewind_switch_and_roll_back(tabs, serve, log):
    """Each asks first, appends one record, and is what the conversation goes on with."""
    before = log.read_bytes()
    page = tabs.open(page_of(serve(log), None, "/branches"))
    records = page.get_by_role("list", name="Records, oldest first").get_by_role("listitem")
    confirm(page, records.first, "Rewind here", "Rewind")
    expect(page.get_by_role("heading", name="Branches")).to_be_visible()
    branches = page.get_by_role("heading", name="Branches").locator("+ ul").get_by_role("listitem")
    expect(branches).to_have_count(2)
    with redline.open(log) as talk:
        assert len(talk.messages) == 9
        talk.add(conversation("anthropic", [says("assistant", "Another way.")])[0])
    other = branches.filter(has_not_text="current")
    page.reload()
    confirm(page, other, "Switch to this branch", "Switch")
    expect(page.get_by_role("status").filter(has_text=re.compile("branch|Branch"))).to_be_visible()
    with redline.open(log) as talk:
        assert talk.current_batch == 1
        assert len(talk.all_messages) == 19
    batch = page.get_by_role("listitem").filter(has_text="Batch 0from")
    confirm(page, batch, "Roll back to this batch", "Roll back")
    expect(batch).to_contain_text("current")
    with redline.open(log) as talk:
        assert talk.current_batch == 0
        assert len(talk.messages) == 19
    assert log.read_bytes().startswith(before)


def test_a_record_leads_to_its_message(tabs, running):
    """A click in the tree opens the conversation there."""
    page = tabs.open(page_of(running, "chat", "/branches"))
    record = next(one for one in running.get(f"{running.session('chat')}/records")["records"] if (one["index"] or 0) > 8)
    page.get_by_role("list", name="Records, oldest first").get_by_role("button", name=record["says"], exact=True).first.click()
    expect(page).to_have_url(re.compile(rf"index={record['index']}\b"))
    expect(message(page, record["index"])).to_be_in_viewport()


def test_two_requests_side_by_side(tabs, running):
    """The numbers of both, the rows that differ, and where they differ first; as the API has them."""
    session = running.session("talk")
    page = tabs.open(page_of(running, "talk", "/compare", a=3, b=30))
    first, second = page.get_by_role("spinbutton", name="Request a"), page.get_by_role("spinbutton", name="Request b")
    for a, b in ((3, 30), (20, 30), (30, 20)):
        if (first.input_value(), second.input_value()) == (str(b), str(a)):
            page.get_by_role("button", name="Swap A and B").click()
        else:
            first.fill(str(a))
        told = running.get(f"{session}/compare", a=a, b=b)
        for name, key in (("Sent", "sent_tokens"), ("Struck", "struck_tokens"), ("Messages", "messages")):
            row = page.get_by_role("row", name=re.compile(rf"^{name} "))
            expect(row.get_by_role("cell").nth(0)).to_have_text(f"{told['a'][key]:,}")
            expect(row.get_by_role("cell").nth(1)).to_have_text(f"{told['b'][key]:,}")
        row = page.get_by_role("row", name=re.compile("^Cost "))
        expect(row.get_by_role("cell").nth(0)).to_have_text(money(told["a"]["cost_usd"]))
        index = next(row["index"] for row in told["rows"] if "count" not in row)
        expect(page.get_by_role("status").first).to_contain_text(
            f"First difference at message {index}: the cache is good up to {told['same_prefix_tokens']:,} tokens"
        )
        expect(page.get_by_role("table").nth(1).get_by_role("row")).to_have_count(len(told["rows"]) + 1)
        expect(page).to_have_url(re.compile(rf"a={a}&b={b}"))


def test_two_policies_side_by_side(tabs, running):
    """One request as it was sent, and with Redline."""
    page = tabs.open(page_of(running, "talk", "/compare", a=30, b=30))
    expect(page.get_by_role("status").filter(has_text="Both are the same")).to_be_visible()
    page.get_by_role("combobox", name="Policy a").select_option("sent")
    told = running.get(f"{running.session('talk')}/compare", a=30, b=30, policy_a="sent", policy_b="auto")
    struck = [row for row in told["rows"] if row.get("b") == "struck"]
    assert struck
    expect(page.get_by_role("cell", name=re.compile("struck"))).to_have_count(len(struck))
