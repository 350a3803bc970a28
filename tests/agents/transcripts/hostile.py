"""Session files of every kind with hostile values in them: what a crash, a bug or an attacker may leave on a disk."""

import json

from tests.agents import (
    test_cline,
    test_codex,
    test_copilot_cli,
    test_inspect_ai,
    test_mini_swe_agent,
    test_neovate,
    test_openhands,
    test_pi,
    test_plain,
    test_swe_agent,
    test_tau2_bench,
    test_tau_bench,
)
from tests.agents.gemini_cli import test_lines as test_gemini_lines
from tests.agents.gemini_cli import test_reader as test_gemini_cli
from tests.agents.mending.sessions import claude_file, claude_line, codex_file, opencode_file, result, text, use
from tests.agents.opencode import test_export as test_opencode

HISTORY = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": [*text("look"), *use("c1", "c2")]},
    {"role": "user", "content": [*result("c1"), *result("c2")]},
    {"role": "assistant", "content": use("c3")},
    {"role": "user", "content": "and?"},
]
OPENHANDS_CALL = test_openhands.metadata("execute_bash", "c1", test_openhands.response("r1", ("c1", "execute_bash")))
ITEMS = [record["payload"] for record in test_codex.SESSION if record["type"] == "response_item"]

LINES = {
    "claude-code": [
        *map(json.loads, claude_file(HISTORY, is_split=True).splitlines()),
        claude_line("s", "u1", "system", subtype="compact_boundary", compactMetadata={"preTokens": 5}),
        claude_line("v", "s"),
        claude_line("w", "v", "assistant", use("c4"), usage={"input_tokens": 5}),
        claude_line("x", "u1", isSidechain=True, agentId="a"),
    ],
    "codex": [*test_codex.SESSION, *map(json.loads, codex_file(ITEMS, is_compacted=True).splitlines())],
    "copilot-cli": test_copilot_cli.SESSION,
    "gemini-cli, crashed": [json.loads(line) for line in (test_gemini_lines.DATA / "crashed.jsonl").read_bytes().splitlines()],
    "gemini-cli, rewound": [json.loads(line) for line in (test_gemini_lines.DATA / "rewound.jsonl").read_bytes().splitlines()],
    "pi": test_pi.SESSION,
    "neovate": [
        test_neovate.line("a", None),
        test_neovate.asks("b", "a", "t1", "t2"),
        test_neovate.answers("c", "b", "t1"),
        test_neovate.answers("d", "b", "t2"),
        test_neovate.line("x", "a"),
        test_neovate.asks("e", "d", "t3"),
    ],
    "openhands": [
        {
            "instance_id": "run",
            "history": [
                *test_openhands.START,
                test_openhands.action(4, "run", call=OPENHANDS_CALL, command="ls"),
                test_openhands.observation(5, "run", "a.c", call=OPENHANDS_CALL, success=True),
            ],
            "error": None,
        }
    ],
    "lines of messages": test_plain.ANTHROPIC,
    "lines of bodies": [{"model": "m", "system": "s", "messages": test_plain.CHAT}, {"contents": test_plain.GEMINI}],
}
"""Files that hold a record on each line."""

DOCUMENTS = {
    "opencode": test_opencode.session(test_opencode.user(test_opencode.text("hi")), test_opencode.STEP),
    "opencode, crashed": json.loads(
        opencode_file(
            [test_opencode.user(test_opencode.text("hi")), test_opencode.assistant(test_opencode.tool("c1", "running"))]
        )
    ),
    "cline": test_cline.session(test_cline.CALL, test_cline.RESULT),
    "gemini-cli": test_gemini_cli.session(test_gemini_cli.record("user", "read a"), test_gemini_cli.STEP),
    "mini-swe-agent": test_mini_swe_agent.file_of(test_mini_swe_agent.MESSAGES),
    "swe-agent": {"trajectory": [], "history": [*test_swe_agent.NATIVE, *test_swe_agent.TEXT], "info": {}},
    "tau2-bench": test_tau2_bench.file_of({**test_tau2_bench.RUN, "messages": test_tau2_bench.MESSAGES}),
    "tau-bench": test_tau_bench.RUNS,
    "inspect-ai": test_inspect_ai.log_of(test_inspect_ai.SAMPLE),
    "chat": test_plain.CHAT,
    "responses": {"input": test_plain.RESPONSES, "model": "m"},
    "gemini": test_plain.GEMINI,
    "ai-sdk": test_plain.AI_SDK,
}
"""Files that are one JSON value."""

KINDS = (*LINES, *DOCUMENTS)

ODD = (
    *(
        "null",
        "-1",
        "0",
        "1.5",
        "true",
        '""',
        '"x"',
        "[]",
        "{}",
        "[null]",
        "[[]]",
        "[{}]",
        "[5]",
        '{"type":5}',
        '[{"type":[]}]',
    ),
    *("NaN", "-Infinity", "1e400", "9" * 400, "9" * 5000, "-9223372036854775809", "1700000000", "1700000000000"),
    *('"\\ud83d"', '"\\u0000"', '"9999-12-31T23:59:59-14:00"', '"0001-01-01T00:00:00+14:00"', '"attachment://x"'),
    *('{"type":"text","type":[]}', '{"a":1,"a":{"b":2}}', '"tool_use"', '"assistant"', '{"text":"x"}', '[{"type":"text"}]'),
    *("[" * 150 + "]" * 150, "[" * 1500 + "]" * 1500, '{"a":' * 1500 + "1" + "}" * 1500, '"' + "[" * 1500 + "]" * 1500 + '"'),
)
"""Values that nobody expects, as they may be spelled in a file."""

_MARK = "\u2620"


def hostile_file(kind, random, changes=3):
    """A session file of a kind, changed at a few places; the random source decides where and how."""
    if kind in LINES:
        records = LINES[kind]
        for _ in range(random.randint(0, changes)):
            records = _changed(records, random)
        if not isinstance(records, list):
            records = [records]
        content = "\n".join(map(json.dumps, records)) + "\n"
    else:
        document = DOCUMENTS[kind]
        for _ in range(random.randint(0, changes)):
            document = _changed(document, random)
        content = json.dumps(document, indent=random.choice([None, 1]))
    mark = json.dumps(_MARK)
    while mark in content:
        content = content.replace(mark, random.choice(ODD), 1)
    return _torn(content.encode(), random)


def _changed(value, random):
    """The value with one place in it gone, repeated, exchanged with another, or holding something odd."""
    places = list(_places(value))
    place = random.choice(places[1:] or places)
    outer = _at(value, place[:-1]) if place else None
    match random.choice(["odd", "odd", "odd", "gone", "twice", "other"]):
        case "gone" if place:
            kept = outer.copy()
            del kept[place[-1]]
            return _put(value, place[:-1], kept)
        case "twice" if isinstance(outer, list):
            return _put(value, place[:-1], [*outer[: place[-1]], outer[place[-1]], *outer[place[-1] :]])
        case "other":
            return _put(value, place, _at(value, random.choice(places)))
        case _:
            return _put(value, place, _MARK)


def _torn(content, random):
    """The bytes, sometimes cut, with bytes exchanged, or with a line break lost."""
    at = random.randrange(len(content))
    match random.choice(["whole", "whole", "whole", "whole", "cut", "byte", "glued", "front"]):
        case "cut":
            return content[:at]
        case "byte":
            return content[:at] + random.choice([b"\xff", b'"', b"\x00", b"}", b"\\", b"\n"]) + content[at + 1 :]
        case "glued":
            return content.replace(b"\n", b"", random.randint(1, 3))
        case "front":
            return content[at:]
        case _:
            return content


def _places(value, above=()):
    yield above
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _places(inner, (*above, key))


def _at(value, place):
    for key in place:
        value = value[key]
    return value


def _put(value, place, inner):
    if not place:
        return inner
    changed = value.copy()
    changed[place[0]] = _put(value[place[0]], place[1:], inner)
    return changed
