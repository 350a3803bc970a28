"""An agent for the tests, run as a program behind `redline run`: asks a model, then asks `redline mcp` about its session.

`python run_agent.py OWNER SESSION FOLDER`: it sends its history, says in the folder that it is there, waits for the other
agent, and prints what the server told it. Agent B begins when A's first request was answered, and from then on both send at
the same time. Agent A asks first and undoes a strike; B asks when A is done.
"""

import asyncio
import json
import os
import sys
import time
import urllib.request
from pathlib import Path

from mcp.client.stdio import StdioServerParameters

import mcp


def send(count: int, owner: str, session: str) -> None:
    """A request with a history in which files were read, all begun alike."""
    messages: list[dict[str, object]] = [{"role": "user", "content": "Why does the build fail?"}]
    for number in range(count):
        call = {"type": "tool_use", "id": f"{owner}{number}", "name": "Read", "input": {"file_path": "/a.py"}}
        result = {"type": "tool_result", "tool_use_id": f"{owner}{number}", "content": f"{owner} {number} " * 300}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    body = json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages}).encode()
    headers = {"x-api-key": "one-key-for-both", "content-type": "application/json"}
    headers |= {"x-session-id": session} if session else {}
    asked = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", body, headers)
    urllib.request.urlopen(asked, timeout=60).read()


async def ask(owner: str) -> dict[str, object]:
    """What the server says, started as agents start it: without the agent's own environment."""
    environment = {name: os.environ[name] for name in ("PYTHONPATH", "HOME", "REDLINE_CONFIG") if name in os.environ}
    started = StdioServerParameters(command=sys.executable, args=["-m", "redline", "mcp"], env=environment)
    async with mcp.Client(started) as client:
        listed = await client.call_tool("list_strikes", {"limit": 100})
        if listed.is_error:
            return {"error": listed.content[0].text}
        strikes = listed.structured_content["strikes"]
        texts = [(await client.call_tool("recall", {"reference": row["reference"]})).content[0].text for row in strikes]
        told = {"strikes": strikes, "texts": [text[:9] for text in texts]}
        if owner == "A":
            undone = await client.call_tool("undo_strike", {"number": strikes[0]["number"]})
            told["undone"] = undone.content[0].text
        return told


def wait_for(file: Path) -> None:
    """Until the other agent has written a file."""
    while not file.exists():
        time.sleep(0.05)


def main(owner: str, session: str, folder: Path) -> None:
    """Send, wait, ask."""
    if owner == "B":
        wait_for(folder / "A-began")
    for count in range(1, 10):
        send(count, owner, session)
        (folder / f"{owner}-began").touch()
    (folder / f"{owner}-sent").touch()
    wait_for(folder / ("B-sent" if owner == "A" else "A-done"))
    sys.stdout.write(json.dumps(asyncio.run(ask(owner))))
    (folder / f"{owner}-done").touch()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
