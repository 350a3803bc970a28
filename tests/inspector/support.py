"""A running inspector, as a user starts it, and the sessions that it is shown."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

import redline
from redline.rules.masked_results import MaskedResults
from redline.testing import asks, conversation, says
from tests.cli.run import FROM_HERE

NOW = 1_770_000_000_000.0


TOKENS = {}
"""By origin, what each inspector asks for."""


class Running:
    """An inspector that listens."""

    def __init__(self, port, token):
        self.port, self.token = port, token
        self.url = f"http://127.0.0.1:{port}"
        TOKENS[self.url] = token

    def ask(self, method, path, body=None, headers=None, *, is_known=True, **query):
        """Status, headers and body of an answer; JSON where it is JSON. With the cookie of a browser that was let in."""
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        target = quote(path, safe="/%") + (f"?{urlencode(query)}" if query else "")
        cookie = {"Cookie": f"redline_token_{self.port}={self.token}"} if is_known else {}
        given = {"Host": f"127.0.0.1:{self.port}", **cookie, **(headers or {})}
        asked.request(method, target, None if body is None else json.dumps(body), given)
        answer = asked.getresponse()
        content = answer.read()
        asked.close()
        is_json = (answer.headers["content-type"] or "").startswith("application/json")
        return answer.status, answer.headers, json.loads(content) if is_json else content

    def get(self, path, **query):
        """What an address says; it must be there."""
        status, _, found = self.ask("GET", path, **query)
        assert status == 200, found
        return found

    def post(self, path, body, **query):
        """The status, and what is said; with the page's token."""
        headers = {"X-Redline-Token": self.token, "Content-Type": "application/json"}
        status, _, found = self.ask("POST", path, body, headers, **query)
        return status, found

    def rows(self):
        """The sessions that are listed."""
        return self.get("/api/sessions")["sessions"]

    def session(self, name=None):
        """The address of a session by its name; of the only one without."""
        (row,) = [row for row in self.rows() if name is None or row["name"] == name]
        return f"/api/sessions/{row['id']}"


@contextlib.contextmanager
def inspector(*places, home, options=()):
    """An inspector over some places, in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "redline", "serve", *map(str, places), "--port", "0", "--json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"], **FROM_HERE, "HOME": str(home)},
    )
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        told = json.loads(line)
        yield Running(told["port"], told["token"])
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    assert process.returncode == 0


def write_log(address, *, turns=6, format="anthropic", size=4000):
    """A Redline log with requests, strikes, usage, a batch and a branch; the conversation is closed."""
    with redline.open(address, format=format, model="claude-sonnet-4-5") as talk:
        for number in range(turns):
            time_ms = NOW + number * 1_000_000
            call = asks(
                "terminal-execute",
                {"command": f"make part{number}"},
                f"line {number} of output\n" * (size // 20),
                id=f"c{number}",
            )
            for message in conversation(format, [says("user", f"step {number}"), *call]):
                talk.add(message, timestamp_ms=time_ms)
            talk.request(now=time_ms, rules=[MaskedResults(keep_recent=2)])
            talk.record_usage(input_tokens=2000 * (number + 1), output_tokens=20, cache_read_tokens=1500 * number)
        talk.add(conversation(format, [says("assistant", "All **done**.")])[0], timestamp_ms=NOW + turns * 1_000_000)
    return address


def write_transcript(path, turns=30, *, words=None, model="claude-sonnet-4-5"):
    """A Claude Code session: commands, files read and changed, a failure, a pause in which the cache goes cold."""
    lines, parent = [], None

    def line(kind, content, **more):
        nonlocal parent
        number = len(lines)
        message = {"role": kind, "content": content, **more}
        time = datetime.fromtimestamp(1_770_163_200 + 20 * number + (900 if number > 40 else 0), UTC).isoformat()
        record = {
            "type": kind,
            "uuid": f"u{number}",
            "parentUuid": parent,
            "sessionId": "s1",
            "cwd": "/srv/app",
            "timestamp": time,
        }
        parent = record["uuid"]
        lines.append(json.dumps({**record, "message": message}))

    line("user", words or "Fix the parser of dates")
    for number in range(turns):
        kind, arguments, answer = [
            (
                "Bash",
                {"command": f"pytest -k part{number}"},
                f"collected {number} items\n" + "".join(f"line {n} of test output {number}\n" for n in range(60)),
            ),
            (
                "Read",
                {"file_path": "/srv/app/dates.py"},
                "\n".join(f"{n}\tvalue_{number}_{n} = parse({n})" for n in range(40)),
            ),
            (
                "Edit",
                {"file_path": "/srv/app/dates.py", "old_string": "value = 1\nkeep", "new_string": "value = 2\nkeep"},
                "The file was changed.",
            ),
        ][number % 3]
        usage = {
            "input_tokens": 10,
            "cache_read_input_tokens": 900 * number,
            "cache_creation_input_tokens": 900,
            "output_tokens": 40,
        }
        said = [
            {"type": "text", "text": f"Step {number}: I look."},
            {"type": "tool_use", "id": f"t{number}", "name": kind, "input": arguments},
        ]
        line("assistant", said, id=f"msg_{number}", model=model, usage=usage)
        line("user", [{"type": "tool_result", "tool_use_id": f"t{number}", "content": answer, "is_error": number == 6}])
    line(
        "assistant",
        [{"type": "text", "text": "# Done\n\nAll `tests` pass."}],
        id="msg_z",
        model=model,
        usage={"input_tokens": 5, "output_tokens": 9},
    )
    path.write_text("".join(one + "\n" for one in lines), encoding="utf-8")
    return path
