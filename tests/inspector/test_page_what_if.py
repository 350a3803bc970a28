"""What if, in a browser: a rule switched, a setting changed, and the policy taken away as a file."""

import json
import os
import re
import subprocess
import sys

import pytest
from playwright.sync_api import expect

import redline
from tests.cli.run import FROM_HERE
from tests.inspector.browser import money, page_of
from tests.inspector.support import write_log


class WhatIf:
    """The view, and what the server says to the same policy."""

    def __init__(self, page, running, name):
        self.page, self.running, self.session = page, running, running.session(name)
        self.asked = ""

    def does(self, change):
        """Makes a change in the form, waits for the numbers, and gives the answer that they came from."""

        def is_new(response):
            """Not a late answer to what was asked before."""
            return "/what-if" in response.url and response.request.post_data not in (None, self.asked)

        with self.page.expect_response(is_new) as answered:
            change()
        self.asked = answered.value.request.post_data
        return answered.value.json(), json.loads(self.asked)

    def shows(self, told):
        """The numbers on the page are those of an answer."""
        answer = self.page.get_by_role("region", name="What it would have done")
        figures = answer.get_by_role("definition")
        names = answer.get_by_role("term").all_inner_texts()
        for name, value in (
            ("Bill", money(told["cost"])),
            ("Rewrites", f"{told['rewrites']:,}"),
            ("Strikes", f"{told['strikes']:,}"),
            ("Folds", f"{told['folds']:,}"),
        ):
            expect(figures.nth(names.index(name)).get_by_role("strong")).to_have_text(value)
        for kind, name in (("quoted", "Read or quoted again"), ("strict", "Named again")):
            count = told[kind]["strikes"]
            risk = answer.get_by_text(name, exact=False).first
            expect(risk).to_contain_text(re.compile(rf"{count:,} strike" if count else "None seen"))
        expect(self.page.get_by_role("status").filter(has_text="instead of")).to_contain_text(money(told["cost"]))


@pytest.fixture
def view(tabs, running):
    """What if on the transcript."""
    page = tabs.open(page_of(running, "talk", "/what-if"), permissions=["clipboard-read", "clipboard-write"])
    expect(page.get_by_role("status").filter(has_text="instead of")).to_be_visible()
    return WhatIf(page, running, "talk")


def test_every_change_is_worked_out_at_once(view):
    """A rule switched off and on, a setting, a schedule, a preset, a price: the page shows what the server says of it."""
    page = view.page
    view.shows(view.running.post(f"{view.session}/what-if", {"preset": "default"})[1])
    bills = set()

    def set_age():
        page.get_by_text("Settings of stale terminal").click()
        page.get_by_role("spinbutton", name=re.compile("max age")).fill("60000")

    for change in (
        lambda: page.get_by_role("combobox", name="Preset").select_option("stale"),
        page.get_by_role("switch", name="stale terminal").uncheck,
        page.get_by_role("switch", name="stale terminal").check,
        set_age,
        lambda: page.get_by_role("combobox", name="When strikes are made").select_option("eager"),
        lambda: page.get_by_role("combobox", name="Preset").select_option("masking"),
    ):
        told, body = view.does(change)
        assert view.running.post(f"{view.session}/what-if", body) == (200, told)
        view.shows(told)
        bills.add((told["cost"], told["strikes"]))
    assert len(bills) >= 3
    before = told["cost"]
    price = page.get_by_label("Price")
    price.fill("1/1/5m")
    told, body = view.does(lambda: price.press("Tab"))
    assert body["price"] == "1/1/5m"
    assert told["cost"] != before


def test_a_setting_that_makes_no_sense(tabs, view):
    """Says what is wrong, and keeps the numbers."""
    before = view.page.get_by_role("region", name="What it would have done").get_by_role("strong").first.inner_text()
    price = view.page.get_by_label("Price")
    price.fill("nonsense")
    view.does(lambda: price.press("Tab"))
    expect(view.page.get_by_role("status").filter(has_text="nonsense")).to_be_visible()
    assert view.page.get_by_role("region", name="What it would have done").get_by_role("strong").first.inner_text() == before
    assert [problem[-17:] for problem in tabs.problems] == ["400 (Bad Request)"]
    tabs.problems.clear()


def test_the_policy_is_taken_away(view, tmp_path):
    """As redline.toml, which Policy.load reads, and as Python that runs beside it."""
    page = view.page
    view.does(page.get_by_role("switch", name="old reasoning").uncheck)
    told, _ = view.does(lambda: page.get_by_role("combobox", name="When strikes are made").select_option("eager"))
    view.shows(told)
    copied = {}
    for name, key in (("redline.toml", "toml"), ("Python", "python")):
        button = page.get_by_role("button", name=f"Copy {name}")
        button.click()
        expect(button).to_contain_text("✓")
        copied[key] = page.evaluate("navigator.clipboard.readText()")
        assert copied[key] == told[key]
    (tmp_path / "redline.toml").write_text(copied["toml"])
    loaded = redline.Policy.load(tmp_path / "redline.toml")
    assert loaded.toml() == told["toml"]
    assert {rule.name for rule in loaded.rules} == {"folded", "faded"}
    write_log(tmp_path / "chat.jsonl")
    env = {"PATH": os.environ["PATH"], **FROM_HERE, "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", copied["python"]], cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_the_conversation_with_it(view):
    """The policy goes along: the conversation shows its strikes."""
    page = view.page
    told, body = view.does(lambda: page.get_by_role("combobox", name="Preset").select_option("masking"))
    view.shows(told)
    page.get_by_role("button", name="Look at the conversation with it").click()
    expect(page.get_by_role("article").first).to_be_visible()
    strikes = view.running.get(f"{view.session}/strikes", policy=json.dumps(body))["strikes"]
    assert len(strikes) == told["strikes"]
    expect(page.get_by_role("article", name=re.compile(f"^Message {strikes[0]['index']},"))).to_contain_text(
        strikes[0]["because"]
    )
    expect(page.get_by_role("link", name="Custom")).to_have_attribute("aria-current", "true")
