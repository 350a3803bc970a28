"""Write the help texts in docs/command-line.md anew from the commands themselves: `python -m tests.write_help`."""

import os
import subprocess
import sys

from redline.cli import COMMANDS
from tests.generated import DOCS, page_with

PAGE = DOCS / "command-line.md"


def page() -> str:
    """The whole page."""
    sections = [f"### redline {command}".rstrip() + f"\n\n```text\n{help_of(command)}\n```\n" for command in ("", *COMMANDS)]
    return page_with(PAGE.name, "write_help", "\n".join(sections))


def help_of(command: str) -> str:
    """What `redline COMMAND --help` prints."""
    done = subprocess.run(
        [sys.executable, "-m", "redline", *filter(None, [command]), "--help"],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "100", "TERM": "dumb"},
        check=True,
    )
    return done.stdout.replace("python -m redline", "redline").strip()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
