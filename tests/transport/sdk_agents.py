"""One question to each API by its own SDK: sync and async, whole and streamed, on either library."""

import anthropic
import httpx
import httpx2
import openai
from google import genai
from google.genai import types

from redline.transport.transport import AsyncRedlineTransport, RedlineTransport

CLIENTS = {
    "httpx": (httpx.Client, httpx.AsyncClient),
    "httpx2": (httpx2.Client, httpx2.AsyncClient),
}


def ask(format, url, library, words, *, is_streamed, **settings):
    """The answer's words to a question that is asked through a transport with these settings."""
    with CLIENTS[library][0](transport=RedlineTransport(**settings)) as http:
        match format:
            case "anthropic":
                client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0, http_client=http)
                if not is_streamed:
                    return client.messages.create(**_anthropic(words)).content[0].text
                with client.messages.stream(**_anthropic(words)) as stream:
                    return "".join(stream.text_stream)
            case "openai_chat":
                client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, http_client=http)
                if not is_streamed:
                    return client.chat.completions.create(**_chat(words)).choices[0].message.content
                return "".join(map(_chunk_words, client.chat.completions.create(**_chat(words), **STREAMED)))
            case "openai_responses":
                client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, http_client=http)
                if not is_streamed:
                    return client.responses.create(**_responses(words)).output_text
                with client.responses.stream(**_responses(words)) as stream:
                    return "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url, httpx_client=http))
        if not is_streamed:
            return client.models.generate_content(**_gemini(words)).text
        return "".join(chunk.text or "" for chunk in client.models.generate_content_stream(**_gemini(words)))


async def ask_async(format, url, library, words, *, is_streamed, **settings):
    """The answer's words to a question that is asked through a transport with these settings."""
    async with CLIENTS[library][1](transport=AsyncRedlineTransport(**settings)) as http:
        match format:
            case "anthropic":
                client = anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0, http_client=http)
                if not is_streamed:
                    return (await client.messages.create(**_anthropic(words))).content[0].text
                async with client.messages.stream(**_anthropic(words)) as stream:
                    return "".join([text async for text in stream.text_stream])
            case "openai_chat":
                client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, http_client=http)
                if not is_streamed:
                    return (await client.chat.completions.create(**_chat(words))).choices[0].message.content
                stream = await client.chat.completions.create(**_chat(words), **STREAMED)
                return "".join([_chunk_words(chunk) async for chunk in stream])
            case "openai_responses":
                client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, http_client=http)
                if not is_streamed:
                    return (await client.responses.create(**_responses(words))).output_text
                async with client.responses.stream(**_responses(words)) as stream:
                    return "".join([event.delta async for event in stream if event.type == "response.output_text.delta"])
        options = types.HttpOptions(base_url=url, httpx_async_client=http)
        models = genai.Client(api_key="k", http_options=options).aio.models
        if not is_streamed:
            return (await models.generate_content(**_gemini(words))).text
        return "".join([chunk.text or "" async for chunk in await models.generate_content_stream(**_gemini(words))])


STREAMED = {"stream": True, "stream_options": {"include_usage": True}}


def _anthropic(words):
    return {"model": "claude-opus-5", "max_tokens": 100, "messages": _messages(words)}


def _chat(words):
    return {"model": "gpt-5", "messages": _messages(words)}


def _responses(words):
    return {"model": "gpt-5", "input": _messages(words), "store": False}


def _gemini(words):
    return {"model": "gemini-3-pro", "contents": [{"role": "user", "parts": [{"text": text}]} for text in words]}


def _messages(words):
    return [{"role": "user", "content": text} for text in words]


def _chunk_words(chunk):
    return "".join(choice.delta.content or "" for choice in chunk.choices)
