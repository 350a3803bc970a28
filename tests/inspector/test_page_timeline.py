"""The timeline in a browser: areas by kind, what was struck, both bills; numbers as the API has them."""

import re
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from tests.inspector.browser import money, page_of
from tests.inspector.claude_code import write_compacted
from tests.inspector.support import write_transcript


@pytest.fixture(params=["talk", "chat"])
def name(request):
    return request.param


def test_each_kind_is_an_area_and_the_struck_part_is_hatched(tabs, running, name):
    """One filled shape for each kind, one filled with a pattern; a kind can be hidden."""
    told = running.get(f"{running.session(name)}/timeline", points=1000)
    page = tabs.open(page_of(running, name, "/timeline"))
    drawing = page.get_by_role("img", name="Tokens by kind")
    expect(drawing).to_be_visible()
    fills = drawing.locator("path").evaluate_all("paths => paths.map((path) => getComputedStyle(path).fill)")
    assert sum(fill.startswith("url(") for fill in fills) == 1
    assert len({fill for fill in fills if fill.startswith(("rgb", "color", "ok"))}) >= len(told["kinds"])
    expect(drawing).to_contain_text(max(zip(told["points"][-1]["sizes"], told["kinds"], strict=True))[1])
    before = drawing.inner_html()
    for kind in (told["kinds"][-1], "struck"):
        shown = page.get_by_role("button", name=re.compile(f"^{kind} "))
        expect(shown).to_have_attribute("aria-pressed", "true")
        shown.click()
        expect(shown).to_have_attribute("aria-pressed", "false")
        assert drawing.inner_html() != before
        shown.click()
    assert drawing.inner_html() == before


def test_the_numbers_under_the_pointer(tabs, running, name):
    """Every kind, what was struck, the cost and both bills of the request that is pointed at; a click opens it."""
    told = running.get(f"{running.session(name)}/timeline", points=1000)
    points = {point["request"]: (at, point) for at, point in enumerate(told["points"])}
    page = tabs.open(page_of(running, name, "/timeline"))
    cursor = page.get_by_role("slider", name="Request")
    expect(cursor).to_have_attribute("aria-valuenow", str(told["requests"] - 1))
    box = cursor.bounding_box()
    seen = set()
    for share in (0.1, 0.35, 0.6, 0.85):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 40)
        number = int(cursor.get_attribute("aria-valuenow"))
        seen.add(number)
        at, point = points[number]
        numbers = page.get_by_role("region", name="Numbers of the request", exact=True)
        expect(numbers.get_by_role("heading")).to_have_text(f"Request {number}")
        for kind, size in zip([*told["kinds"], "struck"], [*point["sizes"], point["struck"]], strict=True):
            expect(numbers.get_by_role("button", name=re.compile(f"^{kind} "))).to_have_text(f"{kind}{size:,}")
        facts = dict(
            zip(numbers.get_by_role("term").all_inner_texts(), numbers.get_by_role("definition").all_inner_texts(), strict=True)
        )
        assert facts["sent"] == f"{sum(point['sizes']):,}"
        assert facts["cost"] == money(point["cost"])
        for bill in told["costs"]:
            assert facts[f"so far, {bill['name']}"] == money(bill["values"][at])
    assert len(seen) == 4
    page.mouse.click(box["x"] + 0.35 * box["width"], box["y"] + 40)
    number = sorted(seen)[1]
    expect(page).to_have_url(re.compile(rf"/s/\w+\?request={number}$"))
    expect(page.get_by_text(f"Request {number} / ")).to_be_visible()


def test_two_bills(tabs, running, name):
    """What everything would have cost, what it costs struck, and the difference in words."""
    told = running.get(f"{running.session(name)}/timeline", points=1000)
    (everything, chosen) = [bill["values"][-1] for bill in told["costs"]]
    page = tabs.open(page_of(running, name, "/timeline"))
    drawing = page.get_by_role("img", name="Tokens by kind")
    for bill in told["costs"]:
        expect(drawing).to_contain_text(bill["name"])
    assert everything > chosen
    expect(page.get_by_role("strong")).to_contain_text(f"{money(everything - chosen)} of {money(everything)}")


def test_the_keyboard_and_the_table(tabs, running):
    """Arrow keys move through the requests, Enter opens one; the table has all numbers."""
    told = running.get(f"{running.session('talk')}/timeline", points=1000)
    page = tabs.open(page_of(running, "talk", "/timeline"))
    cursor = page.get_by_role("slider", name="Request")
    cursor.focus()
    for key, at in (("Home", 0), ("ArrowRight", 1), ("PageUp", 11), ("ArrowLeft", 10), ("End", 30), ("PageDown", 20)):
        page.keyboard.press(key)
        expect(cursor).to_have_attribute("aria-valuenow", str(at))
    page.get_by_text("Numbers", exact=True).click()
    table = page.get_by_role("region", name="Numbers of the requests")
    expect(table.get_by_role("row")).to_have_count(7)
    row = table.get_by_role("row").last
    expect(row.get_by_role("cell")).to_contain_text([f"{size:,}" for size in told["points"][-1]["sizes"]])
    page.get_by_role("button", name="Earlier").click()
    expect(table.get_by_role("row")).to_have_count(26)
    cursor.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"request=20$"))


def test_cold_moments_are_marked(tabs, serve, tmp_path):
    """A pause in which the cache goes cold is said with the request."""
    served = serve(write_transcript(tmp_path / "talk.jsonl"))
    points = served.get(f"{served.session()}/timeline", points=1000)["points"]
    cold = [point for point in points if point["is_cold"] and point["request"]]
    assert cold
    page = tabs.open(page_of(served, None, "/timeline"))
    cursor = page.get_by_role("slider", name="Request")
    cursor.focus()
    page.keyboard.press("Home")
    for _ in range(cold[0]["request"]):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_role("definition").filter(has_text=f"cold: {cold[0]['cold_because']}")).to_be_visible()


def test_every_mark_of_a_long_session_is_drawn(tabs, serve, tmp_path):
    """R122: ten compactions in more requests than there are points are ten arrows, at their places."""
    served = serve(write_compacted(tmp_path / "long.jsonl", requests=3300, compactions=10, model_changes=(450, 2071)))
    page = tabs.open(page_of(served, None, "/timeline", policy="sent"), viewport={"width": 1280, "height": 900})
    drawing = page.get_by_role("img", name="Tokens by kind")
    expect(drawing).to_be_visible()
    told = served.get(f"{served.session()}/timeline", points=1000, policy="sent")["points"]
    for mark, what, count in (("compaction", "compaction", 10), ("cold", "is_cold", 3)):
        strokes = drawing.locator(f"path.{mark}").get_attribute("d").split("M")[1:]
        assert len(strokes) == sum(point[what] for point in told) == count
    places = [float(stroke.split()[0]) for stroke in drawing.locator("path.compaction").get_attribute("d").split("M")[1:]]
    gaps = [after - before for before, after in pairwise(places)]
    assert max(gaps) - min(gaps) < 1


def test_money_has_separators_and_no_negative_zero(tabs, running):
    """R175: thousands are set apart; what rounds to nothing is `$0.00`, and never negative."""
    page = tabs.open(page_of(running, "talk", "/timeline"))
    shown = {
        1217.35: "$1,217.35",
        -1234567.891: "−$1,234,567.89",
        12.3: "$12.30",
        0.0041: "$0.0041",
        -0.0041: "−$0.0041",
        0.00004: "$0.00",
        -0.00004: "$0.00",
        -0.0: "$0.00",
    }
    told = page.evaluate("async (sums) => sums.map((await import('/page/format.js')).money)", list(shown))
    assert told == list(shown.values()) == [money(usd) for usd in shown]
    assert page.evaluate("async () => (await import('/page/format.js')).money(null)") == "–"
