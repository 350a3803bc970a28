"""A sample session, invented but shaped like the real thing: files read again and again, stale output, a crash at the end."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

__all__ = ["write_sample_session"]

_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_SOURCE = "\n".join(
    f"def handler_{number}(request):\n    order = load_order(request.args['id'])\n    return render(order, total=order.sum())"
    for number in range(40)
)
_TESTS = "\n".join(f"tests/test_orders.py::test_total_{number} {'FAILED' if number == 7 else 'PASSED'}" for number in range(90))
_LOG = "\n".join(
    f"2026-03-02 09:{number % 60:02d}:11 INFO worker-{number % 4} order {number} processed in {number % 37} ms"
    for number in range(400)
)
_FILE = {"file_path": "/home/dev/shop/orders.py"}
_STEPS: tuple[tuple[str, dict[str, Any], str | None], ...] = (
    ("Bash", {"command": "pytest -q"}, _TESTS),
    *(
        step
        for number in range(7)
        for step in (
            ("Read", _FILE, _SOURCE.replace("order.sum()", f"order.sum({number})")),
            ("Edit", {**_FILE, "old_string": "order.sum()", "new_string": "order.total"}, "ok"),
            ("Bash", {"command": "pytest -q tests/test_orders.py"}, _TESTS),
        )
    ),
    ("Bash", {"command": "make deploy"}, "Error: deploy key is missing"),
    ("Bash", {"command": "tail -n 400 worker.log"}, _LOG),
    ("Bash", {"command": "systemctl restart worker"}, None),
)
"""Tool, arguments, answer. None: the session crashed before it came."""


def write_sample_session(path: Path) -> Path:
    """Write the session as a Claude Code file."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "The total of test_total_7 is wrong. Fix it and deploy."}]
    for number, (name, arguments, answer) in enumerate(_STEPS):
        call = {"type": "tool_use", "id": f"toolu_{number:04d}", "name": name, "input": arguments}
        thought = {"type": "text", "text": f"Step {number + 1}."}
        messages.append({"role": "assistant", "id": f"msg_{number:04d}", "content": [thought, call]})
        if answer is not None:
            result = {"type": "tool_result", "tool_use_id": f"toolu_{number:04d}", "content": answer}
            content = [{**result, "is_error": True} if answer.startswith("Error") else result]
            messages.append({"role": "user", "content": content})
    lines, parent = [], None
    for number, message in enumerate(messages):
        uuid = f"{number:08d}-0000-4000-8000-000000000000"
        line = {
            "parentUuid": parent,
            "isSidechain": False,
            "sessionId": "sample",
            "version": "2.1.39",
            "type": message["role"],
            "message": message,
            "uuid": uuid,
            "timestamp": (_START + timedelta(seconds=55 * number)).isoformat().replace("+00:00", "Z"),
        }
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
        parent = uuid
    path.write_text("".join(lines), encoding="utf-8")
    return path
