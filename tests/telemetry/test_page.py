"""The page on telemetry: its code runs, and it names every attribute and metric."""

import re
from pathlib import Path

import tests.telemetry.support as support  # skips where the SDK is not installed
from redline import Conversation, Editor
from redline.telemetry import uninstrument
from redline.testing import fake_provider
from tests.telemetry.test_proxy import observed_proxy, post
from tests.test_docs import code_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "telemetry.md"


def test_the_code_of_the_page_runs():
    """Five lines to paste."""
    try:
        for code in code_of(PAGE):
            exec(compile(code, str(PAGE), "exec"), {})
        assert Conversation(support.history(8)).request().messages
    finally:
        uninstrument()


def test_every_attribute_and_metric_is_on_the_page(tmp_path):
    """What is exported is explained."""
    text = PAGE.read_text(encoding="utf-8")
    with fake_provider() as provider, observed_proxy(provider.url, tmp_path, content=True) as running:
        post(running, "anthropic", 8)
        running.settled(1)
    with support.instrumented() as seen:
        Editor().edit([])
    spans = [*running.seen.spans, *seen.spans]
    names = {re.sub(r"\.rule\.\w+\.", ".rule.RULE.", name) for span in spans for name in span.attributes}
    assert len(names) > 20
    assert [name for name in sorted(names | {*running.seen.points()}) if f"`{name}`" not in text] == []
