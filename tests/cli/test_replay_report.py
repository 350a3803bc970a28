"""The paragraph that `redline replay` begins with."""

import dataclasses

import pytest

from redline.cli.formatting import width_of
from redline.cli.replay_report import advice_text, show_advice, show_comparison, show_files, show_places
from redline.prices import PRICE_RULES
from redline.sessions.replay.advice import Advice, PaidBill, PolicyFigures
from redline.sessions.replay.comparison import Comparison, compare
from redline.sessions.replay.risk import PolicyPlaces, UsedPlace
from tests.sessions.replay.sessions import RULE
from tests.sessions.replay.test_comparison import long_session
from tests.sessions.replay.used_later import used_later


def figures(policy, cost, with_rereads, strict_requests, used=4):
    """Two hundred strikes in a session that cost 20 dollars."""
    return PolicyFigures(
        policy=policy,
        cost=cost,
        cost_with_rereads=with_rereads,
        ratio=cost / 20,
        ratio_with_rereads=with_rereads / 20,
        strikes=200,
        strikes_used_later=used,
        risk=used / 200,
        risk_requests=0.011,
        strict=0.13,
        strict_requests=strict_requests,
        folds=30,
        folded_tokens=4_000,
        struck_tokens=90_000,
    )


ADVICE = Advice(
    policy="balanced",
    why="`balanced` is what is advised",
    agents=("codex",),
    models=("gpt-5.6-sol",),
    sessions=1,
    requests=120,
    priced_as=("gpt-5.6-sol",),
    unit="dollars",
    cost=20.0,
    weighed=(
        figures("careful", 17.0, 17.5, 0.018),
        figures("balanced", 15.0, 16.0, 0.034),
        figures("bold", 14.0, 15.5, 0.081),
    ),
    sessions_bound=0,
    price_date="2026-11-16",
    assumed=(),
    caches=("5 minutes",),
)
PAID = PaidBill(usd=25.0, input_usd=18.0, saved_usd=3.0, would_save_usd=0.0, sessions=1)
LOSS, DRY = dataclasses.replace(PAID, saved_usd=-0.5), dataclasses.replace(PAID, saved_usd=0.0, would_save_usd=2.0)


def test_it_says_cost_saving_risk_and_how(capsys, monkeypatch):
    """In this order, within eighty columns, and what switches it on apart so that it can be copied (R41)."""
    monkeypatch.setenv("COLUMNS", "80")
    show_advice(ADVICE)
    shown = capsys.readouterr().out
    text = " ".join(shown.split())
    parts = [
        "our model of the bill says $20.00 of input for sending everything, with a cache of 5 minutes",
        "at the list prices (2026-11-16).",
        "With `balanced` it would have cost $15.00, 25 % less",
        "It folds 30 parts, 4,000 tokens.",
        "of 200 parts struck, 4 (2.0 %) were quoted",
        "13 % held words that were used later, in 3.4 % of the requests",
        "$16.00, 20 % less",
        "balanced * $15.00 0.750 0.800 30 200 2.0% 1.1% 13.0% 3.4%",
        "bold $14.00 0.700 0.775 30 200 2.0% 1.1% 13.0% 8.1%",
        "Why: `balanced` is what is advised.",
        "redline run --policy balanced -- codex",
        "policy=redline.Policy.balanced(),",
        'preset = "balanced"',
    ]
    assert [part for part in parts if part not in text] == []
    assert sorted(parts, key=text.index) == parts
    assert '    conversation = redline.open(\n        "chat.jsonl",\n        model="gpt-5.6-sol",\n' in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"policy": None}, "Nothing is advised: there is nothing to switch on"),
        ({"weighed": (figures("balanced", 15.0, 15.0, 0.0, used=0),)}, "of 200 parts struck, none were quoted"),
        ({"unit": "tokens"}, "as much as 20 uncached tokens"),
        ({"sessions": 3}, "These 3 sessions of codex"),
        ({"models": ("gpt-5.5",)}, "at the list prices of gpt-5.6-sol"),
        ({"cost": 0.0123}, "$0.0123"),
        ({"sessions_bound": 1, "policy": None}, "gpt-5.6-sol refuses a request in which anything before its reasoning"),
        ({"sessions_bound": 1, "sessions": 2}, "The models of 1 of them refuse"),
        ({}, "(120 requests to gpt-5.6-sol): no usage was reported; our model of the bill says $20.00"),
        (
            {"paid": PAID},
            "the provider reported $18.00 of input, $25.00 with output at the list prices (2026-11-16); our model",
        ),
        ({"paid": PAID, "sessions": 3}, "$25.00 with output in 1 of them at the list prices"),
        ({"paid": PAID, "sessions_edited": 1}, "Redline saved $3.00 of it, net, by what was reported."),
        ({"paid": PAID, "sessions_edited": 1, "sessions": 2}, "Redline in 1 of them saved $3.00 of it, net"),
        ({"paid": LOSS, "sessions_edited": 1}, "Redline cost $0.5000 of it, net, by what was reported."),
        ({"paid": DRY}, "In a dry run Redline would have saved $2.00, net, by what was reported."),
        ({"sessions_thinned": 1}, "It ran behind Redline, or another program that leaves things out"),
        ({"sessions_thinned": 2, "sessions": 3}, "2 of them ran behind Redline"),
        ({"caches": ("5 minutes", "1 hour")}, "with a cache of 5 minutes and 1 hour"),
    ],
)
def test_each_case_has_its_words(changes, said):
    """No figure that is not known, no policy that does not pay."""
    assert said in advice_text(dataclasses.replace(ADVICE, **changes))


def test_what_the_provider_does_is_a_part_of_its_request(capsys):
    """There is no command and no file for it."""
    cleared = figures("clear_tool_uses", 15.0, 16.0, 0.05)
    show_advice(dataclasses.replace(ADVICE, policy="clear_tool_uses", weighed=(cleared,)))
    shown = capsys.readouterr().out
    assert "The provider does it if the request says:" in shown
    assert "clear_tool_uses_20250919" in shown
    assert "redline proxy" not in shown
    assert "redline.toml" not in shown


@pytest.mark.parametrize("policy", [None, "balanced"])
def test_numbers_of_every_size_fit_the_terminal(capsys, monkeypatch, policy):
    """A bill in tokens of a year of sessions, and the longest names."""
    monkeypatch.setenv("COLUMNS", "80")
    large = figures("clear_tool_uses_min_gain", 12_345_678_901.0, 12_345_678_901.0, 0.05)
    show_advice(dataclasses.replace(ADVICE, policy=policy, unit="tokens", weighed=(*ADVICE.weighed, large)))
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


POLICIES = ("none", "documents", "careful")


def comparison(rules, count=1):
    made = Comparison()
    for _ in range(count):
        made.add(compare(long_session(), rules, POLICIES))
    return made


def test_each_file_has_a_line(capsys):
    """One heading, then a line for each file with its ratios and requests; one without requests has none."""
    outcome = compare(long_session(), {"rule": RULE}, POLICIES)
    files = {"sessions/a.jsonl": [outcome], "empty.jsonl": [], "b.jsonl": [outcome, outcome]}
    show_files(files, POLICIES, "rule")
    _, title, headings, *lines = capsys.readouterr().out.splitlines()
    ratio = outcome.outcomes["rule"]["careful"].cost / outcome.outcomes["rule"]["none"].cost
    assert title.endswith("file by file, at rule")
    assert headings == "careful requests session"
    assert [line.split() for line in lines] == [[f"{ratio:.3f}", "41", "a.jsonl"], [f"{ratio:.3f}", "82", "b.jsonl"]]


def test_policies_named_are_the_ones_told(capsys):
    """Where none of them is a preset that may be advised, the first that do something."""
    outcome = compare(long_session(), {"rule": RULE}, ("documents",))
    show_files({"a.jsonl": [outcome]}, ("none", "documents"), "rule")
    assert "documents requests session" in capsys.readouterr().out


def test_no_file_with_requests_no_heading(capsys):
    """A heading without a line says nothing."""
    show_files({"empty.jsonl": []}, POLICIES, "rule")
    assert capsys.readouterr().out == ""


def test_savings_are_told_against_what(monkeypatch, capsys):
    """The page says what 1.000 is, in tokens and where the price is known in dollars, and that rewriting is in it."""
    monkeypatch.setenv("COLUMNS", "80")
    made = comparison({"rule": RULE})
    show_comparison(made, POLICIES, {"rule": 2.0})
    shown = capsys.readouterr().out
    cost = made.as_json()["prices"]["rule"]["policies"]["none"]["cost"]
    assert f"1.000 is sending everything (`none`): {cost:,.0f} uncached input tokens (${2 * cost / 1e6:,.2f})." in shown
    assert "written to the cache again" in shown
    assert "rereads" in shown


def test_both_risks_and_the_kinds_of_tools_are_told(monkeypatch, capsys):
    """By strikes and by requests, as counted by hand; by kind for the presets and masking, in eighty columns.

    The cache is cold before each request, so that `when_free` strikes at once.
    """
    monkeypatch.setenv("COLUMNS", "80")
    policies, made = ("none", "masking", "documents", "bold"), Comparison()
    for _ in range(2):
        made.add(compare(used_later(every_ms=600_000.0), {"rule": RULE}, policies))
    show_comparison(made, policies, {})
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines]
    assert ["masking", "0", "10", "20.0%", "5.9%", "40.0%", "11.8%", "0", "0"] in rows
    assert [row for row in rows if row[:1] == ["masking:"]] == [
        ["masking:", "terminal", "6", "0.0%", "33.3%"],
        ["masking:", "file", "read", "2", "100.0%", "100.0%"],
        ["masking:", "search", "2", "0.0%", "0.0%"],
    ]
    assert not [line for line in lines if line.startswith("documents:")]
    assert max(map(len, lines)) <= 80


def test_the_presets_are_told_file_by_file(capsys):
    """Where they are compared, whatever else is."""
    policies = ("none", "masking", "careful", "bold")
    show_files({"a.jsonl": [compare(long_session(), {"rule": RULE}, policies)]}, policies, "rule")
    assert "careful bold requests session" in capsys.readouterr().out


@pytest.mark.parametrize(("count", "is_there"), [(1, False), (2, True)])
def test_columns_about_many_sessions_need_many(capsys, count, is_there):
    """How many sessions get dearer is not told of a single one."""
    show_comparison(comparison({"rule": RULE}, count), POLICIES, {})
    shown = capsys.readouterr().out
    assert ("dearer" in shown) is is_there
    assert ("2 sessions)" if is_there else "1 session)") in shown


def test_six_prices_fit_on_eighty_columns(monkeypatch, capsys):
    """No line is wider, and every price rule has its column."""
    monkeypatch.setenv("COLUMNS", "80")
    show_comparison(comparison(PRICE_RULES), POLICIES, {})
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[2].split() == [rule.rpartition("/")[0] for rule in PRICE_RULES]


PLACE = UsedPlace(
    message=12,
    at=("content", 0),
    tool="Read",
    kind="file read",
    first_words="import os",
    struck_in=9,
    used_in=14,
    measure="strict",
    words="parse_config",
)


def test_each_use_has_three_lines(capsys, monkeypatch):
    """What was struck and when, who used it, the words; before them how many there are."""
    monkeypatch.setenv("COLUMNS", "80")
    show_places(PolicyPlaces("bold", 1200, (PLACE,)))
    assert capsys.readouterr().out.splitlines()[1:] == [
        "Struck by `bold`, and used later",
        "Of 1,200 parts struck, 0 were quoted or read again, 1 used by the strict",
        "measure.",
        "",
        "Request 14 used what was struck in request 9 (strict):",
        "  struck  message 12, Read, file read: import os",
        "  used    parse_config",
    ]


@pytest.mark.parametrize("width", [60, 80])
def test_lines_fit_and_cannot_command_the_terminal(capsys, monkeypatch, width):
    """Text of sessions is cut to the width, and what a terminal would obey is shown instead."""
    monkeypatch.setenv("COLUMNS", str(width))
    hostile = "\x1b[2J\x1b]0;owned\x07\n" + "漢字" * 60
    place = UsedPlace(10**6, None, hostile, "other", hostile, 10**6, 10**6, "quoted", hostile)
    show_places(PolicyPlaces("clear_tool_uses_min_gain", 10**6, (place,)))
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert max(map(width_of, shown.splitlines())) <= width
    assert len(shown.splitlines()) >= 7
