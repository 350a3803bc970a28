"""The dashboard asks for nothing that is not exported, under the names that Prometheus sees."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from redline import Conversation, Editor, Policy
from redline.telemetry import instrument, uninstrument
from redline.testing import fake_provider
from redline.transport.editing import WireEditor
from tests.proxy.support import proxy, upstream
from tests.telemetry.support import MODELS, history
from tests.telemetry.test_proxy import answer_with, observer_of, post, refuse_changes

DASHBOARD = Path(__file__).resolve().parents[2] / "docs" / "grafana" / "redline.json"


@pytest.fixture(scope="module")
def scraped(tmp_path_factory):
    """By the name of a sample, the labels it was scraped with, after all has happened that is counted."""
    exporter = pytest.importorskip("opentelemetry.exporter.prometheus")
    client = pytest.importorskip("prometheus_client")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider

    registry = client.CollectorRegistry()
    provider = MeterProvider([exporter.PrometheusMetricReader(registry=registry)])
    everything_happens(TracerProvider(), provider, tmp_path_factory)
    samples = {}
    for family in registry.collect():
        for sample in family.samples:
            samples.setdefault(sample.name, set()).update(sample.labels)
    provider.shutdown()
    return samples


def everything_happens(tracer_provider, meter_provider, folders):
    """Strikes, lifts, an error, and a provider that refuses what was changed."""
    seen = SimpleNamespace(tracer_provider=tracer_provider, meter_provider=meter_provider)
    for provider in (fake_provider(), upstream(answer_with("529 Overloaded")), upstream(refuse_changes)):
        editor = WireEditor(Editor(policy=Policy.documents()))
        with provider as up, proxy(up.url, folders.mktemp("store"), editor=editor, observer=observer_of(seen)) as running:
            post(running, "anthropic", 8)
            running.settled(1)
    instrument(tracer_provider, meter_provider)
    try:
        talk = Conversation(history(8), policy=Policy.documents(), model=MODELS["anthropic"])
        talk.request()
        talk.process({"operation": "truncate", "truncate": {"keep_first": 13}})
        talk.request()
    finally:
        uninstrument()


def asked():
    """Every query of the dashboard."""
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return [target["expr"] for panel in board["panels"] for target in panel["targets"]]


@pytest.mark.parametrize("query", asked())
def test_every_metric_and_label_of_the_dashboard_is_exported(query, scraped):
    """Names with their suffixes, and the labels that are selected or summed by."""
    selectors = re.findall(r"\b((?:redline|gen_ai)_\w+)\{([^}]*)\}", query)
    assert selectors
    for name, labels in selectors:
        assert name in scraped
        assert set(re.findall(r"(\w+)(?:=|!=|=~)\"", labels)) <= scraped[name]
    for grouped in re.findall(r"by \(([^)]*)\)", query):
        wanted = {label.strip() for label in grouped.split(",")}
        assert any(wanted <= scraped[name] for name, _ in selectors)


def test_every_metric_is_on_the_dashboard(scraped):
    """What is exported can be seen."""
    queries = "\n".join(asked())
    families = {re.sub(r"_(bucket|count|sum|created|total)$", "", name) for name in scraped} - {"target_info", "target"}
    assert [name for name in sorted(families) if name not in queries] == []
