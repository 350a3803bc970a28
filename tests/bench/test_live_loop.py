"""What a conversation sends costs what the replay says."""

from dataclasses import replace

import pytest

from bench.live_loop import live_cost, replayed_cost
from redline import Policy
from redline.replay.what_if import WhatIf
from redline.rules.presets import PRESET_RULES
from redline.tokens import Estimate, Remembered, count_message
from tests.replay.test_what_if import generated


@pytest.mark.parametrize("name", PRESET_RULES)
@pytest.mark.parametrize("is_compacted", [False, True])
def test_live_and_replayed_bills_agree(name, is_compacted):
    """Billed by the bytes that are sent, within a thousandth; and the preset saves something."""
    made, counter = generated(3, is_compacted=is_compacted), Remembered(Estimate())
    sizes = tuple(float(count_message(message, counter).total) for message in made.messages)
    session = replace(made, tokens=sizes, prefix_tokens=0.0, scale=1.0)
    policy, nothing = Policy.named(name), Policy(rules=())
    live = live_cost(session, policy)
    assert live == pytest.approx(replayed_cost(WhatIf(session, counter), policy), rel=1e-3)
    assert live < live_cost(session, nothing)
