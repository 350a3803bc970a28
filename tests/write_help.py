"""Write docs/cli.md anew from the commands' own help: `python -m tests.write_help`."""

import os
import subprocess
import sys
from pathlib import Path

from redline.cli import COMMANDS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"

INTRODUCTION = """# The command line

```console
$ redline inspect session.jsonl          # what a session file holds
$ redline check session.jsonl            # would the provider take it?
$ redline convert session.jsonl --to openai_chat > body.json
```

Output is for people; `--json` gives programs the same. Errors are one line on standard error. Exit code 2 means that the input
could not be read or was wrong. With the extra `rich` tables are drawn; without it they are plain text.
"""


def help_of(command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "redline", *filter(None, [command]), "--help"],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "100", "TERM": "dumb"},
        check=True,
    )
    return done.stdout.replace("python -m redline", "redline").strip()


def main() -> None:
    sections = [f"## redline {command}".rstrip() + f"\n\n```text\n{help_of(command)}\n```\n" for command in ("", *COMMANDS)]
    PAGE.write_text("\n".join((INTRODUCTION, *sections)), encoding="utf-8")


if __name__ == "__main__":
    main()
