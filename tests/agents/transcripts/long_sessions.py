"""Session files of every kind with as many turns as asked for, each a question, a call and its result."""

import json

from tests.agents import (
    test_cline,
    test_copilot_cli,
    test_inspect_ai,
    test_mini_swe_agent,
    test_openhands,
    test_pi,
    test_swe_agent,
    test_tau2_bench,
    test_tau_bench,
)
from tests.agents.gemini_cli import test_reader as test_gemini_cli
from tests.agents.mending.sessions import (
    claude_line,
    codex_item,
    neovate_line,
    opencode_file,
    opencode_message,
    opencode_tool,
    result,
    use,
)


def chat_turn(number):
    call = {"id": f"c{number}", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    return [
        {"role": "user", "content": f"turn {number}"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": "a"},
    ]


def claude_turn(number):
    before = f"r{number - 1}" if number else None
    return [
        claude_line(f"u{number}", before),
        claude_line(f"a{number}", f"u{number}", "assistant", use(f"c{number}")),
        claude_line(f"r{number}", f"a{number}", content=result(f"c{number}")),
    ]


def codex_turn(number):
    return [
        codex_item(type="message", role="user", content=[{"type": "input_text", "text": "hi"}]),
        codex_item(type="function_call", name="ls", arguments="{}", call_id=f"c{number}"),
        codex_item(type="function_call_output", call_id=f"c{number}", output="a"),
    ]


def copilot_turn(number):
    return [
        test_copilot_cli.event("user.message", content="hi"),
        test_copilot_cli.answer(f"r{number}", "", test_copilot_cli.request(f"c{number}", {})),
        test_copilot_cli.done(f"c{number}", success=True, result={"content": "a"}),
    ]


def pi_turn(number):
    call = {"type": "toolCall", "id": f"c{number}", "name": "read", "arguments": {}}
    return [
        test_pi.user(f"u{number}", f"r{number - 1}" if number else None, "hi"),
        test_pi.assistant(f"a{number}", f"u{number}", call),
        test_pi.result(f"r{number}", f"a{number}", f"c{number}", test_pi.text("a")),
    ]


def neovate_turn(number):
    answer = {"type": "tool-result", "toolCallId": f"c{number}", "toolName": "ls", "result": {"llmContent": "a"}}
    return [
        neovate_line(f"u{number}", f"r{number - 1}" if number else None),
        neovate_line(f"a{number}", f"u{number}", use(f"c{number}"), "assistant"),
        neovate_line(f"r{number}", f"a{number}", [answer], "tool"),
    ]


def openhands_turn(number):
    asked = test_openhands.response(f"r{number}", (f"c{number}", "execute_bash"))
    call = test_openhands.metadata("execute_bash", f"c{number}", asked)
    return [
        test_openhands.action(number, "message", source="user", content="hi"),
        test_openhands.action(number, "run", call=call, command="ls"),
        test_openhands.observation(number, "run", "a", call=call, success=True),
    ]


def opencode_turn(number):
    return [
        opencode_message("user", {"type": "text", "text": "hi"}),
        opencode_message("assistant", opencode_tool(f"c{number}", "completed", output="a")),
    ]


def gemini_turn(number):
    answered = test_gemini_cli.call(f"c{number}", result=test_gemini_cli.answer(f"c{number}"))
    return [test_gemini_cli.record("user", "hi"), test_gemini_cli.record("gemini", "look", toolCalls=[answered])]


def inspect_turn(number):
    call = {"id": f"c{number}", "function": "bash", "arguments": {}, "type": "function"}
    return [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "source": "generate", "tool_calls": [call]},
        {"role": "tool", "content": "attachment://long", "tool_call_id": f"c{number}", "function": "bash"},
    ]


def _lines(turn, first=()):
    return lambda turns: b"".join(json.dumps(record).encode() + b"\n" for record in (*first, *_turns(turn, turns)))


def _document(turn, wrap):
    return lambda turns: json.dumps(wrap(_turns(turn, turns))).encode()


def _turns(turn, turns):
    return [record for number in range(turns) for record in turn(number)]


def _compacted(items):
    return {"type": "compacted", "payload": {"message": "", "replacement_history": [item["payload"] for item in items]}}


LONG = {
    "claude-code": _lines(claude_turn),
    "claude-code, glued": lambda turns: _lines(claude_turn)(1) + _lines(claude_turn)(turns).replace(b"}\n{", b"}{"),
    "codex": _lines(codex_turn),
    "codex, compacted": _document(codex_turn, _compacted),
    "copilot-cli": _lines(copilot_turn),
    "pi": _lines(pi_turn, [test_pi.START]),
    "neovate": _lines(neovate_turn),
    "openhands": _document(openhands_turn, lambda events: {"instance_id": "run", "history": events}),
    "lines of messages": _lines(chat_turn),
    "opencode": lambda turns: opencode_file(_turns(opencode_turn, turns)),
    "cline": _document(lambda _: [test_cline.CALL, test_cline.RESULT], lambda messages: test_cline.session(*messages)),
    "gemini-cli": _document(gemini_turn, lambda messages: test_gemini_cli.session(*messages)),
    "mini-swe-agent": _document(lambda _: test_mini_swe_agent.MESSAGES[1:4], test_mini_swe_agent.file_of),
    "swe-agent": _document(
        lambda _: test_swe_agent.TEXT[2:5], lambda messages: {"trajectory": [], "history": messages, "info": {}}
    ),
    "tau2-bench": _document(chat_turn, lambda messages: test_tau2_bench.file_of({**test_tau2_bench.RUN, "messages": messages})),
    "tau-bench": _document(chat_turn, lambda messages: [{**test_tau_bench.RUNS[0], "traj": messages}]),
    "tau-bench, many runs": _document(
        lambda number: [{**test_tau_bench.RUNS[0], "trial": number, "traj": chat_turn(0)}], lambda runs: runs
    ),
    "inspect-ai": _document(
        inspect_turn,
        lambda messages: test_inspect_ai.log_of({**test_inspect_ai.SAMPLE, "messages": messages, "attachments": {"long": "a"}}),
    ),
    "chat": _document(chat_turn, list),
    "list with what is no message": _document(lambda number: [*chat_turn(number), number], list),
}
"""The content of a file with so many turns, by its kind."""
