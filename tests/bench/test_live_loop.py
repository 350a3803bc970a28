"""What a conversation sends costs what the replay says."""

import pytest

from bench.live_loop import live_cost, replayed_cost, without_usage
from redline import Policy
from redline.policy.policy import find_policy
from redline.policy.presets import PRESETS
from redline.sessions.replay.simulated_run import SessionReplay
from tests.sessions.replay.test_under_policy import generated


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "documents"])
@pytest.mark.parametrize("is_compacted", [False, True])
def test_live_and_replayed_bills_agree(name, is_compacted):
    """Billed by the bytes that are sent, it costs up to 1.5 % more: a strike is reckoned without the few tokens that stay
    around its words. And the preset saves something."""
    history = without_usage(generated(3, is_compacted=is_compacted))
    policy = find_policy(name)
    live = live_cost(history, policy)
    assert 0.0 <= live / replayed_cost(SessionReplay(history), policy) - 1 <= 0.015
    assert live < live_cost(history, Policy(rules=()))
