import pytest

from redline.agents.launching.run_summary import RunTotals

STATUS = {
    "mode": "edit",
    "projects": {
        "mine": {
            "requests": 12,
            "sent_tokens": 200_000,
            "read_tokens": 150_000,
            "output_tokens": 4_000,
            "struck_tokens": 30_000,
            "repairs": 1,
            "cost_usd": 3.0,
            "saved_usd": 1.0,
            "would_save_usd": 0.25,
            "would_strike_tokens": 20_000,
            "would_repair": 2,
        },
        "other": {"requests": 99},
    },
}


def test_the_last_lines_are_those_of_this_run():
    """What was there before it, and what other projects sent, is left out."""
    before = RunTotals(requests=2, sent_tokens=100_000, read_tokens=100_000)
    assert RunTotals.of(STATUS, "mine").since(before).lines() == [
        "10 requests, 100,000 tokens sent, 50% from cache, 4,000 answered",
        "30,000 tokens struck, 1 repairs made",
        "paid $3.0000 at list prices",
        "saved $1.0000 net (25.0%)",
    ]


def test_a_dry_run_says_what_would_have_been():
    """Of what was paid, which was the whole price."""
    lines = RunTotals.of({**STATUS, "mode": "dry-run"}, "mine").lines()
    assert lines[1:] == [
        "would have struck 20,000 tokens and made 2 repairs",
        "paid $3.0000 at list prices",
        "would have saved $0.2500 net (8.3%)",
    ]


def test_folded_tokens_are_told_apart():
    """From those that are struck; a run that only folds has changed something, too."""
    folded = RunTotals(requests=3, sent_tokens=9_000, folded_tokens=1_234, cost_usd=1.0, saved_usd=0.25)
    assert folded.lines()[1:] == [
        "1,234 tokens folded, 0 struck, 0 repairs made",
        "paid $1.0000 at list prices",
        "saved $0.2500 net (20.0%)",
    ]
    held = {"requests": 3, "sent_tokens": 9, "would_fold_tokens": 70, "would_strike_tokens": 30}
    dry = RunTotals.of({"mode": "dry-run", "projects": {"mine": held}}, "mine")
    assert dry.lines()[1] == "would have folded 70 tokens, struck 30 tokens and made 0 repairs"
    watched = RunTotals.of({"projects": {"mine": {**held, "untouched": {"a subscription pays for it (x)": 3}}}}, "mine")
    assert "(would have folded or struck 100 tokens)" in watched.lines()[1]


def test_a_loss_is_called_a_loss():
    """No minus sign that could be overlooked."""
    assert RunTotals(requests=1, cost_usd=3.0, saved_usd=-1.0).lines()[-1].endswith("cost more, by $1.0000 net (50.0%)")


def test_a_status_may_lack_anything():
    """An older or newer proxy says less; then less is said, and a run without requests points to the doctor."""
    assert RunTotals.of({"projects": {"mine": {"requests": 1, "cost_usd": None}}}, "mine").lines() == [
        "1 requests, 0 tokens sent, 0 answered",
        "nothing was struck: no request asked a model with a history",
    ]
    for status in ({}, {"projects": []}, {"projects": {"mine": 1}}):
        assert "redline doctor" in RunTotals.of(status, "mine").lines()[0]


@pytest.mark.parametrize(
    ("sums", "words"),
    [
        ({}, "nothing was struck: nothing in these requests was old or superseded enough"),
        ({"untouched": {"a subscription pays for it (x)": 3}}, "3 requests were only observed: a subscription pays for them."),
        ({"untouched": {"the store cannot be used": 1}}, "1 request was sent unchanged because the store could not be used"),
        ({"retreats": 2}, "2 requests were edited too slowly, and sent with earlier strikes alone"),
        ({"unreachable": {"(DNS)": 2}, "errors": {"502": 2}}, "2 requests were not answered: (DNS)"),
        ({"errors": {"401": 4}}, "4 requests were answered 401: the provider does not take the key or login"),
        ({"errors": {"503": 4}}, "4 requests were answered 503: the provider failed"),
    ],
)
def test_nothing_struck_is_told_with_its_reason(sums, words):
    """R169: no "0 tokens struck, saved $0.0000" without why: a line each, in plain words."""
    lines = RunTotals.of({"projects": {"mine": {"requests": 5, "sent_tokens": 9, "cost_usd": 1.0, **sums}}}, "mine").lines()
    assert lines[1] == "paid $1.0000 at list prices"
    (reason,) = lines[2:]
    assert reason.startswith(words)
    assert "saved" not in " ".join(lines)


def test_a_store_that_cannot_be_used_is_told_at_the_end():
    """R169: with the store's own words, also where no request came."""
    for sums in ({}, {"requests": 2}):
        lines = RunTotals.of({"store_problem": "No space left", "projects": {"mine": sums}}, "mine").lines()
        assert any("the store cannot be used" in line and "No space left" in line for line in lines)


@pytest.mark.parametrize("is_dry_run", [True, False])
def test_would_save_and_saved_are_not_confused(is_dry_run):
    """R169: what would have been struck from requests that were only observed is never told as struck or saved."""
    sums = {
        "requests": 9,
        "sent_tokens": 9,
        "cost_usd": 1.0,
        "would_strike_tokens": 700,
        "would_save_usd": 0.5,
        "untouched": {"a subscription pays for it (x)": 9},
    }
    said = "\n".join(RunTotals.of({"mode": "dry-run" if is_dry_run else "edit", "projects": {"mine": sums}}, "mine").lines())
    assert "struck 700 tokens" in said
    assert "tokens struck" not in said
    assert "\nsaved" not in said


LOST = {"kind": "system", "place": "system block 2, line 14", "what": "the date", "by": "client", "count": 41}
LOST |= {"lost_tokens": 1_200_000, "lost_usd": 3.1, "says": "system block 2, line 14 changed: the date"}


def test_the_last_line_says_what_to_look_at_first():
    """The most expensive loss of the cache that the user can do something about, where it matters; else all requests."""
    totals = RunTotals.of({**STATUS, "cache_breaks": {"mine": [{**LOST, "by": "redline", "lost_usd": 9.0}, LOST]}}, "mine")
    assert totals.look_first() == "look at redline cache: $3.10 lost to system block 2, line 14: the date"
    assert totals.since(totals).look_first("/x").startswith("look at redline serve /x: every request")
    small = RunTotals.of({**STATUS, "cache_breaks": {"mine": [{**LOST, "lost_usd": 0.1}]}}, "mine")
    assert "redline serve" in small.look_first()
    unpriced = RunTotals.of({**STATUS, "cache_breaks": {"mine": [{**LOST, "lost_usd": None}]}}, "mine")
    assert "1,200,000 tokens lost to system block 2" in unpriced.look_first()
    for line in (totals.look_first(), unpriced.look_first()):
        assert len(f"redline: {line}") <= 80


def test_limits_on_dollars_are_told_at_the_end():
    """The line that was logged when a session passed its limit."""
    status = {**STATUS, "spending": {"notes": {"mine": ["session s has cost $5.20: more than $5.00 (--warn-usd)"]}}}
    assert "session s has cost $5.20: more than $5.00 (--warn-usd)" in RunTotals.of(status, "mine").lines()


def test_a_long_day_fits_eighty_columns():
    """With what stands before each line."""
    totals = {"requests": 812, "sent_tokens": 94_812_345, "read_tokens": 9e7, "output_tokens": 812_345, "struck_tokens": 8e6}
    for is_dry_run in (False, True):
        lines = RunTotals(**totals, repairs=112, cost_usd=812.3456, saved_usd=99.1234, is_dry_run=is_dry_run).lines()
        assert max(len(f"redline: {line}") for line in [*lines, *RunTotals().lines()]) <= 80
