"""Strikes in a browser: what was there, what is sent, why, what it cost; undone and pinned on Redline's own logs only."""

import re

import pytest
from playwright.sync_api import expect

import redline
from redline.rules.masked_results import MaskedResults
from redline.testing import conversation, says
from tests.inspector.browser import message, money, page_of
from tests.inspector.support import NOW, write_log, write_transcript


def open_card(page, index, number):
    """The card of a strike, opened by its badge."""
    badge = message(page, index).get_by_role("button", name=re.compile("struck"))
    expect(badge).to_have_attribute("aria-expanded", "false")
    badge.click()
    return message(page, index).get_by_role("region", name=f"Strike {number}", exact=True)


def said_of(card, name):
    """The value beside a name."""
    return card.get_by_role("definition").nth(card.get_by_role("term").all_inner_texts().index(name))


@pytest.mark.parametrize("name", ["talk", "chat"])
def test_a_card_says_all_there_is_to_know(tabs, running, name):
    """Both texts, the reason, the rule, the price and the chance, as the API has them."""
    session = running.session(name)
    strike = running.get(f"{session}/strikes")["strikes"][0]
    whole = running.get(f"{session}/part", index=strike["index"], at=strike["at"])
    page = tabs.open(page_of(running, name))
    struck = message(page, strike["index"])
    expect(struck.get_by_role("deletion")).to_contain_text(whole["text"].splitlines()[0])
    expect(struck).to_contain_text(f"sent: {strike['replacement']}")
    card = open_card(page, strike["index"], strike["number"])
    there, sent = [card.get_by_role("figure").nth(place) for place in (0, 1)]
    expect(there).to_contain_text(f"What was there · {strike['tokens_before']:,} tokens")
    expect(there).to_contain_text(whole["text"].splitlines()[-1])
    expect(sent).to_contain_text(f"sent · {strike['tokens_after']:,} token")
    expect(sent).to_contain_text(strike["replacement"])
    expect(said_of(card, "Reason")).to_contain_text(strike["because"])
    expect(said_of(card, "Rule")).to_have_text(strike["rule"])
    fewer = strike["tokens_before"] - strike["tokens_after"]
    expect(said_of(card, "Price")).to_contain_text(f"{fewer:,} tokens fewer in each request")
    expect(said_of(card, "Price")).to_contain_text(money(strike["saved_usd"]))
    assert ("Chance of use" in card.get_by_role("term").all_inner_texts()) == (strike["chance"] is not None)
    if strike["chance"] is not None:
        expect(said_of(card, "Chance of use")).to_contain_text(f"{100 * strike['chance']:.1f} %")
    card.get_by_role("button", name=f"since request {strike['first']}").click()
    expect(page).to_have_url(re.compile(rf"request={strike['first']}\b"))


def test_some_strikes_have_a_measured_chance(running):
    """The comparison above would pass over none."""
    assert any(one["chance"] is not None for one in running.get(f"{running.session('talk')}/strikes")["strikes"])


def test_with_and_without(tabs, running):
    """On another agent's session strikes are only thought: as it was sent, nothing is struck."""
    page = tabs.open(page_of(running, "talk"))
    expect(page.get_by_role("button", name="would be struck: ").first).to_be_visible()
    page.get_by_role("link", name="As sent").click()
    expect(message(page, 2).get_by_role("button", name="Show all")).to_be_visible()
    expect(page.get_by_role("button", name="struck: ")).to_have_count(0)


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_undo_and_pin_from_the_card(tabs, serve, tmp_path, kind):
    """Both are appended, take effect at once, and the conversation knows them when it is opened again."""
    address = tmp_path / "chat.jsonl" if kind == "jsonl" else f"sqlite:///{tmp_path}/chats.db#chat"
    write_log(address)
    with redline.open(address) as talk:
        first, second, *others = talk.strikes
        texts = [talk.all_messages[strike.index] for strike in (first, second)]
    page = tabs.open(page_of(serve(address), None))
    open_card(page, first.index, first.number).get_by_role("button", name="Undo this strike").click()
    expect(page.get_by_role("status").filter(has_text=f"Strike {first.number} is undone: ")).to_be_visible()
    expect(message(page, first.index).get_by_role("button", name="no longer struck")).to_be_visible()
    expect(message(page, first.index).get_by_role("button", name="Undo")).to_have_count(0)
    open_card(page, second.index, second.number).get_by_role("button", name="Pin this message").click()
    expect(message(page, second.index).get_by_text("pinned", exact=True)).to_be_visible()
    expect(message(page, second.index).get_by_role("button", name="no longer struck")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^struck: "))).to_have_count(len(others))
    with redline.open(address) as talk:
        assert [strike.number for strike in talk.strikes] == [strike.number for strike in others]
        added = conversation("anthropic", [says("user", "go on")])[0]
        talk.add(added, timestamp_ms=NOW + 9_000_000)
        sent = talk.request(now=NOW + 9_000_000, rules=[MaskedResults(keep_recent=2)]).messages
        assert sent[second.index] == texts[1]


def test_a_message_can_be_pinned_and_let_go(tabs, serve, tmp_path):
    """At its side, struck or not."""
    page = tabs.open(page_of(serve(write_log(tmp_path / "chat.jsonl")), None))
    for button, other in (("Pin", "Unpin"), ("Unpin", "Pin")):
        message(page, 1).get_by_role("button", name=button, exact=True).click()
        expect(message(page, 1).get_by_role("button", name=other, exact=True)).to_be_visible()
    assert [line.split('"type":"')[1].split('"')[0] for line in _last_lines(tmp_path / "chat.jsonl", 2)] == ["pin", "pin"]


def _last_lines(path, count):
    return path.read_text().splitlines()[-count:]


def test_read_only_offers_nothing(tabs, serve, tmp_path):
    """With --read-only a log is looked at; the card says how it could be undone elsewhere."""
    write_log(tmp_path / "chat.jsonl")
    write_transcript(tmp_path / "talk.jsonl")
    served = serve(tmp_path, options=("--read-only",))
    before = (tmp_path / "chat.jsonl").read_bytes()
    strike = served.get(f"{served.session('chat')}/strikes")["strikes"][0]
    page = tabs.open(page_of(served, "chat"))
    card = open_card(page, strike["index"], strike["number"])
    expect(card).to_contain_text(f".undo({strike['number']})")
    expect(page.get_by_role("button", name=re.compile("^(Undo|Pin|Unpin)"))).to_have_count(0)
    page.get_by_role("link", name="Branches").click()
    expect(page.get_by_role("list", name="Records, oldest first")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Rewind|Switch|Roll back"))).to_have_count(0)
    assert (tmp_path / "chat.jsonl").read_bytes() == before


def test_other_agents_sessions_cannot_be_changed(tabs, running):
    """Nothing is offered there, and the card says that nothing was done."""
    strike = running.get(f"{running.session('talk')}/strikes")["strikes"][0]
    page = tabs.open(page_of(running, "talk"))
    expect(open_card(page, strike["index"], strike["number"])).to_contain_text("Nothing was changed")
    expect(page.get_by_role("button", name=re.compile("^(Undo|Pin)"))).to_have_count(0)
