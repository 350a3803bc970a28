"""Folded parts in a browser: shown as they are sent, with the reason; unfolded by a click or the keyboard; undone."""

import re

import pytest
from playwright.sync_api import expect

import redline
from tests.folded_sessions import AGAIN, NOW, folded_log
from tests.inspector.browser import TALL, message, page_of, serious


@pytest.fixture
def young(serve, tmp_path):
    """A log in which two results are folded and nothing is struck yet."""
    return serve(folded_log(tmp_path / "chat.jsonl", turns=4))


def badge(page, index, name):
    """What says that a part is folded."""
    return message(page, index).get_by_role("button", name=re.compile(name))


def test_a_folded_part_is_shown_as_it_is_sent(tabs, young):
    """In its folded form, not struck through, with the reason, and that nothing is lost."""
    page = tabs.open(page_of(young, None))
    folded = message(page, 2)
    expect(folded).to_contain_text("[the line above 39 more times]")
    expect(folded.get_by_role("deletion")).to_have_count(0)
    expect(badge(page, 2, "folded: repeated lines")).to_contain_text("nothing lost")
    referred = badge(page, 8, "referred: ")
    expect(referred).to_contain_text("30 lines are in sight")
    expect(message(page, 8)).to_contain_text("[lines 2–31: as in the output of")
    expect(page.get_by_role("button", name=re.compile("struck: "))).to_have_count(0)
    assert serious(page) == []


def test_it_unfolds_on_a_click_and_by_the_keyboard(tabs, young):
    """To what was said; a reference leads to its lines; once more, and it is folded again."""
    page = tabs.open(page_of(young, None))
    button = badge(page, 8, "referred: ")
    expect(button).to_have_attribute("aria-expanded", "false")
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(message(page, 8)).to_contain_text(AGAIN.splitlines()[1])
    expect(message(page, 8)).not_to_contain_text("[lines 2–31: as in")
    card = message(page, 8).get_by_role("region", name="Fold 1", exact=True)
    expect(card).to_contain_text("nothing lost")
    card.get_by_role("button", name=re.compile("lines 2–31: as in message 5")).click()
    expect(message(page, 5)).to_have_class(re.compile("current"))
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(message(page, 8)).to_contain_text("[lines 2–31: as in")
    page.keyboard.press(" ")
    expect(message(page, 8)).to_contain_text(AGAIN.splitlines()[1])
    assert serious(page) == []


def test_a_fold_is_undone(tabs, young, tmp_path):
    """It is appended, and the part is sent as it was said."""
    page = tabs.open(page_of(young, None))
    badge(page, 2, "folded: ").click()
    message(page, 2).get_by_role("button", name="Undo this fold").click()
    expect(page.get_by_role("status").filter(has_text="Fold 0 is undone: ")).to_be_visible()
    expect(badge(page, 2, "no longer folded")).to_be_visible()
    expect(message(page, 2)).not_to_contain_text("more times]")
    with redline.open(tmp_path / "chat.jsonl") as talk:
        assert [strike.number for strike in talk.strikes] == [1]


def test_a_strike_on_a_fold_is_a_strike(tabs, serve, tmp_path):
    """The part is struck; a request before it shows it folded; the filters and the numbers tell them apart."""
    served = serve(folded_log(tmp_path / "chat.jsonl"))
    page = tabs.open(page_of(served, None))
    expect(badge(page, 2, "struck: ")).to_be_visible()
    expect(message(page, 2).get_by_role("deletion")).to_be_visible()
    page.get_by_role("checkbox", name="Struck").check()
    expect(page.get_by_text("4 messages", exact=True)).to_be_visible()
    page.get_by_role("checkbox", name="Struck").uncheck()
    page.get_by_role("checkbox", name="Folded").check()
    expect(page.get_by_text("2 messages", exact=True)).to_be_visible()
    found = served.get(f"{served.session()}/requests/7")
    assert (found["struck_tokens"], len(found["folds"])) == (0, 2)
    page = tabs.open(page_of(served, None, request=7), **TALL)
    expect(badge(page, 2, "folded: ")).to_be_visible()
    expect(page.get_by_text(f"{found['folded_tokens']:,} folded")).to_be_visible()
    strikes = served.get(f"{served.session()}/strikes")["strikes"]
    assert [(one["does"], one["is_fold"]) for one in strikes[:3]] == [("folded", True), ("referred", True), ("struck", False)]


def test_the_timeline_has_folds_of_their_own(tabs, serve, tmp_path):
    """A layer, and numbers that are those of the API."""
    served = serve(folded_log(tmp_path / "chat.jsonl"))
    last = served.get(f"{served.session()}/timeline", points=1000)["points"][-1]
    assert last["folded"] > 0 < last["struck"]
    page = tabs.open(page_of(served, None, "/timeline"))
    numbers = page.get_by_role("region", name="Numbers of the request")
    for name in ("folded", "struck"):
        expect(numbers.get_by_role("button", name=name)).to_contain_text(f"{last[name]:,}")


def test_several_texts_of_one_result(tabs, serve, tmp_path):
    """Those that are folded are shown folded, between the others."""
    texts = ["the first text", "a line that comes again\n" * 30, "the last text"]
    content = [{"type": "text", "text": text} for text in texts]
    call = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "make"}}
    with redline.open(tmp_path / "chat.jsonl", policy="folded", model="claude-sonnet-4-5") as talk:
        talk.add({"role": "user", "content": "go"}, timestamp_ms=NOW)
        talk.add({"role": "assistant", "content": [call]}, timestamp_ms=NOW)
        result = {"type": "tool_result", "tool_use_id": "c", "content": content}
        talk.add({"role": "user", "content": [result]}, timestamp_ms=NOW)
        assert talk.request(now=NOW).stats.folds == 1
    page = tabs.open(page_of(serve(tmp_path / "chat.jsonl"), None))
    for said in ("the first text", "[the line above 29 more times]", "the last text"):
        expect(message(page, 2)).to_contain_text(said)
