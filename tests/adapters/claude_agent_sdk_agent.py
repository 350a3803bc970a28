"""An agent on the Claude Agent SDK behind a proxy of its own, with the scripted provider, alone in a network; run as a program.

`python -m tests.adapters.claude_agent_sdk_agent FOLDER` writes FOLDER/report.json. It must be started where there is no way
out: `unshare -n` with only the loopback device.
"""

import asyncio
import dataclasses
import json
import sys
from pathlib import Path

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from redline.adapters.claude_agent_sdk import redline_proxy
from tests.real_agents.descriptions import REAL_AGENTS
from tests.real_agents.provider import listening
from tests.real_agents.scene import POLICY
from tests.real_agents.task import FOLLOW_UP, MAIN, prompt


async def ask(script: str, session: str | None, folder: Path, env: dict[str, str]) -> ResultMessage:
    options = ClaudeAgentOptions(
        allowed_tools=["Bash", "Read", "Task", "Agent"],
        setting_sources=[],
        model="claude-sonnet-4-6",
        cwd=folder / "work",
        resume=session,
        env=env,
    )
    messages = [message async for message in query(prompt=prompt(script), options=options)]
    return next(message for message in messages if isinstance(message, ResultMessage))


def main(folder: Path) -> None:
    agent = next(one for one in REAL_AGENTS if one.program == "claude")
    work, policy = folder / "work", folder / "redline.toml"
    work.mkdir()
    (work / "notes.txt").write_text("The notes begin here.\n")
    policy.write_text(POLICY)
    phases, session = {}, None
    with listening(lambda step, tools: agent.spell(step, tools, work)) as provider:
        for script in (MAIN, FOLLOW_UP, "delegating"):
            first = len(provider.asked)
            with redline_proxy(folder / "store", policy=policy, upstream=provider.url) as env:
                result = asyncio.run(ask(script, session if script == FOLLOW_UP else None, folder, env))
            session = result.session_id
            asked = [dataclasses.asdict(one) for one in provider.asked[first:]]
            phases[script] = {"is_error": result.is_error, "usage": result.usage, "asked": asked}
    (folder / "report.json").write_text(json.dumps(phases))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
