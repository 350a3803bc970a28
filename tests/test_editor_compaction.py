"""Lists that outgrow the window, in the Editor: an outline in place of their beginning, stable, recorded, and undone."""

import pytest

import redline
from redline import FORMATS
from redline.testing import conversation, says
from tests.conversation.test_compacting import SMALL, exchanges

POLICY = redline.Policy(rules=(), strategy="answer", observations="auto")
STORES = ("memory", "folder", "sqlite")


def editor(kind, folder, **settings):
    place = {"memory": None, "folder": folder / "logs", "sqlite": f"sqlite:///{folder / 'e.db'}"}[kind]
    return redline.Editor(place, policy=POLICY, clock=lambda: 0.0, **settings)


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("format", sorted(FORMATS))
def test_a_list_that_outgrows_the_window_goes_on_with_an_outline(format, kind, tmp_path):
    """Legal always; after each compaction every request begins as the one before; a restart sends the same."""
    whole, before, compacted = exchanges(format, 30), b"", 0
    step = 1 if len(conversation(format, [says("user", "x")])) == 1 else 2
    with editor(kind, tmp_path, compact_at=0.6) as one:
        for end in range(1, len(whole) + 1, step):
            if redline.check(whole[:end], format=format):
                continue
            made = one.edit(whole[:end], model=SMALL, format=format, session="s")
            assert redline.check(made.messages, format=format) == []
            assert len(made.positions) == len(made.messages)
            for position, message in zip(made.positions, made.messages, strict=True):
                assert position is None or whole[position] == message
            compacted += not made.body.startswith(before[:-1])
            before = made.body
        assert made.compacted is not None
        assert 1 <= compacted <= 4, "each rewrites what is sent, and then it stays"
        assert made.messages[0] != whole[0]
        assert one.recall("0#0.0", request=made) == "Read them all."
        assert one.recorded(whole[:end], format=format, session="s").body == made.body
    if kind != "memory":
        with editor(kind, tmp_path, compact_at=0.6) as again:
            assert again.edit(whole[:end], model=SMALL, format=format, session="s").body == made.body
            log = again.address_of(made)
        with redline.open(log) as talk:
            assert talk.origin
            assert talk.recall("0#0.0") == "Read them all."


@pytest.mark.parametrize("kind", STORES)
def test_undone_it_is_sent_whole_again(kind, tmp_path):
    """And stays whole, in another process too; without the flag nothing is ever compacted."""
    whole = exchanges("anthropic", 30)
    with editor(kind, tmp_path, compact_at=0.6) as one:
        made = one.edit(whole, model=SMALL)
        assert made.compacted is not None
        one.undo_compaction(made)
        after = one.edit(whole, model=SMALL)
        assert after.messages == whole
        with pytest.raises(redline.ExecutionError, match="Nothing is compacted"):
            one.undo_compaction(after)
        assert one.edit(whole, model=SMALL).messages == whole
    with editor(kind, tmp_path / "other") as plain:
        assert plain.edit(whole, model=SMALL).messages == whole


def test_a_list_that_turns_off_before_the_cut_is_whole():
    """The outline stands for what the list began with, and for nothing else."""
    whole = exchanges("anthropic", 30)
    with redline.Editor(policy=POLICY, clock=lambda: 0.0, compact_at=0.6) as one:
        assert one.edit(whole, model=SMALL).compacted is not None
        other = [*whole[:3], *conversation("anthropic", [says("user", "something else")])]
        assert one.edit(other, model=SMALL).messages == other


def test_a_wrong_share_is_refused():
    """At the door."""
    with pytest.raises(redline.ValidationError, match="compact_at"):
        redline.Editor(compact_at=7)
