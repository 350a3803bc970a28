"""The paragraph that `redline replay` begins with."""

import dataclasses

import pytest

from redline.cli.replay_advice import advice_text, show_advice
from redline.replay.advice import Advice

ADVICE = Advice(
    policy="masking_when_free",
    agents=("codex",),
    models=("gpt-5.6-sol",),
    sessions=1,
    requests=120,
    priced_as=("gpt-5.6-sol",),
    unit="dollars",
    cost=20.0,
    cost_with_policy=15.0,
    cost_with_rereads=16.0,
    strikes=200,
    strikes_used_later=4,
    sessions_bound=0,
    price_date="2026-11-16",
    assumed=(),
)


def test_it_says_cost_saving_risk_and_how(capsys, monkeypatch):
    """In this order, within eighty columns, and the code apart so that it can be copied (R41)."""
    monkeypatch.setenv("COLUMNS", "80")
    show_advice(ADVICE)
    shown = capsys.readouterr().out
    text = " ".join(shown.split())
    parts = [
        "cost $20.00 of input at the list prices (2026-11-16)",
        "it would have cost $15.00, 25 % less",
        "4 (2 %)",
        "$16.00, 20 % less",
    ]
    assert [part in text for part in parts] == [True] * 4
    assert sorted(parts, key=text.index) == parts
    assert '    conversation = redline.open(\n        "chat.jsonl",\n        model="gpt-5.6-sol",\n' in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"policy": None, "cost_with_policy": 20.0}, "there is nothing to switch on"),
        ({"strikes_used_later": 0}, "Risk: none seen"),
        ({"unit": "tokens"}, "as much as 20 uncached tokens"),
        ({"sessions": 3}, "These 3 sessions of codex"),
        ({"models": ("gpt-5.5",)}, "at the list prices of gpt-5.6-sol"),
        ({"cost": 0.0123}, "$0.0123"),
        ({"sessions_bound": 1, "policy": None}, "gpt-5.6-sol refuses a request in which anything before its reasoning"),
        ({"sessions_bound": 1, "sessions": 2}, "The models of 1 of them refuse"),
        ({"policy": "clear_tool_uses"}, "The provider does it if the request says:"),
    ],
)
def test_each_case_has_its_words(changes, said):
    """No figure that is not known, no policy that does not pay."""
    assert said in advice_text(dataclasses.replace(ADVICE, **changes))
