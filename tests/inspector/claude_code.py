"""Claude Code sessions of any messages, written line by line."""

import json
import zlib
from base64 import b64encode
from datetime import UTC, datetime
from struct import pack

START = 1_770_163_200


def line(number, role, content, *, cwd="/srv/app", model="claude-sonnet-4-5", seconds=20, **more):
    """One message of a session, after the one before it."""
    message = {"role": role, "content": content}
    if role == "assistant":
        usage = {"input_tokens": 10, "cache_read_input_tokens": 40 * number, "output_tokens": 9}
        message |= {"id": f"msg_{number}", "model": model, "usage": usage}
    record = {
        "type": role,
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": "s1",
        "cwd": cwd,
        "timestamp": datetime.fromtimestamp(START + seconds * number, UTC).isoformat(),
        "message": message,
    }
    return json.dumps({**record, **more}) + "\n"


def write_messages(path, messages, **settings):
    """A session of (role, content)."""
    with path.open("w", encoding="utf-8") as out:
        out.writelines(line(number, role, content, **settings) for number, (role, content) in enumerate(messages))
    return path


def write_compacted(path, *, requests, compactions, model_changes=()):
    """A long session that was compacted again and again: small requests, none larger than those before the compactions.

    From each request that is named in `model_changes` on, the other of two models answers.
    """
    every = requests // (compactions + 1)
    models, at = ("claude-sonnet-4-5", "claude-haiku-4-5"), 0
    with path.open("w", encoding="utf-8") as out:
        for request in range(requests):
            is_compaction = bool(request) and request % every == 0 and request // every <= compactions
            if is_compaction:
                boundary = {
                    "type": "system",
                    "subtype": "compact_boundary",
                    "parentUuid": None,
                    "logicalParentUuid": f"u{at - 1}",
                }
                out.write(line(at, "user", "Compacted", **boundary))
                at += 1
            summary = {"isCompactSummary": True} if is_compaction else {}
            out.write(line(at, "user", f"Request {request}. " + "Some more words. " * 20, **summary))
            model = models[sum(request >= change for change in model_changes) % 2]
            out.write(line(at + 1, "assistant", f"Answer {request}." * 5, model=model))
            at += 2
    return path


def call(id, name, arguments):
    """The content of a message that calls a tool."""
    return [{"type": "tool_use", "id": id, "name": name, "input": arguments}]


def result(id, content, **more):
    """The content of a message that answers a call."""
    return [{"type": "tool_result", "tool_use_id": id, "content": content, **more}]


def picture(width=8, height=8):
    """A red PNG, as content."""
    rows = b"".join(b"\0" + b"\xd0\x20\x20" * width for _ in range(height))
    pieces = [(b"IHDR", pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    body = b"".join(pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data)) for kind, data in pieces)
    encoded = b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": encoded}}
