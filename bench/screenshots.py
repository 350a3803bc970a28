"""The pictures of the inspector in README and docs, taken in a real browser: `python -m bench.screenshots`.

The timeline is that of a recorded session, where the recorded sessions are; the other pictures are of invented ones.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from bench.corpus import CORPUS
from bench.sample_sessions import write_sample_sessions

__all__ = ["main"]

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
_WIDE = {"width": 1280, "height": 800}
_RECORDED = "claude-code/ohmyposh-597d17fc-8ee.jsonl"
"""Of JanDeDobbeleer/oh-my-posh (MIT): a day of Claude Code."""


def main() -> None:
    """Take every picture."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, _CHROMIUM)), None)
    if program is None:
        sys.exit("There is no Chromium here: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        session = write_sample_sessions(Path(folder) / "sessions")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        recorded = CORPUS / _RECORDED
        if recorded.exists():
            shutil.copy2(recorded, session.parent)
        with _inspector(session.parent) as (url, token):
            _take_all(browser, url, token, session.stem, recorded.stem if recorded.exists() else session.stem)
        browser.close()


def _take_all(browser: Any, url: str, token: str, name: str, recorded: str) -> None:
    rows = json.load(urlopen(f"{url}api/sessions?token={token}"))["sessions"]
    session, drawn = (next(row["id"] for row in rows if row["name"] == one) for one in (name, recorded))
    strikes = json.load(urlopen(f"{url}api/sessions/{session}/strikes?token={token}"))["strikes"]
    index = max(strikes, key=lambda strike: strike["tokens_before"])["index"]
    pictures = {
        "inspector-sessions": ("", "light"),
        "inspector-conversation": (f"s/{session}?index={index}", "light"),
        "inspector-timeline": (f"s/{drawn}/timeline", "light"),
        "inspector-what-if": (f"s/{session}/what-if", "dark"),
    }
    for picture, (path, scheme) in pictures.items():
        context = browser.new_context(viewport=_WIDE, color_scheme=scheme, reduced_motion="reduce")
        page = context.new_page()
        page.goto(f"{url}{path}{'&' if '?' in path else '?'}token={token}")
        page.wait_for_timeout(1500)  # events keep the connection open, so that the network is never idle
        if picture.endswith("conversation"):
            page.locator("button[aria-expanded]", has_text="would be struck").first.click()
            page.wait_for_timeout(800)
        page.screenshot(path=str(IMAGES / f"{picture}.png"))
        context.close()


@contextmanager
def _inspector(folder: Path) -> Iterator[tuple[str, str]]:
    """The address and the token of an inspector over the sessions, with a home of its own."""
    command = [sys.executable, "-m", "redline", "serve", str(folder), "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "HOME": str(folder)})
    assert process.stdout is not None
    try:
        told = json.loads(process.stdout.readline())
        yield told["url"].partition("?")[0], told["token"]
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
