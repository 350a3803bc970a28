"""Spans and metrics of the proxy: in this process, and as a user starts it."""

import contextlib
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest.mock import patch

import pytest

from redline.conversation.editor import Editor
from redline.policy.policy import Policy
from redline.testing import fake_provider
from redline.transport.editing import WireEditor
from tests.cli.run import redline
from tests.cli.test_proxy import ask, send, settled, started
from tests.proxy.support import proxy, upstream
from tests.telemetry.support import FORMATS, MARK, MODELS, call, recording

PROVIDERS = {"anthropic": "anthropic", "openai_chat": "openai", "openai_responses": "openai", "gemini": "gcp.gemini"}


def observer_of(seen, **settings):
    from redline.proxy.telemetry import ProxyTelemetry
    from redline.telemetry.instruments import Instruments

    return ProxyTelemetry(Instruments(seen.tracer_provider, seen.meter_provider, **settings), "documents", lambda: None)


@contextlib.contextmanager
def observed_proxy(url, tmp_path, *, is_dry_run=False, **settings):
    """A proxy with the Editor itself, and what it exports."""
    seen = recording()
    editor = WireEditor(Editor(policy=Policy.documents()), is_dry_run=is_dry_run)
    with proxy(url, tmp_path, editor=editor, observer=observer_of(seen, **settings)) as running:
        running.seen = seen
        yield running


def post(running, format, count, **headers):
    path, body = call(format, count)
    return running.ask(path=path, body=json.dumps(body).encode(), headers=[("x-api-key", "k"), *headers.items()])


NAMED = {"x-session-id": "one"}


@pytest.mark.parametrize("format", FORMATS)
def test_a_call_has_the_span_that_the_conventions_name(format, tmp_path):
    """Operation, provider, model, tokens with those cached, and what Redline did, on one client span."""
    with fake_provider() as provider, observed_proxy(provider.url, tmp_path) as running:
        assert post(running, format, 7, **NAMED).status == post(running, format, 8, **NAMED).status == 200
        totals = running.settled(2)["totals"]
    first, second = running.seen.spans
    said = second.attributes
    operation = "generate_content" if format == "gemini" else "chat"
    assert (second.name, second.kind.name) == (f"{operation} {MODELS[format]}", "CLIENT")
    assert (said["gen_ai.operation.name"], said["gen_ai.provider.name"]) == (operation, PROVIDERS[format])
    assert said["gen_ai.request.model"] == MODELS[format]
    for name, total in {
        "input_tokens": "sent_tokens",
        "output_tokens": "output_tokens",
        "cache_read.input_tokens": "read_tokens",
        "cache_write.input_tokens": "written_tokens",
    }.items():
        assert first.attributes[f"gen_ai.usage.{name}"] + said[f"gen_ai.usage.{name}"] == totals[total]
    assert (said["redline.strikes.new"], said["redline.strikes.in_force"]) == (1, 3)
    assert said["redline.rule.historical_reads.in_force"] == 3
    assert (said["redline.policy"], said["redline.applied"]) == ("documents", True)
    assert said["http.response.status_code"] == 200
    assert first.attributes["gen_ai.conversation.id"] == said["gen_ai.conversation.id"]
    assert first.start_time < second.start_time < second.end_time


@pytest.mark.parametrize("is_dry_run", [False, True])
def test_the_numbers_are_those_of_the_accounts(is_dry_run, tmp_path):
    """Tokens, money and strikes agree with what `/redline/status` says; a dry run's are apart."""
    with fake_provider() as provider, observed_proxy(provider.url, tmp_path, is_dry_run=is_dry_run) as running:
        for count in range(3, 10):
            post(running, "anthropic", count)
        report = running.settled(7)["totals"]
    seen = running.seen
    totals = seen.totals()
    kinds = {"sent": "sent_tokens", "output": "output_tokens", "cache_read": "read_tokens", "cache_write": "written_tokens"}
    assert {kind: totals[f"redline.tokens.{kind}"] for kind in kinds} == {kind: report[name] for kind, name in kinds.items()}
    assert totals["redline.cost"] == pytest.approx(report["cost_usd"], abs=1e-6)
    saved, struck = ("would_save_usd", "would_strike_tokens") if is_dry_run else ("saved_usd", "struck_tokens")
    assert seen.totals(redline__applied=not is_dry_run)["redline.saved"] == pytest.approx(report[saved], abs=1e-6)
    assert seen.totals(redline__applied=not is_dry_run)["redline.tokens.saved"] == report[struck] > 1000
    assert totals["redline.requests"] == report["requests"] == 7
    assert seen.totals(gen_ai__token__type="input")["gen_ai.client.token.usage"] == report["sent_tokens"]
    assert totals["gen_ai.client.operation.duration"] > 0


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("content", [False, True])
def test_nothing_that_was_said_is_exported_unless_asked_for(format, content, tmp_path):
    """Nor is the label, the session or the model if it is a text."""
    with fake_provider() as provider, observed_proxy(provider.url, tmp_path, content=content) as running:
        path, body = call(format, 8)
        data = json.dumps(body).encode()
        headers = [("x-session-id", f"a {MARK}"), ("x-api-key", MARK), ("user-agent", MARK)]
        assert running.ask(path=f"/s/{MARK}{path}?q={MARK}", body=data, headers=headers).status == 200
        running.settled(1)
    assert len(running.seen.spans) == 1
    assert (MARK in running.seen.everything()) == content
    assert MARK not in running.seen.reader_text()


def test_the_span_belongs_to_the_trace_of_the_client(tmp_path):
    """A `traceparent` of the client's is the parent."""
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with fake_provider() as provider, observed_proxy(provider.url, tmp_path) as running:
        post(running, "anthropic", 2, traceparent=f"00-{trace}-{parent}-01")
        running.settled(1)
    (span,) = running.seen.spans
    assert (f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}") == (trace, parent)


def answer_with(status):
    def serve(peer):
        while (seen := peer.read_request()) is not None:
            peer.seen.append(seen)
            peer.answer({"error": {"message": MARK}}, status=status)

    return serve


def test_errors_have_a_type(tmp_path):
    """What the provider answers, on the span and in the duration; what it says is not exported."""
    with upstream(answer_with("529 Overloaded")) as up, observed_proxy(up.url, tmp_path) as running:
        post(running, "anthropic", 8)
        running.settled(1)
    (span,) = running.seen.spans
    assert (span.attributes["error.type"], span.status.status_code.name) == ("529", "ERROR")
    assert running.seen.points()["gen_ai.client.operation.duration"][0][0]["error.type"] == "529"
    assert MARK not in running.seen.everything()


def refuse_changes(peer):
    while (seen := peer.read_request()) is not None:
        peer.seen.append(seen)
        peer.answer({"content": []}, status="200 OK" if f"{MARK} 0" in seen.body.decode() else "400 Bad Request")


def test_a_refusal_of_the_provider_is_counted(tmp_path):
    """A changed body that it does not take, and the unchanged one that it does."""
    with upstream(refuse_changes) as up, observed_proxy(up.url, tmp_path) as running:
        assert post(running, "anthropic", 8).status == 200
        running.settled(1)
        post(running, "anthropic", 8)
        running.settled(2)
    first, second = running.seen.spans
    assert (first.attributes["redline.outcome"], first.attributes["redline.refused_status"]) == ("refused", 400)
    assert second.attributes["redline.untouched"] == "it is left alone"
    assert running.seen.totals(redline__refused_by="provider")["redline.refused"] == 1
    assert running.seen.totals().get("redline.strikes", 0) == 0


def test_telemetry_that_raises_costs_no_request_and_no_account(tmp_path):
    """The answer is with the client, and counted, before telemetry is told."""

    class Broken:
        def recorded(self, exchange, entry):
            raise RuntimeError("telemetry is broken")

        def close(self):
            pass

    editor = WireEditor(Editor(policy=Policy.documents()))
    with fake_provider() as provider, proxy(provider.url, tmp_path, editor=editor, observer=Broken()) as running:
        assert [post(running, "anthropic", count).status for count in (7, 8)] == [200, 200]
        assert running.settled(2)["totals"]["requests"] == 2


def test_other_paths_have_no_span(tmp_path):
    """What asks no model is no inference."""
    with upstream() as up, observed_proxy(up.url, tmp_path) as running:
        running.ask("GET", "/v1/models", None)
        running.settled(1)
    assert running.seen.spans == ()


@contextlib.contextmanager
def collector():
    """What OTLP exporters send to, on this machine: by path, the bodies."""
    got = {"/v1/traces": [], "/v1/metrics": []}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            got[self.path].append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", got
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_the_command_exports_to_where_the_variables_say(tmp_path):
    """`redline proxy --otel` with the endpoint of a collector: what is not sent yet is sent when it ends."""
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    with collector() as (url, got), fake_provider() as provider:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
        with (
            patch.dict(os.environ, variables),
            started(provider, tmp_path / "store", "--otel", "--policy", "documents") as process,
        ):
            for count in (7, 8):
                send(process.url, count)
            settled(process.url, 2)
    assert "Traceback" not in process.log
    resources = [one for body in got["/v1/traces"] for one in ExportTraceServiceRequest.FromString(body).resource_spans]
    spans = [span for resource in resources for scope in resource.scope_spans for span in scope.spans]
    assert [span.name for span in spans] == ["chat claude-opus-4-6"] * 2
    names = {one.key: one.value.string_value for one in resources[0].resource.attributes}
    assert names["service.name"] == "redline-proxy"
    sent = [one for body in got["/v1/metrics"] for one in ExportMetricsServiceRequest.FromString(body).resource_metrics]
    assert "redline.saved" in {metric.name for one in sent for scope in one.scope_metrics for metric in scope.metrics}


def test_a_collector_that_is_gone_costs_no_request(tmp_path):
    """Requests pass, and the proxy ends in time."""
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    with (
        fake_provider() as provider,
        patch.dict(os.environ, variables),
        started(provider, tmp_path / "store", "--otel", "--policy", "documents") as process,
    ):
        send(process.url, 8)
        settled(process.url, 1)
        assert ask(process.url, "/redline/health") == {"status": "ok"}
        end = time.monotonic()
    assert time.monotonic() - end < 8
    assert provider.statuses == [200]


def test_an_exporter_that_is_not_installed_is_said_before_it_starts(tmp_path):
    """In a line that says what to do, not when the first request comes."""
    done = redline("proxy", "--otel", "--port", "0", "--store", tmp_path, OTEL_TRACES_EXPORTER="carrier_pigeon")
    assert done.returncode == 2
    assert "no exporter 'carrier_pigeon' for traces" in done.stderr
    assert "Traceback" not in done.stderr


def test_run_hands_the_flag_to_its_proxy(tmp_path):
    """`redline run --otel` starts its proxy with it."""
    done = redline("run", "--otel", "--show", "--", "python", HOME=str(tmp_path))
    assert "--otel" in done.stdout.splitlines()[0]
