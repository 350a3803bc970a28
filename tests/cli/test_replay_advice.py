"""The paragraph that `redline replay` begins with."""

import dataclasses

import pytest

from redline.cli.replay_advice import advice_text, show_advice
from redline.replay.advice import Advice, PaidBill, PolicyFigures


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
        "of 200 parts struck, 4 (2.0 %) were quoted",
        "13 % held words that were used later, in 3.4 % of the requests",
        "$16.00, 20 % less",
        "balanced * $15.00 0.750 0.800 200 2.0% 1.1% 13.0% 3.4%",
        "bold $14.00 0.700 0.775 200 2.0% 1.1% 13.0% 8.1%",
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
        ({"paid": PAID, "sessions_edited": 1}, "Redline's strikes saved $3.00 of it, net, by what was reported."),
        ({"paid": PAID, "sessions_edited": 1, "sessions": 2}, "Redline's strikes in 1 of them saved $3.00 of it, net"),
        ({"paid": LOSS, "sessions_edited": 1}, "Redline's strikes cost $0.5000 of it, net, by what was reported."),
        ({"paid": DRY}, "In a dry run strikes would have saved $2.00, net, by what was reported."),
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
