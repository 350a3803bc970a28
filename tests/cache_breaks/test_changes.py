"""Changes of requests in four APIs before a provider with a prompt cache: each that costs something is named exactly."""

import json

import pytest

from redline import EN, Editor, Policy
from redline.cache_breaks.causes import CAUSES, advice_for, words_of
from redline.cache_breaks.watch import CacheWatch
from redline.providers.usage import read_usage
from redline.testing.provider import FakeProvider
from redline.testing.provider_cache import ProviderCache
from redline.transport.editing import Call, WireEditor
from tests.cache_breaks.changes import ALL, CHANGES, FIELDS, first_request, said
from tests.corpus import corpus_path, corpus_rows, needs_corpus

CASES = [(name, format) for name, change in CHANGES.items() for format in change.formats]
UNEDITED = Policy(rules=())


class Watched:
    """Sends requests through an Editor to a provider with a cache, and watches what comes back."""

    def __init__(self, policy=UNEDITED, **cache):
        self.now = 0.0
        self.wire = WireEditor(Editor(policy=policy, clock=lambda: self.now * 1000))
        self.provider = FakeProvider(cache=ProviderCache(clock=lambda: self.now, **cache))
        self.watch = CacheWatch()
        self.usage = None

    def send(self, asked):
        """What broke the cache."""
        self.now = asked.at
        edited = self.wire.edit(Call("POST", asked.path, asked.headers, asked.raw))
        done = self.provider.exchange(asked.path, json.loads(edited.body), asked.headers)
        assert done.status == 200, done.answer
        self.usage = read_usage(done.answer)
        looked = self.watch.look(edited.answered_call(self.usage, asked.at), edited.cache_names)
        self.watch.add(looked.delta, edited.cache_names, self.usage, asked.at)
        return looked.broke


@pytest.mark.parametrize(("name", "format"), CASES)
def test_each_change_is_named_and_none_is_invented(name, format):
    """The request with the change is told by cause, place and words; those before it and after it lose nothing."""
    change = CHANGES[name]
    watched, asked = Watched(**change.cache), first_request(format)
    if change.before:
        change.before(asked)
    assert watched.send(asked) is None
    if change.kind != "too_short":
        asked = asked.with_more()
        assert watched.send(asked) is None, "nothing was changed yet"
    asked = asked.with_more(change.turns)
    change.make(asked)
    broke = watched.send(asked)
    if change.kind is None:
        assert broke is None
        return
    assert broke is not None, watched.usage
    assert (broke.kind, broke.what) == (change.kind, change.what)
    assert change.place in broke.place
    assert broke.lost_tokens > 0
    assert broke.lost_usd > 0
    assert words_of(broke.kind, broke.place, broke.what)
    assert advice_for(broke.kind, broke.what, broke.agent)
    if change.kind not in ("no_breakpoints", "too_short"):
        assert watched.send(asked.with_more()) is None, "what was changed once is paid once"


def test_both_texts_of_the_place_are_shown():
    """What stood there before, and what stands there now."""
    watched, asked = Watched(), first_request("anthropic")
    watched.send(asked)
    asked = asked.with_more()
    CHANGES["the date in the system prompt"].make(asked)
    broke = watched.send(asked)
    assert (broke.before, broke.after) == ("Today's date: 2026-11-19", "Today's date: 2026-11-20")
    assert (broke.agent, broke.model) == ("Claude Code", "claude-sonnet-4-5")


@pytest.mark.parametrize("format", ALL)
def test_strikes_of_redline_are_its_own_doing(format):
    """A strike that rewrites what was cached is told as Redline's, with its rule."""
    watched, found, asked = Watched(Policy(schedule="eager", words=EN)), [], first_request(format)
    talk = asked.messages
    for count in (4, 6, 8):
        asked = asked.copy()
        asked.messages = [*talk, *tool_turns(format, count)]
        found.append(watched.send(asked.marked()))
    assert [one.kind if one else None for one in found] == [None, "strike", "strike"]
    assert {(CAUSES[one.kind].by, one.what) for one in found[1:]} == {("redline", "historical_reads")}
    assert all(one.place.startswith("message 14") for one in found[1:2]), found


def tool_turns(format, count):
    """Reads of one file, each with a result."""
    from redline.testing import asks, conversation

    turns = [
        turn
        for number in range(count)
        for turn in asks("Read", {"file_path": "/a.py"}, f"text {number} " * 300, id=f"c{number}")
    ]
    return conversation(format, turns)


RECORDED = {"claude-code": "anthropic", "codex": "openai_responses", "gemini-cli": "gemini", "openai-chat": "openai_chat"}


def recorded_messages(agent, format):
    """The beginning of recorded sessions of an agent: each as far as a provider would take it."""
    from redline import check, read_transcript
    from redline.values import payloads

    for row in corpus_rows(agent):
        talk = read_transcript(corpus_path(row)).conversations[0]
        natives = [payloads.decode(entry.message.native) for entry in talk.entries[:40] if entry.message.role != "system"]
        for end in range(len(natives), 8, -1):
            if not check(natives[:end], format=format):
                yield natives[:end]
                break


@needs_corpus
@pytest.mark.parametrize("agent", RECORDED)
def test_changes_of_recorded_requests_are_named(agent):
    """The same on what real agents have said: the date, the tools, the model, a pause, and nothing at all."""
    format = RECORDED[agent]
    names = [
        "nothing",
        "the date in the system prompt",
        "order of the tools",
        "another model",
        "a longer pause than the lifetime",
    ]
    histories = list(recorded_messages(agent, format))[:3]
    if not histories:
        pytest.skip(f"no recorded session of {agent} is legal as it stands")
    for messages in histories:
        for name in names:
            watched, change = Watched(), CHANGES[name]
            asked = first_request(format, messages=list(messages))
            assert watched.send(asked) is None
            asked = asked.copy()
            asked.messages = [*asked.messages, said(format, 1), said(format, 2)]
            change.make(asked.marked())
            broke = watched.send(asked)
            assert (broke.kind if broke else None, broke.what if broke else "") == (change.kind, change.what)


def test_fields_of_all_formats_are_covered():
    """Each API has requests here."""
    assert set(FIELDS) == set(ALL)
