"""A real Chromium, and pages in it that are watched: no error, no dialog, no request to anybody but their own server."""

import os
import re
import shutil

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.inspector.support import TOKENS

NAMES = ("chromium", "chromium-browser", "google-chrome")
VIEWS = ("", "/timeline", "/branches", "/compare", "/what-if")
PHONE = {"viewport": {"width": 360, "height": 800}, "has_touch": True, "is_mobile": True}
TALL = {"viewport": {"width": 1280, "height": 15_000}}
"""So high that every message of a short session is in sight."""
TELL = 'addEventListener("securitypolicyviolation", ({blockedURI: uri}) => console.error(`blocked by the policy: ${uri}`))'

expect.set_options(timeout=20_000)


def require_chromium():
    """Where Chromium is. Without one the test is skipped, or fails where REDLINE_NEED_CHROMIUM is 1."""
    named = os.environ.get("REDLINE_CHROMIUM")
    found = next(filter(None, map(shutil.which, [named] if named else NAMES)), None)
    if found:
        return found
    reason = f"no Chromium was found ({named or ', '.join(NAMES)}): install one, or name it in REDLINE_CHROMIUM"
    if os.environ.get("REDLINE_NEED_CHROMIUM") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


class Tabs:
    """Pages, each in a context of its own, and all that went wrong in them."""

    def __init__(self, chromium):
        self.chromium, self.problems, self.contexts = chromium, [], []

    def open(self, url, **options):
        """A page at an address of an inspector, with its token in it, as the command prints it."""
        origin = "/".join(url.split("/")[:3])
        context = self.chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, "timezone_id": "UTC", **options})
        context.set_default_timeout(20_000)
        context.add_init_script(TELL)
        self.contexts.append(context)
        page = context.new_page()
        self._watch(page, origin)
        page.goto(f"{url}{'&' if '?' in url else '?'}token={TOKENS[origin]}")
        return page

    def _watch(self, page, origin):
        def dismiss(dialog):
            self.problems.append(f"a dialog: {dialog.message}")
            dialog.dismiss()

        def asked(request):
            if not request.url.startswith(f"{origin}/"):
                self.problems.append(f"a request to {request.url[:200]}")

        page.on("console", lambda said: said.type in ("error", "warning") and self.problems.append(f"console: {said.text}"))
        page.on("pageerror", lambda problem: self.problems.append(f"page error: {problem}"))
        page.on("dialog", dismiss)
        page.on("request", asked)

    def close(self):
        """Ends all pages; nothing may have gone wrong."""
        for context in self.contexts:
            for page in context.pages:
                page.evaluate("new Promise(requestAnimationFrame)")
            context.close()
        assert not self.problems, self.problems


def page_of(running, name, view="", **query):
    """The address of a view of a session."""
    address = running.session(name).replace("/api/sessions/", "/s/")
    words = "&".join(f"{key}={value}" for key, value in query.items())
    return f"{running.url}{address}{view}" + (f"?{words}" if words else "")


def message(page, index):
    """A message of the conversation that is drawn."""
    return page.get_by_role("article", name=re.compile(rf"^Message {index}, "))


def shows(page, indices):
    """Waits until exactly these messages are listed, in order; a short session in a TALL window is listed whole."""
    script = "() => [...document.querySelectorAll('[role=feed] > article')].map((row) => parseInt(row.ariaLabel?.slice(8)))"
    page.wait_for_function(f"wanted => String(({script})()) === String(wanted)", arg=indices)


def ready(page):
    """Waits until the view has been drawn and nothing is being asked for."""
    page.wait_for_function("() => !document.body.classList.contains('busy') && document.querySelector('main > .view > *')")
    page.wait_for_load_state("load")


def serious(page):
    """What axe finds of serious or critical impact: its rule and where."""
    found = Axe().run(page).response["violations"]
    return [
        (one["id"], node["html"][:120], node["failureSummary"][:200])
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def money(usd):
    """As the page writes it."""
    size = round(abs(usd), 4)
    return f"{'−' if usd < 0 and size else ''}${size:,.{4 if 0 < size < 0.1 else 2}f}"
