"""Spans and metrics of conversations, Editors and transports."""

import asyncio
import logging
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import httpx
import pytest

from redline import Conversation, Editor, Policy, RedlineTransport
from redline.conversation import aio
from redline.prices import find_price
from redline.providers.usage import Usage, cost_of
from redline.record.records import SavedTokens
from redline.rules import HistoricalReads
from redline.schedules.bill import OpenBill, PaidRequest
from redline.telemetry import instrument, uninstrument
from redline.testing import fake_provider
from tests.cli.run import SOURCE
from tests.telemetry.support import FORMATS, MARK, MODELS, call, history, instrumented

MODEL = MODELS["anthropic"]


def editing_client():
    """A program's client, as an SDK would use it."""
    return httpx.Client(transport=RedlineTransport(Editor(policy=Policy.documents())))


def test_a_conversation_gives_a_span_with_what_was_decided():
    """Strikes by rule, tokens, policy and the time it took are attributes of an internal span."""
    with instrumented() as seen:
        request = Conversation(history(8), policy=Policy.documents(), model=MODEL).request()
    (span,) = seen.spans
    assert (span.name, span.kind.name) == ("redline.request", "INTERNAL")
    assert span.attributes["redline.strikes.new"] == span.attributes["redline.strikes.in_force"] == len(request.strikes) == 3
    assert span.attributes["redline.rule.historical_reads.new"] == 3
    assert span.attributes["redline.tokens.saved"] == sum(strike.tokens_saved for strike in request.strikes)
    assert (span.attributes["redline.policy"], span.attributes["redline.outcome"]) == ("documents", "struck")
    assert span.attributes["gen_ai.request.model"] == MODEL
    assert span.end_time - span.start_time == pytest.approx(span.attributes["redline.decide.duration"] * 1e9, abs=1000)


def test_metrics_add_up_over_requests():
    """A strike is counted once, by its rule; what it saves is counted in every request."""
    with instrumented() as seen:
        talk = Conversation(history(8), policy=Policy.documents(), model=MODEL)
        saved = sum(strike.tokens_saved for strike in talk.request().strikes)
        talk.request()
        talk.record_usage(input_tokens=5000, output_tokens=7, cache_read_tokens=3000, cache_write_tokens=1500)
    totals = seen.totals()
    assert seen.totals(redline__rule="historical_reads")["redline.strikes"] == totals["redline.strikes"] == 3
    assert totals["redline.tokens.saved"] == 2 * saved
    assert totals["redline.requests"] == 2
    assert [totals[f"redline.tokens.{kind}"] for kind in ("sent", "output", "cache_read", "cache_write")] == [
        5000,
        7,
        3000,
        1500,
    ]
    assert totals["redline.decide.duration"] > 0


def test_lifted_and_held_are_counted():
    """A strike that lost its ground is counted as lifted; marks that wait are seen in every request."""
    with instrumented() as seen:
        talk = Conversation(history(8), policy=Policy.documents(), model=MODEL)
        talk.request()
        talk.process({"operation": "truncate", "truncate": {"keep_first": 13}})
        lifted = talk.request().lifted
        waits = Conversation(history(5)[:-2], policy=Policy(schedule="when_free"), model=MODEL, clock=lambda: 1e12)
        waits.request()
        waits.record_usage(input_tokens=5000, cache_write_tokens=5000)
        for message in history(6)[11:13]:
            waits.add(message)
        waiting = len(waits.request().held)
    assert seen.totals()["redline.lifted"] == len(lifted) > 0
    assert seen.totals()["redline.held"] == waiting > 0


def test_one_hour_cache_writes_cost_their_own_price():
    """As the provider reports them."""
    usage = Usage(50, 5, 200, 40_000, 30_000)
    with instrumented() as seen:
        editor = Editor(policy=Policy.documents())
        editor.report(editor.edit(history(5)[:-2], model=MODEL), usage)
    assert seen.totals(redline__currency="USD")["redline.cost"] == pytest.approx(cost_of(usage, find_price(MODEL)))


@pytest.mark.parametrize("calls", [1, 2])
def test_money_is_worked_out_as_in_the_accounts(calls):
    """Saved is net of what a rewrite costs: the formula and the price are those of the proxy."""
    before, usage = Usage(100, 5, 4000, 1500), Usage(50, 5, 200, 4000)
    with instrumented() as seen:
        editor = Editor(policy=Policy.documents())
        if calls == 2:
            editor.report(editor.edit(history(5)[:-2], model=MODEL), before)
        request = editor.edit(history(8)[:-2], model=MODEL)
        editor.report(request, usage)
    struck = sum(strike.tokens_saved for strike in request.strikes)
    paid = PaidRequest(before, 0, None, None) if calls == 2 else None
    expected = OpenBill(SavedTokens(0, struck), SavedTokens(0, struck), before=paid).settle(usage, find_price(MODEL)).saved
    assert struck > 1000
    assert seen.totals(redline__currency="USD")["redline.saved"] == pytest.approx(expected)
    assert (expected < 0) == (calls == 2)


def test_a_list_that_is_left_alone_says_so():
    """Why nothing was looked at is an attribute; a reason in the user's own words stays here."""
    with instrumented() as seen:
        editor = Editor(policy=Policy.documents())
        editor.stop_editing(editor.edit(history(8), session="chat"), f"because of {MARK}")
        editor.edit(history(8), session="chat")
        editor.edit([])
    assert [span.attributes.get("redline.untouched") for span in seen.spans] == [
        None,
        "it is left alone",
        "there is no message in it",
    ]
    assert seen.totals(redline__outcome="untouched")["redline.requests"] == 2


def test_the_span_of_a_model_call_takes_the_attributes():
    """Where an instrumentation has a span for the call, there is no second one; another span is the parent of ours."""
    with instrumented() as seen:
        tracer = seen.tracer_provider.get_tracer("an SDK's")
        talk = Conversation(history(8), policy=Policy.documents(), model=MODEL)
        with tracer.start_as_current_span("chat m", attributes={"gen_ai.operation.name": "chat"}):
            talk.request()
        with tracer.start_as_current_span("turn"):
            talk.request()
    names = {span.name: span for span in seen.spans}
    assert list(names) == ["chat m", "redline.request", "turn"]
    assert names["chat m"].attributes["redline.strikes.new"] == 3
    assert [name for name in names["chat m"].attributes if name.startswith("gen_ai.")] == ["gen_ai.operation.name"]
    assert names["redline.request"].parent.span_id == names["turn"].context.span_id
    assert "redline.strikes.new" not in names["turn"].attributes


def test_an_async_conversation_is_in_the_span_of_its_caller(tmp_path):
    """Its thread knows which span is current where it was called."""

    async def ask(tracer):
        with tracer.start_as_current_span("turn"):
            async with await aio.open(tmp_path / "chat.jsonl", policy=Policy.documents()) as talk:
                await talk.request()

    with instrumented() as seen:
        asyncio.run(ask(seen.tracer_provider.get_tracer("a program's")))
    inner, outer = seen.spans
    assert (inner.name, inner.parent.span_id) == ("redline.request", outer.context.span_id)


@pytest.mark.parametrize("format", FORMATS)
def test_a_transport_tells_decision_and_usage(format):
    """What the provider reports for a call of an SDK is counted, under its provider and model."""
    path, body = call(format, 8)
    with instrumented() as seen, fake_provider() as provider, editing_client() as client:
        assert client.post(provider.url + path, json=body).status_code == 200
    totals = seen.totals(gen_ai__request__model=MODELS[format])
    assert totals["redline.tokens.sent"] > 500
    assert totals["redline.strikes"] == 3
    assert "gen_ai.client.token.usage" not in totals


def test_what_a_subscription_pays_for_is_not_counted_as_applied():
    """It is only observed: strikes are those that would have been, and no money was saved."""
    path, body = call("anthropic", 8)
    headers = {"anthropic-beta": "oauth-2025-04-20", "authorization": "Bearer t"}
    with instrumented() as seen, fake_provider() as provider, editing_client() as client:
        client.post(provider.url + path, json=body, headers=headers)
    assert seen.totals(redline__applied=True)["redline.strikes"] == 0
    assert seen.totals(redline__applied=False)["redline.strikes"] == 3
    assert seen.totals()["redline.cost"] > seen.totals()["redline.saved"] == 0


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("content", [False, True])
def test_nothing_that_was_said_is_exported_unless_asked_for(format, content, tmp_path):
    """Texts, paths, arguments, names of tools, prompts and addresses stay here, in every format."""
    path, body = call(format, 8)
    with instrumented(content=content) as seen, fake_provider() as provider:
        where, model = tmp_path / f"{MARK}.jsonl", MODELS[format]
        settings = {"system": MARK} if format == "anthropic" else {}
        with Conversation(history(8, format), log=where, policy=Policy.documents(), model=model, **settings) as talk:
            assert talk.request().strikes
            talk.record_usage(input_tokens=10)
        Editor(policy=Policy.documents()).edit(history(8, format), session=f"/home/{MARK}", model=model)
        with editing_client() as client:
            client.post(provider.url + path, json=body)
    assert len(seen.spans) == 3
    assert (MARK in seen.everything()) == content
    assert MARK not in seen.reader_text()


@dataclass(frozen=True, slots=True)
class OddRule(HistoricalReads):
    """Marks as its parent does, under a name that says too much."""

    name: ClassVar[str] = f"{MARK} of the secret"


def test_names_that_say_too_much_are_not_exported():
    """A rule, a model and a session that are called something odd are given as another name, or as a hash."""
    odd = OddRule.name
    with instrumented() as seen:
        talk = Conversation(history(8), policy=Policy(rules=[OddRule()], schedule="eager"), model=odd)
        assert talk.request().new_strikes[0].rule == odd
        Editor().edit(history(8), session=odd, model=odd)
    assert MARK not in seen.everything()
    assert seen.totals(redline__rule="other")["redline.strikes"] > 0


def test_an_exporter_that_raises_breaks_no_request():
    """What was lost is the exporter's to say."""
    with instrumented() as seen, pytest.MonkeyPatch.context() as patch:
        patch.setattr(seen.exporter, "export", lambda _: 1 / 0)
        assert Conversation(history(8), policy=Policy.documents()).request().strikes
    assert seen.spans == ()


def test_a_tracer_that_raises_breaks_no_request(caplog):
    """The request is made, usage is recorded, and the log says what was lost."""

    class Broken:
        def get_tracer(self, *_):
            return self

        def start_span(self, *_, **__):
            raise RuntimeError("the tracer is broken")

    instrument(Broken())
    try:
        with caplog.at_level(logging.WARNING):
            talk = Conversation(history(8), policy=Policy.documents())
            assert talk.request().strikes
            talk.record_usage(input_tokens=10)
    finally:
        uninstrument()
    assert "Telemetry of a request is lost" in caplog.text


def test_switched_off_nothing_is_imported_and_nothing_told():
    """Without `instrument` no module of OpenTelemetry is loaded; after `uninstrument` no span is made."""
    code = "import sys, redline; redline.Conversation([]).request(); import redline.telemetry, redline.conversation.observing\n"
    code += "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE)}, check=True
    )
    assert done.stdout == "[]\n"
    with instrumented() as seen:
        uninstrument()
        Conversation(history(8)).request()
    assert seen.spans == ()
