"""How quick the inspector is: answers at 10,000 messages, first paint of a session of 40 MB: `python -m bench.inspector`."""

import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

from bench.generate import write_claude_code_session

__all__ = ["main"]

_BYTES = 40_000_000
_RUNS = 15
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
_PAGE = Path(__file__).resolve().parents[1] / "src" / "redline" / "inspector" / "page"


def main() -> None:
    """Print a table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        lines = write_claude_code_session(path, _BYTES)
        print(f"A session of {_BYTES / 1e6:.0f} MB, {lines:,} messages\n")
        with _inspector(path) as (url, token):
            _print_first_paint(url, token)
        with _inspector(path) as (url, token):
            _print_answers(url, token)
    contents = [file.read_bytes() for file in _PAGE.iterdir()]
    written, sent = sum(map(len, contents)), sum(len(gzip.compress(content)) for content in contents)
    print(f"\nThe page's own code: {written / 1000:.1f} kB in {len(contents)} files, {sent / 1000:.1f} kB as sent")


def _print_first_paint(url: str, token: str) -> None:
    """From typing the address to the first message on the screen, in a browser that has never been there."""
    program = next(filter(None, map(shutil.which, _CHROMIUM)), None)
    if program is None:
        print("No Chromium here, so that no first paint is measured")
        return
    from playwright.sync_api import sync_playwright

    key = json.load(urlopen(_asked(f"{url}api/sessions", token)))["sessions"][0]["id"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto("about:blank")
        begun = time.perf_counter()
        page.goto(f"{url}s/{key}?token={token}")
        page.get_by_text("#0", exact=True).first.wait_for()
        shown = time.perf_counter() - begun
        page.get_by_text("counting…").wait_for(state="detached", timeout=120_000)
        print(f"first message on the screen  {shown:6.2f} s")
        print(f"all numbers on the screen    {time.perf_counter() - begun:6.2f} s")
        browser.close()


def _print_answers(url: str, token: str) -> None:
    """The middle of several, after the first: what a person feels who moves about."""
    key = json.load(urlopen(_asked(f"{url}api/sessions", token)))["sessions"][0]["id"]
    session = f"{url}api/sessions/{key}"
    while json.load(urlopen(_asked(session, token)))["is_pending"]:
        time.sleep(0.2)
    routes = {
        "the list": f"{url}api/sessions",
        "header": session,
        "50 messages": f"{session}/messages?from=5000&count=50",
        "one request": f"{session}/requests/3000",
        "strikes": f"{session}/strikes",
        "timeline": f"{session}/timeline",
        "search": f"{session}/find?text=parse",
        "filter": f"{session}/find?struck=1",
        "records": f"{session}/records",
        "compare": f"{session}/compare?a=10&b=3000",
        "what if": f"{session}/what-if",
    }
    print(f"\n{'answer':14} {'first, ms':>10} {'median, ms':>11} {'kB':>7}")
    for name, address in routes.items():
        times, size = [], 0
        for _ in range(_RUNS):
            begun = time.perf_counter()
            size = len(urlopen(_asked(address, token)).read())
            times.append(1000 * (time.perf_counter() - begun))
        print(f"{name:14} {times[0]:10.0f} {statistics.median(times[1:]):11.1f} {size / 1000:7.0f}")


def _asked(address: str, token: str) -> Request:
    headers = {"Content-Type": "application/json", "X-Redline-Token": token}
    body = json.dumps({"preset": "superseded"}).encode() if address.endswith("what-if") else None
    return Request(address, body, headers)


@contextmanager
def _inspector(path: Path) -> Iterator[tuple[str, str]]:
    command = [sys.executable, "-m", "redline", "serve", str(path), "--port", "0", "--json"]
    environment = {**os.environ, "HOME": str(path.parent), "REDLINE_CACHE": "off"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        told = json.loads(process.stdout.readline())
        time.sleep(4)  # the numbers of the list are worked out first, as for a user who looks at it
        yield told["url"].partition("?")[0], told["token"]
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
