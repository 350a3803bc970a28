"""Sessions that are held out: which, that nothing of them is changed, and that no session is ever in both arms."""

import json

import pytest

from redline import EN, Editor, Policy, ValidationError
from redline.rules import MaskedResults
from redline.store import Store
from redline.transport.editing import Call, WireEditor
from redline.transport.holdout import parse_share

MASKED = Policy(rules=[MaskedResults(keep_recent=1)], words=EN, schedule="eager")
PATHS = {
    "anthropic": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-3-pro:generateContent",
}


def turn(format, number, task):
    """A call and its long result."""
    text, call = f"result {number} of {task} " * 40, f"call_{number}"
    match format:
        case "anthropic":
            use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"ls {number}"}}
            result = {"type": "tool_result", "tool_use_id": call, "content": text}
            return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
        case "openai_chat":
            function = {"name": "bash", "arguments": json.dumps({"command": f"ls {number}"})}
            asked = {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": call, "type": "function", "function": function}],
            }
            return [asked, {"role": "tool", "tool_call_id": call, "content": text}]
        case "openai_responses":
            asked = {"type": "function_call", "call_id": call, "name": "bash", "arguments": json.dumps({"n": number})}
            return [asked, {"type": "function_call_output", "call_id": call, "output": text}]
    asked = {"functionCall": {"name": "bash", "args": {"command": f"ls {number}"}}}
    given = {"functionResponse": {"name": "bash", "response": {"output": text}}}
    return [{"role": "model", "parts": [asked]}, {"role": "user", "parts": [given]}]


def messages(format, first, turns, start=0, task=None):
    said = {"role": "user", "parts": [{"text": first}]} if format == "gemini" else {"role": "user", "content": first}
    return [said, *(one for number in range(start, start + turns) for one in turn(format, number, task or first))]


def call(said, session="", format="anthropic"):
    field = {"openai_responses": "input", "gemini": "contents"}.get(format, "messages")
    body = json.dumps({**({} if format == "gemini" else {"model": "m"}), field: said}).encode()
    return Call("POST", PATHS[format], {"x-api-key": "k"}, body, session=session)


class Wire:
    """A proxy's editor over a folder, started anew whenever it is asked for."""

    def __init__(self, folder, share=0.3):
        self.folder, self.share = folder, share

    def edit(self, said, session="", format="anthropic", share=None):
        with Editor(self.folder, policy=MASKED) as editor:
            return WireEditor(editor, holdout=self.share if share is None else share).edit(call(said, session, format))

    def arm(self, said, session="", **more):
        edited = self.edit(said, session, **more)
        return "holdout" if edited.untouched.startswith("holdout") else "edited" if edited.is_changed else "?"

    def recorded_arms(self):
        """By log, the arms that its records name."""
        store = Store(self.folder)
        return {
            name: {getattr(one.record, "arm", None) for one in store._logs.read(name).records} - {None}
            for name in store.names()
        }


def name_in(arm, wire, format="anthropic"):
    """The name of a session that is drawn for an arm."""
    names = (f"session-{number}" for number in range(100))
    return next(name for name in names if wire.arm(messages(format, name, 3), name, format=format) == arm)


@pytest.mark.parametrize("text", ["ten", "-1%", "60%", "1.5", "10 % of all", "nan"])
def test_a_share_is_between_nothing_and_a_half(text):
    """Whatever else is said is refused, with what it must be."""
    with pytest.raises(ValidationError, match="--holdout must be a share"):
        parse_share(text)


def test_a_share_is_written_in_percent_or_not():
    """An empty text holds nothing out."""
    assert [parse_share(text) for text in ("10%", "0.1", "2.5 %", "", "0")] == [0.1, 0.1, 0.025, 0.0, 0.0]


@pytest.mark.parametrize("format", PATHS)
def test_what_is_held_out_is_the_clients_own_bytes(tmp_path, format):
    """It is recorded with its arm, and what would have been struck; the other arm is edited."""
    wire = Wire(tmp_path / "store")
    for arm in ("holdout", "edited"):
        name = name_in(arm, wire, format)
        edited = wire.edit(messages(format, name, 4), name, format)
        assert (edited.body == edited.call.body) is (arm == "holdout")
        assert edited.request.strikes
        assert wire.recorded_arms()[edited.request.log] == {arm}


def test_about_the_share_is_held_out(tmp_path):
    """By a hash of the name: of 400 sessions, 30 % give or take; more with a larger share, and those that were are still."""
    wire = Wire(tmp_path)
    held = []
    for share in (0.3, 0.45):
        with Editor(policy=MASKED) as editor:
            one = WireEditor(editor, holdout=share)
            found = {name: one.edit(call(messages("anthropic", "go", 0), name)).untouched for name in map(str, range(400))}
            held.append({name for name, why in found.items() if "holdout" in why})
    assert 95 < len(held[0]) < 145
    assert held[0] < held[1]
    assert wire.arm(messages("anthropic", "go", 3), next(iter(held[0]))) == "holdout", "in another store, too"


@pytest.mark.parametrize("arm", ["holdout", "edited"])
def test_a_session_stays_in_its_arm(tmp_path, arm):
    """Over restarts, when it goes on, with other agents of its name, forked under another name, and compacted."""
    wire = Wire(tmp_path)
    name = name_in(arm, wire)
    for turns in (4, 5, 8):
        assert wire.arm(messages("anthropic", name, turns), name) == arm
    assert wire.arm(messages("anthropic", "a sub-agent's task", 3), name) == arm
    for other in range(12):
        assert wire.arm(messages("anthropic", name, 9), f"resumed-{other}") == arm
        assert wire.arm(messages("anthropic", f"a summary {other}", 4, start=4, task=name), name) == arm
    assert all(len(arms) == 1 for log, arms in wire.recorded_arms().items() if not log.startswith("redline"))


@pytest.mark.parametrize("arm", ["holdout", "edited"])
def test_without_a_name_the_first_message_decides(tmp_path, arm):
    """What its client compacted stays, too."""
    wire = Wire(tmp_path)
    firsts = (f"task {number}" for number in range(100))
    first = next(first for first in firsts if wire.arm(messages("anthropic", first, 3)) == arm)
    assert {wire.arm(messages("anthropic", first, turns)) for turns in (3, 4, 6)} == {arm}
    with Editor(tmp_path, policy=MASKED) as editor:
        one = WireEditor(editor, holdout=0.3)
        shorter = messages("anthropic", "what was done so far", 4, start=3, task=first)
        sent = [one.edit(call(said)) for said in (messages("anthropic", first, 7), shorter)]
    assert [edited.untouched.startswith("holdout") for edited in sent] == [arm == "holdout"] * 2


def test_what_began_before_is_edited_and_in_no_arm(tmp_path):
    """It was edited already: it cannot be held out any more, and must not be compared."""
    wire = Wire(tmp_path, share=0.5)
    with Editor(tmp_path, policy=MASKED) as editor:
        for name in map(str, range(8)):
            WireEditor(editor).edit(call(messages("anthropic", name, 3), name))
    assert {wire.arm(messages("anthropic", name, 4), name) for name in map(str, range(8))} == {"edited"}
    assert not any(wire.recorded_arms().values())


def test_a_dry_run_and_a_subscription_have_no_arm(tmp_path):
    """Nothing is edited there, so that there is nothing to compare with."""
    said = messages("anthropic", "go", 3)
    with Editor(tmp_path, policy=MASKED) as editor:
        dry = WireEditor(editor, is_dry_run=True, holdout=0.5).edit(call(said, "s"))
        given = call(said, "t")
        paid = WireEditor(editor, holdout=0.5).edit(
            Call("POST", given.path, {"anthropic-beta": "oauth-2025-04-20"}, given.body)
        )
    assert "dry run" in dry.untouched
    assert "subscription" in paid.untouched
    assert not any(Wire(tmp_path).recorded_arms().values())
