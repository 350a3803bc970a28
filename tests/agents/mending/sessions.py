"""Crashed sessions for the tests of the menders: small ones by hand, and any history in the files of each agent."""

import json
from pathlib import Path

from redline import mend_transcript, read_transcript
from redline.agents.transcripts.source import Source
from redline.conversation.lists import check

TIME = "2026-02-04T00:00:01Z"
STRATEGIES = ("drop", "answer", "strip")


def as_lines(records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def write(directory, content, name="session.jsonl"):
    path = Path(directory) / name
    path.write_bytes(content if isinstance(content, bytes) else as_lines(content))
    return path


# --- Claude Code


def claude_line(uuid, parent, kind="user", content="hi", **fields):
    message = {"role": kind, "content": content} if kind in ("user", "assistant") else None
    if kind == "assistant":
        message |= {"id": fields.pop("id", f"msg_{uuid}")}
    record = {"parentUuid": parent, "sessionId": "s", "cwd": "/p", "type": kind, "uuid": uuid, "timestamp": TIME}
    return record | ({"message": message} if message else {}) | fields


def use(*names):
    return [{"type": "tool_use", "id": name, "name": "Bash", "input": {"command": name}} for name in names]


def result(*names):
    return [{"type": "tool_result", "tool_use_id": name, "content": f"text of {name}"} for name in names]


def text(words):
    return [{"type": "text", "text": words}]


def claude_file(history, *, is_split):
    """Any history as one chain of lines; split, each block has a line of its own."""
    records, parent = [], None
    for number, native in enumerate(history):
        content = native.get("content")
        pieces = [[block] for block in content] if is_split and isinstance(content, list) and content else [content]
        for piece in pieces:
            uuid = f"u{len(records)}"
            kind = "assistant" if native["role"] == "assistant" else "user"
            line = claude_line(uuid, parent, kind)
            line["message"] = {**native, "content": piece} | ({"id": f"msg_{number}"} if kind == "assistant" else {})
            records.append(line)
            parent = uuid
    return as_lines(records)


# --- Codex


def codex_record(kind, **payload):
    return {"timestamp": TIME, "type": kind, "payload": payload}


def codex_item(**payload):
    return codex_record("response_item", **payload)


def codex_file(history, *, is_compacted):
    """Any history as items, with events between them; compacted, the first half is in the line of a compaction."""
    records = [codex_record("session_meta", id="t", cwd="/p")]
    if is_compacted:
        middle = len(history) // 2
        records.append(codex_item(type="message", role="user", content="long ago"))
        records.append(codex_record("compacted", message="", replacement_history=history[:middle]))
        history = history[middle:]
    for item in history:
        records += [codex_item(**item), codex_record("event_msg", type="shown")]
    return as_lines(records)


# --- Neovate


def neovate_line(uuid, parent, content="hi", role="user", **fields):
    line = {"type": "message", "uuid": uuid, "parentUuid": parent, "role": role, "content": content, "timestamp": TIME}
    return line | {"sessionId": "s"} | fields


def neovate_file(history):
    """Any history as one chain of lines."""
    places = [(f"u{number}", f"u{number - 1}" if number else None) for number in range(len(history))]
    return as_lines({**neovate_line(*place), **native} for place, native in zip(places, history, strict=True))


# --- opencode


def opencode_message(role, *parts, **info):
    return {"info": {"id": "m", "role": role, "time": {"created": 1000}} | info, "parts": list(parts)}


def opencode_tool(call_id, status, **state):
    return {"type": "tool", "callID": call_id, "tool": "bash", "state": {"status": status, "input": {"command": "ls"}, **state}}


def opencode_file(messages):
    session = {"info": {"id": "ses_1", "directory": "/p", "version": "1.2", "time": {}}, "messages": messages}
    return json.dumps(session, indent=1).encode()


# --- Gemini CLI


def gemini_record(name, kind="user", content="hi", **fields):
    return {"id": name, "timestamp": TIME, "type": kind, "content": content, **fields}


def gemini_call(call_id, *answered, **fields):
    """A call, with the results that its record holds: usually its own."""
    result = {"result": gemini_answers(*answered)} if answered else {}
    return {"id": call_id, "name": "ls", "args": {"path": call_id}, "status": "success", **result, **fields}


def gemini_answers(*call_ids):
    return [{"functionResponse": {"id": one, "name": "ls", "response": {"output": f"of {one}"}}} for one in call_ids]


def gemini_lines(records):
    """As today's versions write them."""
    return as_lines([{"sessionId": "s", "projectHash": "h", "startTime": TIME, "kind": "main"}, *records])


def gemini_document(records):
    """As older versions do."""
    return json.dumps({"sessionId": "s", "projectHash": "h", "startTime": TIME, "messages": records}, indent=1).encode()


# --- what holds for all


def sound(path, strategy="drop"):
    """The mending of a file, after seeing that the result is written elsewhere, legal, and mended for good."""
    before = path.read_bytes()
    mending = mend_transcript(path, strategy=strategy)
    out = path.with_name(f"out-{path.name}")
    mending.write(out, overwrite=True)
    assert path.read_bytes() == before
    assert out.read_bytes() == mending.content
    if not mending.fixes:
        assert mending.content == before
    if not any(mending.promised):
        return mending
    for conversation in mending.mender.reader.read(Source(out)):
        natives = [entry.message.native for entry in conversation.windows[-1]] if conversation.windows else []
        assert check(natives, format=conversation.format) == []
    assert mend_transcript(out, strategy=strategy).fixes == ()
    return mending


def rest_is_unchanged(mending):
    """Whether the lines of the file that no fix names are all there, byte for byte and in their order."""
    named = {fix.line for fix in mending.fixes if fix.action != "add"}
    lines = mending.path.read_bytes().split(b"\n")
    rest = [line for number, line in enumerate(lines, 1) if line and number not in named]
    return is_subsequence(rest, mending.content.split(b"\n"))


def is_subsequence(part, whole):
    """Whether all of a list is in another, in its order."""
    rest = iter(whole)
    return all(any(item == other for other in rest) for item in part)


def records_of(content):
    return [json.loads(line) for line in content.splitlines()]


def actions(mending):
    return [(fix.action, fix.line if fix.message is None else fix.message) for fix in mending.fixes]


def goes_on(path):
    """What the last window of the only conversation in a file says."""
    (conversation,) = read_transcript(path)
    return [entry.message for entry in conversation.windows[-1]]
