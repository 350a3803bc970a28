"""A past session played back: sizes, money and strikes of its requests."""

import pytest

from redline import Editor, Policy
from redline.policy.policy import find_policy
from redline.prices import find_price
from redline.record.reading import read_log_file
from redline.sessions.playback import Player
from redline.sessions.replay.history import history_of_log
from redline.testing import asks, conversation, says
from redline.tokens import Estimate, Remembered

MODEL, SCALE, BESIDE = "claude-opus-4-6", 1.5, 4_000
COUNTER = Remembered(Estimate())


def edited_run(folder, *, schedule="eager", observed=""):
    """An agent behind an Editor, before a provider that counts half as many tokens again, caches, and has tools besides; the
    player, what was reported and what each bill came to."""
    turns = [says("user", "go")]
    for number in range(14):
        turns += asks("Read", {"file_path": "/p/a.py"}, f"line {number} of the file\n" * 120, id=f"t{number}")
    native = conversation("anthropic", [*turns, says("assistant", "done")])
    policy = Policy(rules=["historical_reads"], schedule=schedule, strategy="answer")
    reported, saved, before = [], [], 0
    with Editor(folder, policy=policy, counter=COUNTER) as editor:
        for end in range(1, len(native), 2):
            request = editor.edit(native[:end], session="s", model=MODEL, now=20_000.0 * end)
            stats = request.stats
            tokens = BESIDE + round(SCALE * (stats.tokens_before if observed else stats.tokens_after))
            read = min(before, tokens) if observed or not request.new_strikes else BESIDE
            usage = {"input_tokens": 0, "cache_read_input_tokens": read, "cache_creation_input_tokens": tokens - read}
            editor.report(request, {**usage, "output_tokens": 5})
            reported.append(tokens)
            history = history_of_log(read_log_file(next(folder.glob("*.jsonl"))))
            bill = request.bill.settle(history.requests[-1].usage, find_price(MODEL), is_dry_run=bool(observed))
            saved.append(bill)
            before = tokens
    history = history_of_log(read_log_file(next(folder.glob("*.jsonl"))), observed=observed)
    return Player(history), reported, saved


@pytest.mark.parametrize("observed", ["", "it was only observed"])
def test_money_is_what_the_run_itself_said(tmp_path, observed):
    """Paid and saved, of each request and of all, are those of the bills that were settled while it ran (R111)."""
    player, _, bills = edited_run(tmp_path, observed=observed)
    played = player.play()
    assert [played.cost_of(number) for number in range(len(bills))] == bills
    assert played.paid.usd == pytest.approx(sum(bill.paid for bill in bills))
    assert played.saved_usd == pytest.approx(sum(bill.saved for bill in bills))
    assert (played.is_would, played.is_hypothetical) == (bool(observed), False)
    assert played.strikes
    assert sum(map(played.saved_by, played.strikes)) == pytest.approx(played.saved_usd)


@pytest.mark.parametrize("observed", ["", "it was only observed"])
def test_a_request_is_as_large_as_the_provider_said(tmp_path, observed):
    """As it was sent: with its strikes, or, where it was only observed, without them (R111)."""
    player, reported, _ = edited_run(tmp_path, observed=observed)
    played = player.play()
    sent = [size.sent + (size.saved.total if observed else 0) for size in played.sizes]
    assert sent == pytest.approx(reported, rel=0.03)
    assert [round(one.sent) for one in played.run.requests] == pytest.approx(
        [round(one.sent) for one in played.sizes], rel=0.01
    )


def test_sizes_of_messages_do_not_depend_on_what_was_struck(tmp_path):
    """A message does not shrink while the session grows (R111)."""
    struck, whole = edited_run(tmp_path / "a")[0], edited_run(tmp_path / "b", observed="it was only observed")[0]
    assert struck.sizes.tokens == pytest.approx(whole.sizes.tokens, rel=0.02)


def test_a_policy_says_what_it_would_have_saved(tmp_path):
    """By the model of the bill, beside sending everything, whatever was reported."""
    player, *_ = edited_run(tmp_path)
    played = player.play_with(find_policy("documents"), "documents")
    assert (played.is_hypothetical, played.is_would, played.name) == (True, True, "documents")
    modelled = player.all_sent.cost - played.run.cost
    assert played.saved_usd == pytest.approx(modelled * find_price(MODEL).input / 1e6)
