"""A conversation in a browser: messages as people read them, the slider through the requests, search and filters."""

import re

import pytest
from playwright.sync_api import expect

from tests.inspector.browser import TALL, message, page_of, shows
from tests.inspector.claude_code import call, picture, result, write_messages
from tests.inspector.support import write_log, write_transcript

MARKDOWN = """# Plan

First the **parser**, then `dates.py`:

- one
- two

| file | lines |
|---|---|
| dates.py | 40 |

```python
print("<b>")
```
"""
LONG = "\n".join(f"row {number} of the long output" for number in range(2_000))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The usual two, and one with every kind of content."""
    place = tmp_path_factory.mktemp("sessions")
    write_transcript(place / "talk.jsonl")
    write_log(place / "chat.jsonl")
    edit = {"file_path": "/srv/app/a.py", "old_string": "old = 1\nkeep", "new_string": "new = 2\nkeep"}
    messages = [
        ("user", [{"type": "text", "text": "Look at this"}, picture()]),
        (
            "assistant",
            [{"type": "thinking", "thinking": "A secret thought", "signature": "x"}, {"type": "text", "text": MARKDOWN}],
        ),
        ("user", "Go on"),
        ("assistant", call("t1", "Bash", {"command": "make all"})),
        ("user", result("t1", LONG)),
        ("assistant", call("t2", "Edit", edit)),
        ("user", result("t2", "It failed", is_error=True)),
        ("assistant", "Finished."),
    ]
    write_messages(place / "rich.jsonl", messages)
    return place


def spread(runs):
    return [index for start, end in runs for index in range(start, end)]


# --- messages


def test_markdown_is_rendered(tabs, running):
    """Headings, lists, emphasis, tables and code; code is text."""
    said = message(tabs.open(page_of(running, "rich")), 1)
    expect(said.get_by_role("heading", name="Plan")).to_be_visible()
    expect(said.get_by_role("listitem")).to_have_text(["one", "two"])
    expect(said.get_by_role("strong")).to_have_text("parser")
    expect(said.get_by_role("cell")).to_have_text(["dates.py", "40"])
    expect(said.get_by_label("Code")).to_have_text('print("<b>")')


def test_each_message_says_who_and_how_large(tabs, running):
    """Its index, its age and its tokens."""
    page = tabs.open(page_of(running, "rich"))
    told = running.get(f"{running.session('rich')}/messages")["messages"]
    for one in told[:3]:
        row = message(page, one["index"])
        expect(row).to_contain_text(f"#{one['index']}")
        expect(row).to_contain_text(f"{one['tokens']:,} token")
    expect(message(page, 0)).to_contain_text(re.compile(r"00:00 · 2 min old"))


def test_reasoning_is_folded(tabs, running):
    """A click opens it."""
    said = message(tabs.open(page_of(running, "rich")), 1)
    fold = said.get_by_role("button", name="Reasoning")
    expect(fold).to_have_attribute("aria-expanded", "false")
    fold.click()
    expect(fold).to_have_attribute("aria-expanded", "true")
    expect(said.get_by_role("paragraph").filter(has_text=re.compile("^A secret thought$"))).to_be_visible()


def test_a_call_is_a_line_until_it_is_opened(tabs, running):
    """What it does in one line; its arguments in full after a click."""
    said = message(tabs.open(page_of(running, "rich")), 3)
    fold = said.get_by_role("button", name="Bash runs make all")
    expect(said.get_by_label("Code")).to_have_count(0)
    fold.click()
    expect(said.get_by_label("Code")).to_contain_text('"command": "make all"')
    fold.click()
    expect(said.get_by_label("Code")).to_have_count(0)


def test_a_long_result_is_cut_until_it_is_wanted(tabs, running):
    """The server holds the rest back, too; it is fetched by the click."""
    page = tabs.open(page_of(running, "rich", policy="sent"))
    said = message(page, 4)
    expect(said).to_contain_text("row 13 of the long output")
    expect(said).not_to_contain_text("row 14 of the long output")
    said.get_by_role("button", name=f"Show all {len(LONG):,} characters").click()
    expect(said).to_contain_text("row 1999 of the long output")
    said.get_by_role("button", name="Show less").click()
    expect(said).not_to_contain_text("row 14 of the long output")


def test_an_edit_is_shown_as_its_lines(tabs, running):
    """What went and what came."""
    changes = message(tabs.open(page_of(running, "rich")), 5).get_by_label("Changes")
    expect(changes).to_contain_text("−old = 1")
    expect(changes).to_contain_text("+new = 2")
    expect(changes).to_contain_text("keep")


def test_a_failure_is_seen(tabs, running):
    """In the title of the result."""
    expect(message(tabs.open(page_of(running, "rich")), 6).get_by_text("failed", exact=True)).to_be_visible()


def test_a_picture_is_shown(tabs, running):
    """From this server, and as a picture."""
    shown = message(tabs.open(page_of(running, "rich")), 0).get_by_role("img", name="Image in the conversation")
    expect(shown).to_be_visible()
    shown.evaluate("image => image.decode()")
    assert shown.evaluate("image => [image.naturalWidth, image.naturalHeight]") == [8, 8]


def test_a_call_and_its_result_know_each_other(tabs, running):
    """A click goes from one to the other, and back."""
    page = tabs.open(page_of(running, "rich"))
    message(page, 3).get_by_role("button", name="Result").click()
    expect(message(page, 4)).to_be_focused()
    message(page, 4).get_by_role("button", name="Call").click()
    expect(message(page, 3)).to_be_focused()


# --- the slider


@pytest.mark.parametrize("name", ["talk", "chat"])
def test_a_request_shows_what_the_model_saw(tabs, running, name):
    """The slider: exactly the messages and the strikes of that request, and its numbers."""
    session = running.session(name)
    strikes = {one["number"]: one for one in running.get(f"{session}/strikes")["strikes"]}
    page = tabs.open(page_of(running, name), **TALL)
    slider = page.get_by_role("slider", name="Request")
    last = running.get(session)["requests"] - 1
    for number in (0, last // 2, last - 1, last):
        slider.fill(str(number))
        request = running.get(f"{session}/requests/{number}")
        expect(page).to_have_url(re.compile(rf"request={number}\b"))
        expect(page.get_by_text(f"Request {number} / {last}")).to_be_visible()
        expect(page.get_by_text(f"{request['sent_tokens']:,} tokens sent")).to_be_visible()
        shows(page, spread(request["visible"]))
        badges = page.get_by_role("button", name=re.compile(r"^(would be )?struck: "))
        expect(badges).to_have_count(len(request["strikes"]))
        struck = page.get_by_role("article").filter(has=badges)
        expect(struck).to_have_count(len({strikes[one]["index"] for one in request["strikes"]}))
        for one in request["strikes"]:
            expect(message(page, strikes[one]["index"]).get_by_role("button", name="struck: ")).to_contain_text(
                strikes[one]["because"]
            )


def test_the_address_keeps_the_request(tabs, running):
    """It can be sent to somebody; the buttons and the whole session are a click away."""
    page = tabs.open(page_of(running, "talk", request=7), **TALL)
    shows(page, list(range(15)))
    page.reload()
    shows(page, list(range(15)))
    page.get_by_role("button", name="Next request").click()
    shows(page, list(range(17)))
    page.get_by_role("button", name="Request before").click()
    shows(page, list(range(15)))
    page.get_by_role("button", name="Whole session").click()
    shows(page, list(range(62)))
    expect(page).not_to_have_url(re.compile("request="))


def test_an_answer_leads_to_what_it_answered(tabs, running):
    """From a message of the assistant to the request."""
    page = tabs.open(page_of(running, "talk"), **TALL)
    message(page, 9).get_by_role("link", name="req. 4").click()
    shows(page, list(range(9)))


# --- search and filters


def test_search_leads_through_the_hits(tabs, running):
    """How many messages hold the words, the words marked, next and before, and a list of them."""
    found = running.get(f"{running.session('talk')}/find", text="value_4_7")
    page = tabs.open(page_of(running, "talk"))
    search = page.get_by_role("searchbox", name="Search in this conversation")
    search.fill("part1")
    hits = spread(running.get(f"{running.session('talk')}/find", text="part1")["runs"])
    assert len(hits) == 3
    expect(page.get_by_text(f"{len(hits)} messages", exact=True)).to_be_visible()
    for place in (0, 1, 2):
        page.get_by_role("button", name="Next hit").click()
        expect(page.get_by_text(f"{place + 1} of {len(hits)} messages")).to_be_visible()
        expect(message(page, hits[place]).get_by_role("mark").first).to_be_in_viewport()
    page.get_by_role("button", name="Hit before").click()
    expect(page.get_by_text(f"2 of {len(hits)} messages")).to_be_visible()
    search.fill("value_4_7")
    expect(page.get_by_text("1 message", exact=True)).to_be_visible()
    page.get_by_text("List", exact=True).click()
    page.get_by_role("button", name=f"#{found['first'][0]['index']}").click()
    expect(message(page, found["first"][0]["index"]).get_by_role("mark").first).to_be_in_viewport()
    search.fill("nowhere to be found")
    expect(page.get_by_text("Nothing found")).to_be_visible()


def test_filters_show_only_what_passes(tabs, running):
    """By kind, tool, struck and failed; and together. Where nothing passes, it is said."""
    page = tabs.open(page_of(running, "talk"), **TALL)
    kind, tool = [page.get_by_role("combobox", name=name) for name in ("Kind", "Tool")]
    struck, failed = [page.get_by_role("checkbox", name=name) for name in ("Struck", "Errors")]
    everything = list(range(62))
    for choose, clear, query in [
        (lambda: kind.select_option("call"), lambda: kind.select_option(""), {"kind": "call"}),
        (lambda: kind.select_option("result"), lambda: kind.select_option(""), {"kind": "result"}),
        (lambda: tool.select_option("Edit"), lambda: tool.select_option(""), {"tool": "Edit"}),
        (failed.check, failed.uncheck, {"error": "1"}),
        (struck.check, struck.uncheck, {"struck": "1"}),
    ]:
        choose()
        expected = spread(running.get(f"{running.session('talk')}/find", **query)["runs"])
        assert 0 < len(expected) < 62
        shows(page, expected)
        clear()
        shows(page, everything)
    struck.check()
    tool.select_option("Read")
    shows(page, spread(running.get(f"{running.session('talk')}/find", struck="1", tool="Read")["runs"]))
    kind.select_option("reasoning")
    expect(page.get_by_text("No message passes these filters.")).to_be_visible()
    shows(page, [])
