"""Pages that a script writes in part: what is between two comments is the script's, everything else is written by people."""

import re
from pathlib import Path

__all__ = ["DOCS", "page_with"]

DOCS = Path(__file__).resolve().parents[1] / "docs"


def page_with(name: str, script: str, text: str) -> str:
    """The page with this text between the comments that name the script."""
    begin, end = f"<!-- written by python -m tests.{script}: -->", f"<!-- :{script} -->"
    page = (DOCS / name).read_text(encoding="utf-8")
    if page.count(begin) != 1 or page.count(end) != 1:
        raise SystemExit(f"docs/{name} must hold {begin} and {end} once each")
    return re.sub(
        f"{re.escape(begin)}.*{re.escape(end)}", lambda _: f"{begin}\n\n{text.strip()}\n\n{end}", page, flags=re.DOTALL
    )
