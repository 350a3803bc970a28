"""One table of presets: each name means one policy, whoever is told it."""

from typing import get_args

import pytest

import redline
from redline import Conversation, Editor, Policy, RedlineTransport
from redline.policy.policy import find_policy
from redline.policy.presets import DEFAULT_PRESET, PRESETS, PresetName
from redline.policy.settings import SETTINGS


def test_type_checkers_know_the_names():
    """A preset is added in one file: its row, and its name for type checkers; the help of `--policy` names it by itself."""
    assert get_args(PresetName) == (*PRESETS, "default")
    assert SETTINGS["proxy.policy"].help.startswith(", ".join(PRESETS))


@pytest.mark.parametrize("name", get_args(PresetName))
def test_every_name_is_taken_wherever_a_policy_is(name, tmp_path):
    """R145: what `redline proxy --policy` takes, a conversation, an Editor, a log and a transport take too."""
    policy = Policy.named(name)
    with redline.open(tmp_path / "chat.jsonl", policy=name) as log:
        assert log.policy == Conversation(policy=name).policy == Editor(policy=name).policy == policy
    with RedlineTransport(policy=name) as transport:
        assert isinstance(transport, RedlineTransport)
    assert (find_policy(name).rules, find_policy(name).words) == (policy.rules, redline.EN)
    assert Policy.of_table({"preset": name}) == policy


def test_the_default_is_a_preset():
    """`default` is another name of it."""
    assert Policy.named("default") == Policy.named(DEFAULT_PRESET)
