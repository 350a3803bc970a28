"""Write docs/cli.md anew from the commands' own help: `python -m tests.write_help`."""

import os
import subprocess
import sys
from pathlib import Path

from redline.cli import COMMANDS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"

INTRODUCTION = """# The command line

```console
$ redline inspect ~/.claude/projects     # every session there, newest first
$ redline check session.jsonl            # would the provider take it?
$ redline repair session.jsonl           # what must change so that it does
$ redline convert session.jsonl --to openai_chat > body.json
```

## What a command takes

Wherever the help says SESSION, any of these may be given, and several of them:

| argument | what is read |
|---|---|
| `session.jsonl` | a session file of [any agent that Redline knows](transcripts.md), or a plain list of messages |
| `chat.jsonl` | a log of Redline's own: what is visible in it, as it would be sent. It is only read |
| `sqlite:///chats.db#name`, `postgresql://…#name` | one conversation of a database; without `#name` all of them |
| `chats.db` | all conversations of a Redline database in a file |
| `folder` | every `.jsonl`, `.json`, `.traj` and `.eval` file and Redline database in it and below, up to 100,000. Links to folders are not followed. A `.json` file in which there is no session is left out, and that is said |
| `-` | standard input, up to 256 MB; so are the pipes of a shell (`<(…)`) |

Devices, sockets and named pipes are refused. A session that cannot be read is one line on standard error; the others are still shown.

## What it gives back

| exit code | meaning |
|---|---|
| 0 | done, and nothing wrong |
| 1 | something was found: `check` a problem, `convert` and `export` that the provider would refuse what was written, `repair` that it could not write, or not prove legal, the repaired session |
| 2 | a session could not be read, or the command line is wrong |
| 3 | a bug in Redline; `REDLINE_TRACEBACK=1` shows where |
| 130, 141 | interrupted; whoever read the output went away |

Output is for people; `--json` gives programs the same, one object a line (`convert` and `export` always write JSON). Tables fit the
terminal, or 80 columns where there is none (`COLUMNS` says otherwise): long names lose their middle, numbers are never cut. Colors are
used on terminals only, and `--no-color`, `NO_COLOR=1` or `TERM=dumb` turn them off.

Session files come from anywhere, so nothing in them reaches the terminal as a control character: escape sequences, carriage returns,
changes of direction and invisible letters in names, ids, paths and words are shown as `\\x1b` or `\\u202e`, and in JSON as JSON escapes
them. Passwords in addresses are shown as `***`.
"""  # noqa: E501 - rows of a table cannot be broken


def help_of(command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "redline", *filter(None, [command]), "--help"],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "100", "TERM": "dumb"},
        check=True,
    )
    return done.stdout.strip()


def main() -> None:
    sections = [f"## redline {command}".rstrip() + f"\n\n```text\n{help_of(command)}\n```\n" for command in ("", *COMMANDS)]
    PAGE.write_text("\n".join((INTRODUCTION, *sections)), encoding="utf-8")


if __name__ == "__main__":
    main()
