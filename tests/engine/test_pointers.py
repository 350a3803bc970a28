"""What is sent points to words: agents' pointers, Redline's own placeholders, and results that are asked for again."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import EN, Conversation, Editor, Policy, check
from redline.providers import FORMATS
from redline.rules import DEFAULT_RULES, RULES, Faded, HistoricalReads, MaskedResults, RepeatedCalls
from redline.rules.facts import pointer_kind
from redline.testing import conversation
from redline.tokens import Estimate
from redline.values.messages import Media, Text, ToolCall, ToolResult
from redline.values.words import ZH, is_placeholder
from tests.effort import tries
from tests.rules.folding import PIXEL, step

WASTED = "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead."
OUTDATED = "[outdated - see the latest file content]"
MINUTE = 60_000.0
FORMAT_NAMES = sorted(FORMATS)


def words_of(name: str, size: int = 60) -> str:
    return "".join(f"{name} line {number}: value_{number} = compute({number})\n" for number in range(size))


def read_turn(number: int, path: str, answer: str):
    return step(number, "Read", {"file_path": path}, answer)


def filler(first: int, count: int):
    return [
        turn
        for number in range(first, first + count)
        for turn in step(number, "Bash", {"command": f"make part_{number}"}, words_of(f"part_{number}"))
    ]


class Walk:
    """A conversation that makes a request after every turn of the assistant, and looks at each."""

    def __init__(self, format_name: str = "anthropic", **settings):
        self.format_name, self.settings = format_name, {"format": format_name, **settings}
        self.talk = Conversation(**self.settings)
        self.turns, self.now = [("user", (Text("go"),))], 1_000.0
        self._add(1)

    def __call__(self, turns):
        self.turns += turns
        self._add(len(turns))
        return self

    def _add(self, count: int) -> None:
        payloads = conversation(self.format_name, self.turns)
        known = len(self.talk.all_messages)
        for payload in payloads[known:]:
            self.now += 5 * MINUTE
            self.talk.add(payload, timestamp_ms=self.now)
            self.made = self.talk.request(now=self.now)
            self.sent = FORMATS[self.format_name]
            assert check(self.made.messages, format=self.format_name) == []
            dead = dead_pointers(self.made.messages, self.format_name)
            assert dead == [], dead

    @property
    def text(self) -> str:
        return "\n".join(texts_sent(self.made.messages, self.format_name))


def read_all(messages, format_name):
    return [FORMATS[format_name].read(message) for message in messages]


def texts_sent(messages, format_name):
    return [part.text for one in read_all(messages, format_name) for part in one.parts if isinstance(part, ToolResult | Text)]


def dead_pointers(messages, format_name) -> list[str]:
    """Follow every pointer in what is sent, by the file that its call reads; those that lead to no words are given back."""
    calls, results = {}, []
    for message in read_all(messages, format_name):
        for part in message.parts:
            if isinstance(part, ToolCall):
                calls[part.id or part.name] = str(part.arguments.get("file_path") or part.arguments)
            elif isinstance(part, ToolResult):
                results.append((calls.get(part.call_id or part.name or "", "?"), part))
    dead = []
    for place, (subject, part) in enumerate(results):
        before = [one for own, one in results[:place] if own == subject]
        after = [one for own, one in results[place + 1 :] if own == subject]
        where = {"earlier": before, "latest": after, "gone": None}.get(pointer_kind(part) or "")
        if part.text.startswith(("[Earlier read", "[该文件的历史", "[The same call", "[相同的调用")):
            where = after[-1:]
        if where is not None and not any(has_words(one) for one in where):
            dead.append(f"{place}: {part.text[:60]} ({subject})")
    return dead


def has_words(result: ToolResult) -> bool:
    is_picture = any(isinstance(part, Media) for part in result.parts)
    return is_picture or (pointer_kind(result) is None and not is_placeholder(result.text))


@pytest.mark.parametrize("format_name", FORMAT_NAMES)
@pytest.mark.parametrize(
    "policy", ["careful", "bold", Policy(rules=[MaskedResults(keep_recent=2)], words=EN, schedule="eager")], ids=str
)
def test_a_struck_file_that_is_read_again_is_there_again(format_name, policy):
    """R101: the agent answers the second read of an unchanged file with a pointer; its words are given back there."""
    walk = Walk(format_name, policy=policy)
    walk([*read_turn(0, "a.py", words_of("a")), *filler(1, 12)])
    struck = any(is_placeholder(text, EN) for text in texts_sent(walk.made.messages, format_name))
    assert struck or policy == "careful"
    walk(read_turn(50, "a.py", WASTED))
    assert words_of("a").strip() in walk.text
    walk(filler(60, 12))
    assert words_of("a").strip() in walk.text, "and stays there"


def test_words_are_given_back_where_they_were_asked_for():
    """What was sent before stays as it was sent, so that the provider's cache is not thrown away; it can be undone."""
    walk = Walk(policy=Policy(rules=[MaskedResults(keep_recent=1)], words=EN, schedule="eager"))
    walk([*read_turn(0, "a.py", words_of("a")), *filler(1, 3)])
    before = walk.made.messages
    walk(read_turn(50, "a.py", WASTED))
    (given,) = [strike for strike in walk.made.new_strikes if strike.rule == "given_back"]
    assert walk.made.messages[: len(before) - 2] == before[:-2]
    assert walk.made.messages[-1]["content"][0]["content"] == words_of("a")
    assert "message 2" in given.because
    walk.talk.undo(given.number)
    assert walk.talk.request(now=walk.now).messages[-1]["content"][0]["content"] == WASTED


@pytest.mark.parametrize("words", [EN, ZH])
def test_six_reads_of_which_five_are_pointers_leave_the_file(words):
    """R102: the only real read stays, with the default rules and with all of them."""
    for rules in (DEFAULT_RULES, [name for name in RULES if name not in ("offload_results", "long_results")]):
        policy = Policy(rules=rules, schedule="eager", words=words)
        walk = Walk(policy=policy)
        walk(read_turn(0, "a.py", words_of("a")))
        for number in range(1, 6):
            walk(read_turn(number, "a.py", WASTED))
        assert words_of("a") in walk.text


def test_what_an_agent_points_to_is_not_struck():
    """The pointer came before the rule got to it: the mark is withheld, and given out when nothing points there any more."""
    policy = Policy(rules=[MaskedResults(keep_recent=2)], words=EN, schedule="eager")
    walk = Walk(policy=policy)
    walk([*read_turn(0, "a.py", words_of("a")), *read_turn(1, "a.py", WASTED), *filler(2, 8)])
    assert words_of("a") in walk.text
    assert not any(strike.index == 2 for strike in walk.made.strikes)
    walk.talk.process({"operation": "replace", "replace": {"index": 4, "message": answer_of(walk, 4, "made anew")}})
    again = walk.talk.request(now=walk.now)
    assert any(strike.index == 2 for strike in again.strikes)


def answer_of(walk, position, text):
    block = walk.talk.messages[position]["content"][0]
    return {"role": "user", "content": [{**block, "content": text}]}


def test_a_picture_that_is_pointed_to_comes_back_whole():
    """Words cannot stand for it, so its strike is lifted."""
    picture = [Text(words_of("a.png")), Media("image/png", PIXEL)]
    walk = Walk(policy=Policy(rules=[MaskedResults(keep_recent=1)], words=EN, schedule="eager"))
    walk([*step(0, "Read", {"file_path": "a.png"}, picture), *filler(1, 3)])
    assert PIXEL not in str(walk.made.messages)
    preview = walk.talk.preview(now=walk.now)
    assert preview.messages == walk.made.messages
    walk(read_turn(9, "a.png", "Image not read again: Read has already returned this unchanged image at least 3 times."))
    assert PIXEL in str(walk.made.messages)
    assert [lift.strike.index for lift in walk.made.lifted] == [2]
    walk(filler(20, 4))
    assert PIXEL in str(walk.made.messages)


def test_the_latest_read_stays_for_a_pointer_to_it():
    """Cline puts a pointer in the place of older reads: the strike on the latest one is lifted."""
    walk = Walk(policy=Policy(rules=[MaskedResults(keep_recent=1)], words=EN, schedule="eager"))
    walk([*read_turn(0, "a.py", words_of("old")), *read_turn(1, "a.py", words_of("new")), *filler(2, 3)])
    assert words_of("new") not in walk.text
    walk.talk.process({"operation": "replace", "replace": {"index": 2, "message": answer_of(walk, 2, OUTDATED)}})
    sent = walk.talk.request(now=walk.now).messages
    assert words_of("new") in "\n".join(texts_sent(sent, "anthropic"))
    assert dead_pointers(sent, "anthropic") == []


def test_a_pointer_to_what_is_hidden_gives_the_words():
    """The read was cut away with the view; the record has it."""
    walk = Walk(policy="careful")
    walk([*read_turn(0, "a.py", words_of("a")), *filler(1, 3), *read_turn(9, "a.py", WASTED), *filler(10, 1)])
    walk.talk.process({"operation": "truncate", "truncate": {"keep_last": 4}})
    sent = walk.talk.request(now=walk.now).messages
    assert words_of("a") in "\n".join(texts_sent(sent, "anthropic"))


def test_a_placeholder_never_points_to_one():
    """Older reads say that the latest one has the words: no other rule takes those away."""
    rules = [HistoricalReads(keep_recent=1), RepeatedCalls(), MaskedResults(keep_recent=2), Faded(0)]
    for words in (EN, ZH):
        walk = Walk(policy=Policy(rules=rules, schedule="eager", words=words))
        for number in range(4):
            walk(read_turn(number, "a.py", words_of(f"version {number}")))
        walk(filler(10, 12))
        assert words_of("version 3") in walk.text
        assert words_of("version 1") not in walk.text


@pytest.mark.parametrize("again", ["Read", "Bash"])
def test_what_is_asked_for_again_is_not_struck_again(again):
    """R103: the agent that misses a result gets it once more, and keeps it: there is no loop."""
    walk = Walk(policy=Policy(rules=[MaskedResults(keep_recent=1)], words=EN, schedule="eager"))
    call = (again, {"file_path": "a.py"} if again == "Read" else {"command": "cat a.py"})
    walk([*step(0, *call, words_of("a")), *filler(1, 3)])
    assert words_of("a") not in walk.text
    walk([*step(50, *call, words_of("a")), *filler(60, 6)])
    assert walk.text.count(words_of("a")) == 1
    walk([*step(80, *call, words_of("a")), *filler(90, 6)])
    assert walk.text.count(words_of("a")) == 1, "only the latest of them stays"


def test_what_changed_is_no_loop():
    """A command that gives other words each time, and a file that was changed, are struck as ever."""
    walk = Walk(policy=Policy(rules=[MaskedResults(keep_recent=1)], words=EN, schedule="eager"))
    for number in range(6):
        walk(step(number, "Bash", {"command": "make test"}, words_of(f"run {number}")))
    assert [words_of(f"run {number}") in walk.text for number in range(6)] == [False] * 5 + [True]


@pytest.mark.parametrize("name", ["careful", "balanced", "bold"])
@tries(25, deadline=None)
@given(data=st.data())
def test_every_pointer_leads_to_words(name, data):
    """Reads, pointers, commands in any order: at each request, every pointer that is sent leads to words, live and reopened,
    and the bytes are the same in both."""
    seen: set[str] = set()
    walk = Walk(policy=name, model="claude-sonnet-4-6")
    for number in range(data.draw(st.integers(5, 25))):
        path = data.draw(st.sampled_from(["a.py", "b.py"]))
        kind = data.draw(st.sampled_from(["read", "command", "command", "again"]))
        if kind == "command":
            walk(filler(100 + number, 1))
        else:
            walk(read_turn(number, path, WASTED if path in seen and kind == "again" else words_of(path)))
            seen.add(path)
    reopened = Conversation(log=walk.talk._engine.timeline.log, policy=name, model="claude-sonnet-4-6", format="anthropic")
    assert reopened.preview(now=walk.now).messages == walk.talk.preview(now=walk.now).messages


@pytest.mark.parametrize("format_name", FORMAT_NAMES)
def test_an_editor_gives_words_back_too(format_name):
    """The list stays the caller's own; what is struck of it is read again and is there."""
    editor = Editor(policy=Policy(rules=[MaskedResults(keep_recent=1)], words=EN, schedule="eager"))
    turns = [("user", (Text("go"),)), *read_turn(0, "a.py", words_of("a")), *filler(1, 3)]
    sent = editor.edit(conversation(format_name, turns)).messages
    assert words_of("a").strip() not in "\n".join(texts_sent(sent, format_name))
    turns += read_turn(50, "a.py", WASTED)
    sent = editor.edit(conversation(format_name, turns)).messages
    assert words_of("a").strip() in "\n".join(texts_sent(sent, format_name))
    assert dead_pointers(sent, format_name) == []
    turns += filler(60, 5)
    sent = editor.edit(conversation(format_name, turns)).messages
    assert words_of("a").strip() in "\n".join(texts_sent(sent, format_name))


@pytest.mark.parametrize("words", [EN, ZH], ids=["EN", "ZH"])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Read", {"file_path": "/home/someone/projects/shop/src/payments/providers/adapter_for_stripe.py"}),
        ("Read", {"file_path": "项目/源代码/支付/提供者/适配器/文件名很长的文件.py"}),
        ("Bash", {"command": "cd /srv/app && npm run test -- --watch=false --reporters=default 2>&1 | tail -n 50"}),
        ("mcp__github_enterprise__get_pull_request_review_comments", {"owner": "acme", "pull": 12}),
        ("Grep", {"pattern": "(?:def|class)\\s+[A-Z]\\w+Adapter", "path": "src"}),
        ("Bash", {"command": "sha256sum 3f7a9c0e1b2d4f6a8c9e0d1b2a3c4d5e6f708192.tar.gz"}),
    ],
)
def test_a_placeholder_says_what_it_was_in_thirty_tokens(tool, arguments, words):
    """R104: the tool, its file or command, the size, and how to get it back."""
    turns = [("user", (Text("go"),)), *step(0, tool, arguments, words_of("x", 200)), *filler(1, 1)]
    policy = Policy(rules=[MaskedResults(keep_recent=1)], schedule="eager", words=words)
    talk = Conversation(conversation("anthropic", turns), policy=policy)
    text = talk.request(now=10**6).messages[2]["content"][0]["content"]
    assert is_placeholder(text)
    assert tool[-12:] in text
    assert " 7 kB" in text
    assert re.search(r"( again|可再次..)\]$", text), text
    assert Estimate().count(text) <= 30, (Estimate().count(text), text)


def test_the_file_in_which_an_agent_saved_the_output_stays_named():
    """It is the way back to the words."""
    saved = f"<persisted-output>\nOutput too large (1.2MB). Full output saved to: /t/x/1.txt\n\nPreview:\n{words_of('p')}"
    turns = [("user", (Text("go"),)), *step(0, "Bash", {"command": "make"}, saved), *filler(1, 8)]
    talk = Conversation(conversation("anthropic", turns), policy=Policy(rules=[Faded(0)], words=EN, schedule="eager"))
    assert "; all of it: /t/x/1.txt]" in talk.request(now=10**6).messages[2]["content"][0]["content"]


def test_a_strike_says_the_chance_of_its_decision():
    """R107: the number of the rule, in the record, and no other."""
    turns = [("user", (Text("go"),)), *step(0, "Bash", {"command": "make"}, words_of("x")), *filler(1, 8)]
    talk = Conversation(conversation("anthropic", turns), policy=Policy(rules=[Faded(0)], words=EN, schedule="eager"))
    strike = talk.request(now=10**6).new_strikes[0]
    assert strike.chance is not None
    percent = f"{strike.chance:.0%}".replace("%", " %") if strike.chance >= 0.005 else "less than 1 %"
    assert f"{percent} chance" in strike.because


def test_the_explanation_says_what_was_given_back():
    """Words that come back are not called struck."""
    walk = Walk(policy=Policy(rules=[MaskedResults(keep_recent=1)], words=EN, schedule="eager"))
    walk([*read_turn(0, "a.py", words_of("a")), *filler(1, 3), *read_turn(50, "a.py", WASTED)])
    explained = walk.made.explain()
    assert "given_back: 1 given back, 7" in explained
    assert "Given back, message 10: the agent points to message 2" in explained
