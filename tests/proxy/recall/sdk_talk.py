"""A client that keeps its own history, in each of the four APIs, by the provider's own SDK; and what it was shown."""

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anthropic
import httpx
import httpx2
import openai
from google import genai
from google.genai import types

from redline.providers import FORMATS
from redline.providers.usage import Usage, read_usage
from redline.proxy.serve import _open_editor
from redline.proxy.settings import ProxySettings
from redline.testing import fake_provider
from redline.values.messages import Text, ToolCall, ToolResult
from redline.values.payloads import encode
from tests.proxy.support import proxy

TOOL = "redline_recall"
MODELS = {
    "anthropic": "claude-opus-5-5",
    "openai_chat": "gpt-5.2",
    "openai_responses": "gpt-5.2",
    "gemini": "gemini-3-pro-preview",
}
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
STRIKING = 'schedule = "eager"\nwords = "en"\nstrategy = "answer"\nrules = [{name = "masked_results", keep_recent = 1}]\n'
"""Strikes every result but the last, as soon as it may."""


@dataclass
class Shown:
    """One answer as the SDK parsed it."""

    text: str
    calls: list
    usage: Usage
    raw: bytes
    """Every byte that came, and whatever else the SDK made of it."""
    native: list = field(default_factory=list)


def output_of(number):
    return f"output number {number}\n" + "".join(f"line {line} of it\n" for line in range(200))


@dataclass
class Talk:
    """Resends its whole history with every request."""

    format: str
    url: str
    is_streamed: bool
    history: list = field(default_factory=list)
    settings: dict = field(default_factory=dict)
    _raw: list = field(default_factory=list)
    _client: Any = None
    """Made once: a client of Google's takes a second."""
    _opened: list = field(default_factory=list)

    def say(self, words):
        self._add("user", (Text(words),))
        return self.ask()

    def answer(self, calls, text=None):
        """The results of the client's calls."""
        results = [ToolResult(call.id, (Text(text or output_of(call.id)),), call.name) for call in calls]
        self._add("tool", results)
        return self.ask()

    def _add(self, role, parts):
        self.history += FORMATS[self.format].compose(role, parts).payloads

    def ask(self):
        self._raw.clear()
        shown = getattr(self, f"_ask_{self.format}")()
        shown.raw = b"".join(self._raw)
        shown.calls = [call for one in shown.native for call in FORMATS[self.format].read(encode(one)).calls]
        self.history += shown.native
        return shown

    def _tapped(self, library):
        """A client of a library that keeps every byte of the answers."""
        raw = self._raw

        class Tap(library.HTTPTransport):
            def handle_request(self, request):
                response = super().handle_request(request)
                inner = response.stream

                class Kept(library.SyncByteStream):
                    def __iter__(self):
                        for chunk in inner:
                            raw.append(chunk)
                            yield chunk

                    def close(self):
                        inner.close()

                response.stream = Kept()
                return response

        self._opened.append(library.Client(transport=Tap(), timeout=20))
        return self._opened[-1]

    def _ask_anthropic(self):
        client = self._client = self._client or anthropic.Anthropic(
            base_url=self.url, api_key="k", max_retries=0, http_client=self._tapped(httpx2)
        )
        given = {"model": MODELS["anthropic"], "max_tokens": 1000, "messages": self.history, "tools": self.tools()}
        if self.is_streamed:
            with client.messages.stream(**given, **self.settings) as stream:
                final = stream.get_final_message()
        else:
            final = client.messages.create(**given, **self.settings)
        blocks = [block.model_dump(mode="json", exclude_none=True) for block in final.content]
        text = "".join(block.text for block in final.content if block.type == "text")
        native = [{"role": "assistant", "content": blocks}] if blocks else []
        return Shown(text, [], read_usage(final.usage), b"", native)

    def _ask_openai_chat(self):
        client = self._client = self._client or openai.OpenAI(
            base_url=f"{self.url}/v1", api_key="k", max_retries=0, http_client=self._tapped(httpx)
        )
        given = {"model": MODELS["openai_chat"], "messages": self.history, "tools": self.tools()}
        if self.is_streamed:
            with client.chat.completions.stream(**given, stream_options={"include_usage": True}, **self.settings) as stream:
                final = stream.get_final_completion()
        else:
            final = client.chat.completions.create(**given, **self.settings)
        message = final.choices[0].message
        native = message.model_dump(mode="json", exclude_none=True, exclude={"parsed"})
        for call in native.get("tool_calls", ()):
            call["function"].pop("parsed_arguments", None)
            call.pop("index", None)
        native.setdefault("content", None if native.get("tool_calls") else "")
        return Shown(message.content or "", [], read_usage(final.usage), b"", [native])

    def _ask_openai_responses(self):
        client = self._client = self._client or openai.OpenAI(
            base_url=f"{self.url}/v1", api_key="k", max_retries=0, http_client=self._tapped(httpx)
        )
        given = {"model": MODELS["openai_responses"], "input": self.history, "tools": self.tools(), "store": False}
        if self.is_streamed:
            with client.responses.stream(**given, **self.settings) as stream:
                final = stream.get_final_response()
        else:
            final = client.responses.create(**given, **self.settings)
        native = [item.model_dump(mode="json", exclude_none=True) for item in final.output]
        for item in native:
            item.pop("parsed_arguments", None)
            for block in item.get("content") or ():
                block.pop("parsed", None)
        return Shown(final.output_text, [], read_usage(final.usage), b"", native)

    def _ask_gemini(self):
        client = self._client = self._client or genai.Client(
            api_key="k", http_options=types.HttpOptions(base_url=self.url, httpx_client=self._tapped(httpx))
        )
        config = {"tools": self.tools(), "automatic_function_calling": {"disable": True}, **self.settings}
        given = {"model": MODELS["gemini"], "contents": self.history, "config": config}
        if self.is_streamed:
            chunks = list(client.models.generate_content_stream(**given))
        else:
            chunks = [client.models.generate_content(**given)]
        parts: list[dict[str, Any]] = []
        for chunk in chunks:
            for part in (chunk.candidates[0].content.parts or []) if chunk.candidates and chunk.candidates[0].content else []:
                held = part.model_dump(mode="json", by_alias=True, exclude_none=True)
                are_words = parts and set(held) == {"text"} == set(parts[-1])
                if are_words:
                    parts[-1] = {"text": parts[-1]["text"] + held["text"]}
                elif held and held != {"text": ""}:
                    parts.append(held)
        text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
        native = [{"role": "model", "parts": parts}] if parts else []
        return Shown(text, [], read_usage(chunks[-1].usage_metadata), b"", native)

    def tools(self):
        return [FORMATS[self.format].declare_tool("Bash", "Runs a command.", SCHEMA)]


@contextmanager
def recalling(tmp_path, replies, format, *, is_streamed=True, recall="tool", url=None, **settings):
    """A provider that says these turns, a proxy in front of it, and a client whose second result has struck its first."""
    policy = tmp_path / "redline.toml"
    policy.write_text(STRIKING)
    chosen = {"store": str(tmp_path / "store"), "policy": str(policy), "recall": recall, **settings}
    with (
        fake_provider([*BEGAN, *replies], binds_reasoning=format == "anthropic") as provider,
        proxy(url or provider.url, tmp_path, open_editor=lambda: _open_editor(ProxySettings(**chosen)), **chosen) as running,
    ):
        talk = Talk(format, f"http://127.0.0.1:{running.port}", is_streamed)
        try:
            yield talk, provider, running
        finally:
            for client in talk._opened:
                client.close()


BEGAN = [("assistant", (ToolCall(f"c{number}", "Bash", {"command": f"echo {number}"}),)) for number in (1, 2)]
"""What the model says first: with the second result the first is struck."""


def tools_in(body):
    return json.dumps(body.get("tools"))
