"""The list of sessions in a browser: searched, filtered, sorted, opened."""

import re

import pytest
from playwright.sync_api import expect

from redline.cli.serve import private_page
from tests.inspector.browser import page_of, ready
from tests.inspector.claude_code import write_messages
from tests.inspector.support import write_log, write_transcript


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three sessions in two projects by two agents."""
    place = tmp_path_factory.mktemp("sessions")
    write_transcript(place / "talk.jsonl")
    write_messages(
        place / "short.jsonl", [("user", "Paint the shed"), ("assistant", "Done.")], cwd="/srv/garden", seconds=100_000
    )
    write_log(place / "chat.jsonl")
    return place


def test_every_session_is_listed_newest_first(tabs, running):
    """With its title, its agent and its numbers."""
    page = tabs.open(running.url)
    rows = sorted(running.rows(), key=lambda row: -row["ended_ms"])
    expect(page.get_by_role("row").get_by_role("link")).to_have_text([row["title"] for row in rows])
    for row in rows:
        shown = page.get_by_role("row", name=row["title"])
        expect(shown).to_contain_text(row["agent"])
        expect(shown.get_by_role("cell", name=f"{row['messages']:,}", exact=True)).to_be_visible()


def test_a_file_that_cannot_be_read_is_named(tabs, serve, folder, tmp_path):
    """With the reason, under the list."""
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"type": "user"\n' * 3)
    page = tabs.open(serve(folder, broken).url)
    page.get_by_text("1 file could not be read").click()
    expect(page.get_by_role("listitem").filter(has_text="broken")).to_contain_text("JSON")


def test_search_narrows_the_list(tabs, running):
    """By words of the title and the project; what is searched for is in the address."""
    page = tabs.open(running.url)
    search = page.get_by_role("searchbox", name="Search sessions")
    search.fill("GARDEN shed")
    expect(page.get_by_role("row").get_by_role("link")).to_have_text(["Paint the shed"])
    expect(page.get_by_text("1 of 3 sessions")).to_be_visible()
    page.reload()
    expect(page.get_by_role("row").get_by_role("link")).to_have_text(["Paint the shed"])
    search.fill("nothing like it")
    expect(page.get_by_text("No session passes these filters.")).to_be_visible()


def test_search_finds_what_was_said(tabs, running):
    """In any message, with the words around it, and what is no title of the session; the index is made meanwhile (R120)."""
    page = tabs.open(running.url)
    page.get_by_role("searchbox", name="Search sessions").fill("done.")
    expect(page.get_by_role("row").get_by_role("link")).to_have_text(["Paint the shed"])
    expect(page.get_by_role("row").filter(has_text="Done. (1 message)")).to_be_visible()
    page.reload()
    expect(page.get_by_role("row").filter(has_text="Done. (1 message)")).to_be_visible()
    page.get_by_role("searchbox", name="Search sessions").fill("nobody said this")
    expect(page.get_by_text("No session passes these filters.")).to_be_visible()


def test_filters(tabs, running):
    """By agent and by project."""
    page = tabs.open(running.url)
    page.get_by_role("combobox", name="Agent").select_option("Redline")
    expect(page.get_by_role("row").get_by_role("link")).to_have_text(["step 0"])
    page.get_by_role("combobox", name="Agent").select_option("")
    page.get_by_role("combobox", name="Project").select_option("/srv/app")
    expect(page.get_by_role("row").get_by_role("link")).to_have_text(["Fix the parser of dates"])


@pytest.mark.parametrize(("column", "key"), [("Messages", "messages"), ("Tokens", "tokens"), ("Cost", "cost_usd")])
def test_sorting(tabs, running, column, key):
    """A click sorts by a column, a second one turns it round."""
    page = tabs.open(running.url)
    down = [row["title"] for row in sorted(running.rows(), key=lambda row: -row[key])]
    page.get_by_role("button", name=column).click()
    expect(page.get_by_role("columnheader", name=column)).to_have_attribute("aria-sort", "descending")
    expect(page.get_by_role("row").get_by_role("link")).to_have_text(down)
    page.get_by_role("button", name=column).click()
    expect(page.get_by_role("row").get_by_role("link")).to_have_text(down[::-1])


def test_a_click_opens_a_session(tabs, running):
    """And the way back leads to the list as it was."""
    page = tabs.open(f"{running.url}/?text=shed")
    page.get_by_role("link", name="Paint the shed").click()
    expect(page.get_by_role("heading", name="Paint the shed", level=1)).to_be_visible()
    expect(page).to_have_title(re.compile("Paint the shed"))
    expect(page.get_by_role("article")).to_have_count(2)
    page.go_back()
    expect(page.get_by_role("row").get_by_role("link")).to_have_text(["Paint the shed"])


def test_the_keyboard_opens_a_session(tabs, running):
    """Search with /, on to the row with Tab, open it with Enter."""
    page = tabs.open(running.url)
    ready(page)
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Search sessions")).to_be_focused()
    page.keyboard.type("parser")
    expect(page.get_by_text("1 of 3 sessions")).to_be_visible()
    for _ in range(20):
        page.keyboard.press("Tab")
        # asked of the page in one go: the list may be drawn again between two questions
        if page.evaluate("() => document.activeElement.textContent") == "Fix the parser of dates":
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Fix the parser of dates", level=1)).to_be_visible()


def test_a_heading_keeps_the_focus_when_the_list_is_drawn_again(tabs, running):
    """Sorting by the keyboard goes on where it was, and so does Tab while sessions are being written."""
    page = tabs.open(running.url)
    ready(page)
    page.get_by_role("button", name="Messages").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Messages ↓")).to_be_focused()
    page.evaluate("() => document.querySelectorAll('tbody tr').forEach((row) => row.classList.add('old'))")
    page.evaluate("() => document.querySelector('redline-sessions').grown()")
    expect(page.locator("tr.old")).to_have_count(0)
    expect(page.get_by_role("button", name="Messages ↓")).to_be_focused()


def test_a_new_session_appears_by_itself(tabs, serve, tmp_path):
    """A file that is written into the folder while the list is open."""
    write_messages(tmp_path / "one.jsonl", [("user", "The first"), ("assistant", "Yes.")])
    page = tabs.open(serve(tmp_path).url)
    expect(page.get_by_role("row").get_by_role("link")).to_have_text(["The first"])
    expect(page.get_by_role("img", name="Live: what grows is shown at once")).to_be_visible()
    write_messages(tmp_path / "two.jsonl", [("user", "The second"), ("assistant", "Yes.")], seconds=99)
    expect(page.get_by_role("row").get_by_role("link")).to_have_text(["The second", "The first"])


def test_the_token_leaves_the_address_and_the_browser_stays_let_in(running, tabs):
    """R126: what can be copied from the address has no token; a reload and a second tab work, a stranger's browser not."""
    page = tabs.open(f"{running.url}/?text=parser")
    expect(page.get_by_role("link", name="Fix the parser")).to_be_visible()
    assert page.url == f"{running.url}/?text=parser"
    assert page.evaluate("document.cookie") == ""
    page.reload()
    expect(page.get_by_role("link", name="Fix the parser")).to_be_visible()
    second = page.context.new_page()
    second.goto(page_of(running, "talk", "/timeline"))
    expect(second.locator("svg").first).to_be_visible()
    stranger = tabs.chromium.new_context().new_page()
    assert stranger.goto(running.url).status == 401
    assert "redline serve" in stranger.content()
    stranger.context.close()


def test_a_page_that_leads_on_opens_the_inspector(running, tabs, tmp_path):
    """R126: as `redline serve --open` starts a browser: from a file to the address with the token, and then by the cookie."""
    with private_page(f"{running.url}/?token={running.token}") as lead:
        context = tabs.chromium.new_context()
        page = context.new_page()
        page.goto(lead)
        page.wait_for_url(f"{running.url}/")
        expect(page.get_by_role("link", name="Fix the parser")).to_be_visible()
        page.screenshot(path=str(tmp_path / "opened.png"))
        context.close()
