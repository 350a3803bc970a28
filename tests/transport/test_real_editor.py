"""Whole histories through the transports, with a real Editor and a provider that refuses what the real ones refuse."""

import asyncio
import json

import httpx
import httpx2
import pytest

import redline
from redline import EN, AsyncRedlineTransport, Editor, Policy, RedlineTransport
from redline.providers.answers import Answer
from redline.providers.usage import Usage
from redline.testing import asks, conversation, fake_provider, says
from redline.transport.editing import Call, WireEditor
from tests.measure_bytes import PATHS

EAGER = Policy(schedule="eager", words=EN)
LIBRARIES = {"httpx": httpx, "httpx2": httpx2}
MINUTE = 60_000


def histories(format: str) -> list[bytes]:
    """The bodies that an agent sends while it reads one file nine times."""
    turns = [says("user", "Go on.")]
    bodies = []
    for number in range(9):
        turns += asks("Read", {"file_path": "/a.py"}, f"text {number} " * 30, id=f"call_{number}")
        body = {"model": "claude-sonnet-4-5", PATHS[format][1]: conversation(format, turns), "max_tokens": 9}
        bodies.append(json.dumps(body, indent=1).encode())
    return bodies


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("format", PATHS)
def test_strikes_arrive_and_stay(format, library, tmp_path):
    """Each request through a client of its own, over one store: the provider takes all, and what was struck stays struck."""
    with fake_provider() as provider:
        for body in histories(format):
            transport = RedlineTransport(tmp_path, policy=EAGER)
            with LIBRARIES[library].Client(transport=transport) as client:
                answer = client.post(provider.url + PATHS[format][0], content=body, headers={"x-api-key": "k"})
                assert answer.status_code == 200
                answer.read()
    sent = [json.dumps(exchange.body) for exchange in provider.exchanges]
    struck = [sum(f"text {number} text" not in body for number in range(place + 1)) for place, body in enumerate(sent)]
    assert struck == [0, 0, 0, 0, 0, 1, 2, 3, 4]
    for exchange in provider.exchanges:
        assert redline.check(exchange.body[PATHS[format][1]], format=format) == []


@pytest.mark.parametrize("format", PATHS)
def test_async_sends_the_same(format, tmp_path):
    """Byte for byte what the sync transport sends."""
    sent = {}

    async def post_all(provider):
        async with httpx2.AsyncClient(transport=AsyncRedlineTransport(tmp_path / "async", policy=EAGER)) as client:
            for body in histories(format):
                await client.post(provider.url + PATHS[format][0], content=body)

    with fake_provider() as provider:
        asyncio.run(post_all(provider))
        sent["async"] = [exchange.body for exchange in provider.exchanges]
    with fake_provider() as provider, httpx2.Client(transport=RedlineTransport(tmp_path / "sync", policy=EAGER)) as client:
        for body in histories(format):
            client.post(provider.url + PATHS[format][0], content=body)
        sent["sync"] = [exchange.body for exchange in provider.exchanges]
    assert sent["async"] == sent["sync"]
    assert sent["sync"][-1] != json.loads(histories(format)[-1])


def test_reported_usage_is_in_the_record(tmp_path):
    """What the provider reports reaches the log of the conversation."""
    with fake_provider() as provider, httpx2.Client(transport=RedlineTransport(tmp_path, policy=EAGER)) as client:
        client.post(f"{provider.url}/v1/messages", content=histories("anthropic")[0]).read()
    (log,) = tmp_path.glob("*.jsonl")
    assert '"type":"usage"' in log.read_text()


@pytest.mark.parametrize(("named", "meant"), [(None, "careful"), ("careful", "careful"), ("bold", "bold")])
def test_a_policy_is_taken_by_its_name(tmp_path, named, meant):
    """Nobody names one: what is careful, in English."""
    policy = RedlineTransport(tmp_path, policy=named)._wire.editor.policy
    assert policy == Policy.named(meant)
    assert policy.words == EN


def test_a_dry_run_leaves_no_strike_in_force():
    """What was only observed does not count once requests are edited."""
    editor = Editor(policy=EAGER)
    calls = [Call("POST", "/v1/messages", {"x-api-key": "k"}, body) for body in histories("anthropic")]
    observed = [WireEditor(editor, is_dry_run=True).edit(call) for call in calls]
    assert observed[-1].request.strikes
    assert all(edited.body is call.body for edited, call in zip(observed, calls, strict=True))
    first = WireEditor(editor).edit(calls[-1])
    assert len(first.request.new_strikes) == len(first.request.strikes) == 4


def test_a_touched_cache_is_warm():
    """After `cache_touch` marks wait that would go because the cache went cold; the session's name is enough."""
    headers = {"x-api-key": "k", "x-claude-code-session-id": "s"}
    for is_touched in (False, True):
        now = [0.0]
        editor = Editor(policy=Policy(schedule="when_free", words=EN), clock=lambda now=now: now[0])
        wire = WireEditor(editor)
        *bodies, last = histories("anthropic")
        for body in bodies:
            now[0] += 1000
            edited = wire.edit(Call("POST", "/v1/messages", headers, body))
            wire.answered(edited, Answer((), Usage(1000, 5, 8000, 0), "m", "anthropic"))
        now[0] += 6 * MINUTE
        if is_touched:
            wire.edit(Call("POST", "/v1/messages/cache_touch", headers, b"{}"))
        now[0] += 3 * MINUTE
        assert bool(wire.edit(Call("POST", "/v1/messages", headers, last)).request.new_strikes) is not is_touched


@pytest.mark.parametrize("is_refused_anyway", [False, True])
def test_only_our_own_refusals_leave_a_history_alone(is_refused_anyway, tmp_path):
    """What the provider refuses as it was given, too, is not our doing: later requests are edited again."""
    answers, bodies = [], histories("anthropic")

    def provide(request):
        answers.append(request.content)
        is_ours = b"text 0 text" not in request.content
        return httpx2.Response(400 if is_ours or is_refused_anyway else 200, json={"type": "error"})

    transport = RedlineTransport(tmp_path, policy=EAGER, transport=httpx2.MockTransport(provide))
    with httpx2.Client(transport=transport) as client:
        for body in bodies[:5]:
            client.post("http://p/v1/messages", content=body)
        count = len(answers)
        client.post("http://p/v1/messages", content=bodies[5])
        assert answers[count + 1] == bodies[5]
        client.post("http://p/v1/messages", content=bodies[6])
    assert len(answers) == count + 2 + (2 if is_refused_anyway else 1)


@pytest.mark.parametrize("message", [b"{}", b'{"role":"alien","content":"x"}'])
def test_a_message_of_no_known_kind_is_no_mistake_of_ours(message, caplog):
    """Whatever a client sends is passed on as it came, and nobody is alarmed by it."""
    caplog.set_level("INFO")
    wire = WireEditor(Editor())
    call = Call("POST", "/v1/messages", {}, b'{"model":"claude-sonnet-4-5","messages":[' + message + b"]}")
    edited = wire.edit(call)
    assert edited.body is call.body
    assert edited.untouched != "it could not be edited"
    assert all(record.levelname == "INFO" for record in caplog.records)
