"""LiteLLM through the story: its SDK, and its proxy as a process of its own."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import redline
from redline.agents.launching.runs import free_port
from redline.record import JsonlLog
from redline.record.records import SessionNamed
from redline.rules import HistoricalReads
from redline.testing import fake_provider
from redline.testing.builders import asks, conversation, says
from tests.adapters.story import ROOT, AdapterStory, needs, reported_usage, results, tokens

pytestmark = needs("litellm")


class TestLiteLlm(AdapterStory):
    agent = "litellm_agent"
    ways = (
        ("openai_chat", "async"),
        ("openai_chat", "stream"),
        ("openai_chat", "sync"),
        ("openai_responses", "async"),
        ("openai_responses", "stream"),
        ("openai_responses", "sync"),
        ("anthropic", "async"),
        ("anthropic", "stream"),
    )


RULES = 'schedule = "eager"\nwords = "en"\nrules = [{name = "historical_reads", keep_recent = 2}]\n'
READS = 5
TURNS = [
    turn for number in range(READS) for turn in asks("read_file", {"path": "a.py"}, f"text {number}\n" * 50, id=f"c{number}")
]
STRUCK = [f"c{number}" for number in range(READS - 2)]
ROUTES = {
    "openai_chat": ("/v1/chat/completions", "gpt", "messages"),
    "openai_responses": ("/v1/responses", "gpt", "input"),
    "anthropic": ("/v1/messages", "claude", "messages"),
}


def history(format):
    """A file that was read several times."""
    return conversation(format, [says("user", "What does it do?"), *TURNS])


def struck(body, format):
    return [id for id, text in results(body, format).items() if "text" not in text]


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    """LiteLLM's proxy as a process, with the ready handler, in front of the fake provider."""
    folder = tmp_path_factory.mktemp("litellm")
    (folder / "redline.toml").write_text(RULES)
    port = free_port()
    with fake_provider() as provider:
        models = {"gpt": ("openai/gpt-5", f"{provider.url}/v1"), "claude": ("anthropic/claude-sonnet-4-6", provider.url)}
        listed = [
            {"model_name": name, "litellm_params": {"model": model, "api_base": url, "api_key": "none"}}
            for name, (model, url) in models.items()
        ]
        config = {"model_list": listed, "litellm_settings": {"callbacks": "redline.adapters.litellm.handler"}}
        (folder / "config.yaml").write_text(json.dumps(config))
        settings = {
            **os.environ,
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_MASTER_KEY": "sk-1",
            "NO_PROXY": "127.0.0.1",
            "REDLINE_STORE": str(folder / "chats"),
            "REDLINE_POLICY": str(folder / "redline.toml"),
            "PYTHONPATH": str(ROOT / "src"),
        }
        command = [str(Path(sys.executable).with_name("litellm")), "--config", "config.yaml", "--host", "127.0.0.1"]
        with (folder / "proxy.log").open("wb") as log:
            process = subprocess.Popen([*command, "--port", str(port)], cwd=folder, env=settings, stdout=log, stderr=log)
        try:
            wait_for(f"http://127.0.0.1:{port}/health/liveliness", process, folder / "proxy.log")
            yield f"http://127.0.0.1:{port}", provider, folder / "chats"
        finally:
            process.terminate()
            process.wait(30)


def wait_for(url, process, log):
    for _ in range(600):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=5).close()
            return
        assert process.poll() is None, log.read_text()[-4000:]
        time.sleep(0.2)
    pytest.fail(f"LiteLLM's proxy does not answer: {log.read_text()[-4000:]}")


def post(url, body, **headers):
    sent = {"Content-Type": "application/json", "Authorization": "Bearer sk-1", **headers}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), sent), timeout=60) as answer:
        return answer.read()


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("format", ROUTES)
def test_the_proxy_edits_what_passes(proxy, format, streams):
    """The client sends its history whole, the provider gets the strikes, and the usage is recorded under the client's name."""
    url, provider, store = proxy
    path, model, field = ROUTES[format]
    before = sum(1 for _ in reported_usage(store))
    body = {"model": model, field: history(format), "max_tokens": 100} | ({"stream": True} if streams else {})
    if format == "openai_responses":
        body["max_output_tokens"] = body.pop("max_tokens")
    post(f"{url}{path}", body, **{"x-litellm-session-id": f"{format} {streams}"})
    sent = provider.exchanges[-1].body
    assert struck(sent, format) == STRUCK
    assert redline.check(sent[field], format=format) == []
    for _ in range(100):
        if sum(1 for _ in reported_usage(store)) > before:
            break
        time.sleep(0.1)
    assert list(reported_usage(store)).count(tokens(provider.exchanges[-1].answer)) >= 1
    assert sum(1 for _ in reported_usage(store)) == before + 1
    joined = [one.record.session for log in store.glob("*.jsonl") for one in JsonlLog(log).read() if is_joined(one)]
    assert f"{format} {streams}" in joined


def is_joined(stored):
    return isinstance(stored.record, SessionNamed)


@pytest.mark.filterwarnings("default")
class TestCallback:
    """The callback inside of a program."""

    @pytest.fixture
    def litellm(self, monkeypatch):
        monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        litellm = pytest.importorskip("litellm")
        monkeypatch.setattr(litellm, "callbacks", [])
        return litellm

    def handler(self, litellm, **settings):
        from redline.adapters.litellm import RedlineHandler

        policy = redline.Policy(rules=[HistoricalReads(keep_recent=2)], words=redline.EN, schedule="eager")
        handler = RedlineHandler(redline.Editor(policy=policy, **settings))
        litellm.callbacks.append(handler)
        return handler

    @pytest.mark.parametrize(
        ("function", "model", "base", "format", "sent_as"),
        [
            ("anthropic_messages", "openai/gpt-5", "/v1", "anthropic", "openai_responses"),
            ("aresponses", "anthropic/claude-sonnet-4-6", "", "openai_responses", "anthropic"),
            ("acompletion", "openai/responses/gpt-5", "/v1", "openai_chat", "openai_responses"),
            ("acompletion", "anthropic/claude-sonnet-4-6", "", "openai_chat", "anthropic"),
        ],
    )
    def test_a_call_that_is_turned_into_another_is_edited_once(self, litellm, function, model, base, format, sent_as):
        """LiteLLM asks callbacks for both calls; what was struck in the first is no news in the second."""
        handler = self.handler(litellm)
        given = history(format)
        with fake_provider() as provider:
            where = {"api_base": f"{provider.url}{base}", "api_key": "none"}
            told = {"max_tokens": 100} if function == "anthropic_messages" else {}
            asyncio.run(getattr(litellm, function)(model=model, **{ROUTES[format][2]: given}, **told, **where))
        assert struck(provider.exchanges[-1].body, sent_as) == STRUCK
        assert given == history(format)
        assert handler.editor.recorded(given, format=format).is_changed

    def test_a_mistake_of_ours_does_not_stop_the_call(self, litellm, caplog):
        """An Editor that fails: what was given is sent."""

        def broken():
            raise RuntimeError("the clock stands still")

        self.handler(litellm, clock=broken)
        with fake_provider() as provider:
            where = {"api_base": f"{provider.url}/v1", "api_key": "none"}
            asyncio.run(litellm.acompletion(model="openai/gpt-5", messages=history("openai_chat"), **where))
        given = {"messages": history("openai_chat")}
        assert results(provider.exchanges[-1].body, "openai_chat") == results(given, "openai_chat")
        assert "the clock stands still" in caplog.text

    def test_messages_by_position_pass_and_are_told(self, litellm, caplog):
        """Callbacks are not shown them, which is easily overlooked."""
        self.handler(litellm)
        with fake_provider() as provider:
            where = {"api_base": f"{provider.url}/v1", "api_key": "none"}
            asyncio.run(litellm.acompletion("openai/gpt-5", history("openai_chat"), **where))
        assert struck(provider.exchanges[-1].body, "openai_chat") == []
        assert "by name" in caplog.text

    def test_what_was_refused_is_left_alone(self, litellm):
        """After a refusal of changed messages the conversation is sent as it comes."""
        handler = self.handler(litellm)
        made = handler.edit_kwargs(model="gpt-5", messages=history("openai_chat"))
        refusal = litellm.BadRequestError("no", model="gpt-5", llm_provider="openai")
        asyncio.run(handler.async_post_call_failure_deployment_hook(made, refusal, None))
        again = handler.edit_kwargs(model="gpt-5", messages=history("openai_chat"))
        assert (made["messages"] != history("openai_chat"), again["messages"]) == (True, history("openai_chat"))

    def test_clients_of_the_proxy_are_kept_apart(self, litellm):
        """Each key has histories of its own, and what a subscription pays for is not touched."""
        handler = self.handler(litellm)
        for key in ("one", "two"):
            handler.edit_kwargs(model="gpt-5", messages=history("openai_chat"), metadata={"user_api_key_hash": key})
        assert handler.editor.recorded(history("openai_chat"), namespace="label-one", format="openai_chat").is_changed
        assert not handler.editor.recorded(history("openai_chat"), format="openai_chat").is_changed
        paid = {"model": "gpt-5", "messages": history("openai_chat"), "litellm_metadata": {"used_client_oauth_token": True}}
        assert handler.edit_kwargs(**paid) == paid

    def test_history_kept_by_the_service_is_untouched(self, litellm):
        """Only what is new is sent then; and one text is no history."""
        handler = self.handler(litellm)
        rest = history("openai_responses")[2:]
        for kept in ({"input": rest, "previous_response_id": "resp_1"}, {"input": rest}, {"input": "hi"}):
            assert handler.edit_kwargs(model="gpt-5", **kept)["input"] == kept["input"]

    def test_answers_may_be_in_the_list_as_they_came(self, litellm):
        """Objects of LiteLLM are read like dictionaries, and those that are not struck stay what they are."""
        handler = self.handler(litellm)
        given = [litellm.Message(**one) if one["role"] == "assistant" else one for one in history("openai_chat")]
        sent = handler.edit_kwargs(model="gpt-5", messages=given)["messages"]
        assert [number for number, one in enumerate(sent) if one is not given[number]] == [2, 4, 6]

    def test_an_editor_has_its_own_policy(self, litellm):
        """Two policies at once are a mistake."""
        from redline.adapters.litellm import RedlineHandler

        with pytest.raises(redline.ValidationError, match="own policy"):
            RedlineHandler(redline.Editor(), policy="careful")


@pytest.mark.filterwarnings("default")
def test_a_sync_call_that_is_not_edited_is_told_once(caplog, monkeypatch):
    """R160: LiteLLM asks no callback before `completion`; the first that goes out as it is says so, and says what to do."""
    import litellm

    from redline.adapters.litellm import RedlineHandler

    handler = RedlineHandler(policy=redline.Policy(rules=[HistoricalReads(keep_recent=2)], schedule="eager"))
    monkeypatch.setattr(litellm, "callbacks", [handler])
    monkeypatch.setattr(litellm, "input_callback", [])  # LiteLLM remembers the handlers of other tests
    with fake_provider() as provider:
        settings = {"model": "openai/gpt-5", "api_base": f"{provider.url}/v1", "api_key": "none"}
        router = litellm.Router([{"model_name": "gpt", "litellm_params": settings}])
        litellm.responses(input=history("openai_responses"), **settings)
        asyncio.run(litellm.acompletion(messages=history("openai_chat"), **settings))
        assert told_by_redline(caplog) == []
        litellm.completion(messages=history("openai_chat"), **settings)
        list(litellm.completion(messages=history("openai_chat"), stream=True, **settings))
        router.completion("gpt", history("openai_chat"))
    assert [struck(one.body, "openai_chat") for one in provider.exchanges[1:]] == [STRUCK, [], [], []]
    assert struck(provider.exchanges[0].body, "openai_responses") == STRUCK
    (said,) = told_by_redline(caplog)
    assert "litellm.completion(**handler.edit_kwargs(model=…, messages=…))" in said


@pytest.mark.filterwarnings("default")
def test_sync_calls_that_are_edited_by_hand_are_not_told_of(caplog, monkeypatch):
    """R160: who passes the arguments through the handler gets the strikes, and no warning."""
    import litellm

    from redline.adapters.litellm import RedlineHandler

    handler = RedlineHandler(policy=redline.Policy(rules=[HistoricalReads(keep_recent=2)], schedule="eager"))
    monkeypatch.setattr(litellm, "callbacks", [handler])
    monkeypatch.setattr(litellm, "input_callback", [])  # LiteLLM remembers the handlers of other tests
    with fake_provider() as provider:
        settings = {"model": "openai/gpt-5", "api_base": f"{provider.url}/v1", "api_key": "none"}
        litellm.completion(**handler.edit_kwargs(messages=history("openai_chat"), **settings))
    assert [struck(one.body, "openai_chat") for one in provider.exchanges] == [STRUCK]
    assert told_by_redline(caplog) == []


def told_by_redline(caplog):
    return [record.message for record in caplog.records if record.name == "redline.adapters"]
