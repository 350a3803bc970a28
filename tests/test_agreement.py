"""One question has one answer: strikes, tokens, money and risks are the same wherever a session is looked at."""

import json
import random
from contextlib import redirect_stdout
from io import StringIO
from itertools import islice

import msgspec
import pytest

import redline
from redline import cli
from redline.inspector.policy_answers import what_if
from redline.policy.policy import as_replayed, find_policy
from redline.policy.presets import PRESETS
from redline.prices import PRICE_RULES, Price
from redline.prices.find import price_of
from redline.record.records import MessageAdded, PinSet, RolledBack, SavedTokens, ViewChanged
from redline.sessions.catalog.session_files import find_sessions
from redline.sessions.playback import Player
from redline.sessions.read_session import read_session
from redline.sessions.replay.comparison import compare
from redline.sessions.replay.paid import own_prices
from redline.sessions.replay.simulated_run import SessionReplay
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.effort import some_of
from tests.inspector.claude_code import START, call, result
from tests.inspector.support import inspector

RULES = dict(PRICE_RULES)
MODELS = ("claude-sonnet-4-5", "claude-opus-4-6", "gpt-5.6-sol", None)


# --- sessions


def write_generated(path, seed):
    """A session of Claude Code: reads, commands, edits, failures, pauses, compactions, some model, usage or none."""
    chance = random.Random(seed)
    lines, at, seconds, said = [], 0, START, 0
    model, has_usage = chance.choice(MODELS), chance.random() < 0.6
    cached = 0

    def add(role, content, **more):
        nonlocal at, seconds
        seconds += chance.choice((2, 9, 40)) if chance.random() < 0.93 else chance.choice((400, 4_000))
        message = {"role": role, "content": content}
        if role == "assistant":
            message |= {"id": f"m{at}", **({"model": model} if model else {}), **more.pop("told", {})}
        record = {
            "type": role,
            "uuid": f"u{at}",
            "parentUuid": f"u{at - 1}" if at else None,
            "sessionId": "s",
            "cwd": "/srv/app",
            "timestamp": seconds_text(seconds),
            "message": message,
        }
        lines.append(json.dumps({**record, **more}))
        at += 1

    add("user", "Please mend the parser of dates in src/dates_3.py")
    for number in range(chance.randint(4, 70)):
        if chance.random() < 0.03:
            boundary = {"type": "system", "subtype": "compact_boundary", "parentUuid": None, "logicalParentUuid": f"u{at - 1}"}
            add("user", "Compacted", **boundary)
            add("user", "What was done so far: a summary.", isCompactSummary=True)
            said = cached = 0
        name = f"src/file_{chance.randint(0, 6)}.py"
        size = chance.choice((3, 20, 150, 600))
        tool, arguments, words = chance.choice(
            (
                ("Read", {"file_path": f"/srv/app/{name}"}, "".join(f"{n}\tvalue_{n} = {name}\n" for n in range(size))),
                ("Bash", {"command": f"pytest -k part_{number}"}, f"part_{number} ok\n" * size),
                ("Grep", {"pattern": f"value_{number}"}, f"{name}:{number}: value_{number}\n" * size),
                (
                    "Edit",
                    {"file_path": f"/srv/app/{name}", "old_string": "a", "new_string": "b" * 500},
                    "The file was changed.",
                ),
                ("Bash", {"command": "make"}, "Error: no rule to make target\n"),
            )
        )
        tokens = 4_000 + said // 3
        usage = {"input_tokens": 7, "cache_read_input_tokens": cached, "cache_creation_input_tokens": tokens - cached}
        add(
            "assistant",
            call(f"c{number}", tool, arguments),
            told={"usage": {**usage, "output_tokens": 40}} if has_usage else {},
        )
        add("user", result(f"c{number}", words))
        said, cached = said + len(words) + 300, tokens
        if chance.random() < 0.15:
            add("assistant", [{"type": "text", "text": f"value_{chance.randint(0, 20)} is in {name}, I take it from there."}])
            add("user", "Go on, please.")
    add("assistant", [{"type": "text", "text": "It is done."}])
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def seconds_text(seconds):
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).isoformat()


def histories(path):
    """The conversations of a session in which a model was asked."""
    (source,) = find_sessions([str(path)])
    return [one for one in read_session(source).histories() if one.requests]


# --- the engine, live


class CounterOfBoth:
    """Counts as the replay does, and what is sent before the messages as large as it was."""

    def __init__(self, counter, prefix):
        self._counter, self._prefix, self.name = counter, prefix, "as the replay counts"

    def count(self, text):
        return self._prefix if text == '"before"' else self._counter.count(text)


def live_strikes(session, policy, rule, price):
    """What a conversation strikes that is told what was said, and asked wherever a request was made; and what it booked."""
    history, sizes = session.history, session.sizes
    talk = redline.Conversation(
        policy=policy,
        format=history.format,
        counter=CounterOfBoth(sizes.counter, round(sizes.prefix)),
        project_root=history.project_root,
        blobs=redline.blobs.MemoryBlobs(),
    )
    position, found, ends = 0, {}, {}
    for request in history.requests:
        for record in history.records[position : request.at]:
            follow(talk, record)
        position = request.at
        made = talk.request(now=request.time_ms, model=priced(request.model, rule, price), preamble="before")
        ends |= {lifted.strike.number: request.number for lifted in made.lifted}
        found |= {one.number: (request.number, *spot(one)) for one in made.new_strikes}
    return [(*struck, ends.get(number)) for number, struck in found.items()], talk


def follow(talk, record):
    """A record; what an agent's compaction leaves, no operation does."""
    match record:
        case MessageAdded(payload, time_ms):
            talk.add(payload, timestamp_ms=time_ms)
        case ViewChanged() | RolledBack() | PinSet():
            talk._engine.commit([record])


def priced(model, rule, price):
    """A model that costs what the rule says."""
    known = price_of(model)
    return Price(
        model=model or "m",
        input=1.0,
        output=5.0,
        cache_read=rule.read,
        cache_write=rule.write,
        lifetime_minutes=rule.lifetime_ms / 60_000,
        min_cached_tokens=rule.min_cached_tokens,
        tiers=rule.tiers,
        window_tokens=price.window_tokens if price is not None else None,
        binds_reasoning=known is not None and known.binds_reasoning,
    )


def spot(strike):
    return strike.index, strike.at, strike.rule, strike.tokens_before, strike.tokens_after


def replayed_strikes(replayed):
    return [(one.first, *spot(one), one.end) for one in replayed.strikes]


def check_live(history, names, rules):
    """The replay and a live conversation strike the same parts in the same requests, and reckon the same."""
    session = SessionReplay(history)
    _, price = own_prices(history)
    for rule in rules:
        for name in names:
            replayed = session.under(find_policy(name), rule, price)
            struck, talk = live_strikes(session, find_policy(name), rule, price)
            assert replayed_strikes(replayed) == struck, (name, rule)
            check_ledger(session, replayed, talk, rule)


def check_ledger(session, replayed, talk, rule):
    """What the schedule booked for the first view is what the replay charges for it."""
    requests = session.history.requests
    entry = talk._engine.state.requests.ledger
    if entry is None or rule.tiers or rule.min_cached_tokens or any(one.is_new_view for one in requests[1:]):
        return
    if len({one.model for one in requests}) > 1 or any(strike.end for strike in replayed.strikes):
        return
    whole = sum(one.cost for one in session.unstruck(rule).charges)
    assert entry.bill == pytest.approx(whole, rel=1e-9)
    assert entry.saved == pytest.approx(whole - replayed.cost, rel=1e-6, abs=1e-6 * whole)


@pytest.mark.parametrize("seeds", [range(start, start + 25) for start in range(0, 200, 25)], ids=lambda seeds: str(seeds[0]))
def test_a_live_conversation_strikes_what_the_replay_says(tmp_path, seeds):
    """On generated sessions: each preset, each price rule (R110)."""
    for seed in some_of(seeds):
        chance = random.Random(seed)
        rules = chance.sample(list(RULES.values()), 2)
        for history in histories(write_generated(tmp_path / f"{seed}.jsonl", seed)):
            check_live(history, chance.sample(list(PRESETS), 3), rules)


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize("row", corpus_rows(), ids=lambda row: row["path"].replace("/", "-"))
def test_a_live_conversation_strikes_what_the_replay_says_of_recorded_sessions(row):
    """On every recorded session: the presets that are advised, at the prices of its model and at others (R110)."""
    for number, history in enumerate(islice(histories(corpus_path(row)), 5)):
        own, _ = own_prices(history)
        check_live(history, ("careful", "balanced", "bold") if number == 0 else ("bold",), [own])
        check_live(history, ("bold",), [RULES["0.1/1.25/5m"]])


# --- commands and page


def asked(command, *arguments):
    """What a command prints for programs, run in this process."""
    out = StringIO()
    with redirect_stdout(out):
        code = cli._load(command).main([str(one) for one in arguments], standalone_mode=False)
    assert code in (0, None)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def check_surfaces(path, names):
    """Every command and the page's what-if say the same of a session under a policy."""
    (source,) = find_sessions([str(path)])
    history = read_session(source).history()
    rule, price = own_prices(history)
    player = Player(history)
    unit = price.input / 1e6 if price is not None else 1.0
    for name in names:
        playback = player.play_with(as_replayed(find_policy(name)), name)
        outcome = compare(history, {"own": rule}, (name,), own=rule, price=price).outcomes["own"][name]
        kinds = [one.is_fold for one in playback.strikes]
        assert (kinds.count(False), kinds.count(True)) == (outcome.strikes, outcome.folds)
        assert outcome.saved == SavedTokens.of(playback.strikes)
        assert playback.run.cost == pytest.approx(outcome.cost)
        page = what_if(player, {"preset": name})
        assert (page["strikes"], page["folds"]) == (outcome.strikes, outcome.folds)
        assert page["cost"] == pytest.approx(outcome.cost * unit)
        assert (page["struck_tokens"], page["folded_tokens"]) == (outcome.saved.struck, outcome.saved.folded)
        assert page["quoted"] == {"strikes": outcome.strikes_at_risk, "requests": outcome.requests_at_risk}
        assert page["strict"] == {"strikes": outcome.strict_strikes, "requests": outcome.strict_requests}
        assert page["tokens"] == round(outcome.tokens)

        (explained,) = asked("explain", path, "--policy", name, "--json")
        rows = explained["rules"]
        assert sum(row["strikes"] for row in rows) == outcome.strikes
        assert sum(row["folds"] for row in rows) == outcome.folds
        assert sum(row["tokens"] for row in rows) == outcome.saved.total
        assert sum(row["tokens"] for row in rows if row["folds"]) == outcome.saved.folded
        if price is not None and rows and any(one.tokens_saved > 0 for one in playback.strikes):
            assert sum(row["saved_usd"] for row in rows) == pytest.approx(page["cost_without"] - page["cost"])

        shown = asked("show", path, "--policy", name, "--json")
        struck = {number for message in shown for part in message["parts"] for number in part["strikes"]}
        assert struck == {one.number for one in playback.strikes}
        folded = {number for message in shown for part in message["parts"] for number in part["folds"]}
        assert folded == {one.number for one in playback.strikes if one.is_fold}

        last = len(history.requests) - 1
        (compared,) = asked("diff", path, "--policies", "sent", name, "--request", last, "--json")
        assert compared["b"]["strikes"] == [one.number for one in playback.in_force(last)]
        assert compared["b"]["folds"] == [one.number for one in playback.in_force(last) if one.is_fold]
        saved = SavedTokens.of(playback.in_force(last))
        assert (compared["b"]["struck_tokens"], compared["b"]["folded_tokens"]) == (saved.struck, saved.folded)
        assert playback.run.requests[last].saved == saved.total
        assert compared["b"]["sent_tokens"] == round(playback.sizes[last].sent)
        assert playback.sizes[last].sent == pytest.approx(playback.run.requests[last].sent)


@pytest.mark.parametrize("seed", range(1000, 1012))
def test_commands_and_page_say_the_same_of_generated_sessions(tmp_path, seed):
    """Strikes, tokens, money and both risks: `replay`, what-if, `show`, `explain`, `diff` (R110, R114)."""
    check_surfaces(write_generated(tmp_path / "session.jsonl", seed), random.Random(seed).sample(list(PRESETS), 2))


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize("row", corpus_rows()[::4], ids=lambda row: row["path"].replace("/", "-"))
def test_commands_and_page_say_the_same_of_recorded_sessions(row):
    """Strikes, tokens, money and both risks: `replay`, what-if, `show`, `explain`, `diff` (R110, R114)."""
    path = corpus_path(row)
    (source,) = find_sessions([str(path)])
    if read_session(source).history().requests:
        check_surfaces(path, ("bold",))


def test_the_command_and_the_page_say_the_same(tmp_path):
    """`redline replay --json` and the inspector's API over HTTP, for each preset that is advised (R110, R114)."""
    for seed in range(3):
        write_generated(tmp_path / f"session{seed}.jsonl", 2000 + seed)
    with inspector(tmp_path, home=tmp_path) as running:
        for seed in range(3):
            path = tmp_path / f"session{seed}.jsonl"
            (told,) = asked("replay", path, "--json")
            weighed = {one["policy"]: one for one in told["advice"]["weighed"]}
            address = running.session(f"session{seed}")
            for name in ("folded", "careful", "balanced", "bold"):
                status, found = running.post(f"{address}/what-if", {"preset": name})
                assert status == 200, found
                for number in ("strikes", "folds", "struck_tokens", "folded_tokens"):
                    assert found[number] == weighed[name][number]
                assert found["cost"] == pytest.approx(weighed[name]["cost"])
                assert found["cost_with_rereads"] == pytest.approx(weighed[name]["cost_with_rereads"])
                requests = max(found["requests"], 1)
                assert found["strict"]["requests"] / requests == pytest.approx(weighed[name]["strict_requests"])
                assert found["quoted"]["requests"] / requests == pytest.approx(weighed[name]["risk_requests"])
                struck = running.get(f"{address}/strikes", policy=name)["strikes"]
                kinds = [one["is_fold"] for one in struck]
                assert (kinds.count(False), kinds.count(True)) == (weighed[name]["strikes"], weighed[name]["folds"])


def test_what_comes_out_of_a_policy_is_a_log_with_strikes(tmp_path):
    """A generated session walked by a stored conversation, then looked at as it was sent: the same strikes again."""
    (history, *_) = histories(write_generated(tmp_path / "agent.jsonl", 7))
    session, rule = SessionReplay(history), RULES["0.1/1.25/5m"]
    replayed = session.under(find_policy("bold"), rule)
    assert replayed.strikes
    with redline.open(
        tmp_path / "chat.jsonl",
        policy="bold",
        format=history.format,
        counter=CounterOfBoth(session.sizes.counter, round(session.sizes.prefix)),
        project_root=history.project_root,
    ) as talk:
        position = 0
        for request in history.requests:
            for record in history.records[position : request.at]:
                follow(talk, record)
            position = request.at
            talk.request(now=request.time_ms, model=priced(request.model, rule, None), preamble="before")
    (log,) = histories(tmp_path / "chat.jsonl")
    known = [(one.first, *spot(one), one.end) for one in log.strikes]
    assert known == replayed_strikes(replayed)
    assert [msgspec.structs.astuple(one)[2:4] for one in log.requests] == [
        msgspec.structs.astuple(one)[2:4] for one in history.requests
    ]


def test_the_cache_of_an_hour_has_its_own_price_everywhere(tmp_path):
    """R113, R116, R118: what was written for an hour costs twice input, in `sessions` as in `replay`, which names what was
    reported and what is modelled, says for which cache it holds, and what to type for the agent at hand."""
    path = write_generated(tmp_path / "session.jsonl", 4)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    usage = {"input_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 100_000, "output_tokens": 0}
    for line in lines:
        if line["type"] == "assistant":
            split = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 100_000}
            line["message"] |= {"model": "claude-sonnet-4-5", "usage": {**usage, "cache_creation": split}}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    price, requests = price_of("claude-sonnet-4-5"), len(histories(path)[0].requests)
    whole = requests * 100_000 * price.cache_write_1h / 1e6
    (row,) = asked("sessions", path, "--json")
    assert row["cost_usd"] == pytest.approx(whole)
    (told,) = asked("replay", path, "--json")
    assert (told["advice"]["paid"]["usd"], told["advice"]["caches"]) == (pytest.approx(whole), ["1 hour"])
    out = StringIO()
    with redirect_stdout(out):
        cli._load("replay").main([str(path)], standalone_mode=False)
    text = " ".join(out.getvalue().split())
    assert f"the provider reported ${whole:,.2f} of input" in text
    assert "our model of the bill says" in text
    assert "with a cache of 1 hour" in text
    assert told["advice"]["policy"] is None or f"redline run --policy {told['advice']['policy']} -- claude" in text
