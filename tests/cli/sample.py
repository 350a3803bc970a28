"""Session files for the tests of the commands."""

import json


def write_session(path, *, is_open=False, model=None):
    """A small Claude Code file: a file read twice, a failing command, and if asked a call that was never answered."""
    steps = [
        ("Read", {"file_path": "/p/a.py"}, "print(1)\n" * 40, False),
        ("Bash", {"command": "make"}, "make: *** No rule", True),
        ("Read", {"file_path": "/p/a.py"}, "print(2)\n" * 40, False),
    ]
    records = [_line("0", None, "user", "fix it")]
    for number, (name, arguments, answer, failed) in enumerate(steps):
        call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": answer, "is_error": failed}
        records.append(_line(f"a{number}", records[-1]["uuid"], "assistant", [call]))
        records.append(_line(f"r{number}", f"a{number}", "user", [result]))
    last = (
        {"type": "tool_use", "id": "t9", "name": "Bash", "input": {"command": "make"}}
        if is_open
        else {"type": "text", "text": "done"}
    )
    records.append(_line("z", records[-1]["uuid"], "assistant", [last]))
    for record in records if model is not None else ():
        if record["type"] == "assistant":
            record["message"]["model"] = model
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def _line(uuid, parent, role, content):
    message = {"role": role, "content": content}
    if role == "assistant":
        message |= {
            "id": f"msg_{uuid}",
            "usage": {"input_tokens": 3, "cache_read_input_tokens": 900, "output_tokens": 7},
        }
    return {
        "type": role,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s1",
        "timestamp": "2026-02-04T00:00:01Z",
        "message": message,
    }
