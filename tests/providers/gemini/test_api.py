"""Bodies of the Gemini API."""

import json

from redline.providers.gemini.api import GeminiApi

SAID = {"role": "user", "parts": [{"text": "Hello."}]}


def read(path="/v1beta/models/gemini-3-pro:generateContent", **fields):
    return GeminiApi().read(json.dumps({"contents": [SAID], **fields}).encode(), path)


def test_model_and_stream_are_in_the_path():
    """Of AI Studio as of Vertex."""
    assert (read().model, read().is_streamed) == ("gemini-3-pro", False)
    vertex = "/v1/projects/p/locations/global/publishers/google/models/gemini-3-flash:streamGenerateContent"
    assert (read(vertex).model, read(vertex).is_streamed) == ("gemini-3-flash", True)


def test_the_preamble_is_what_the_cache_key_holds():
    """Both spellings of a name mean one thing."""
    system, tools = {"parts": [{"text": "Be brief."}]}, [{"functionDeclarations": [{"name": "a"}]}]
    expected = {"systemInstruction": system, "tools": tools}
    assert read(systemInstruction=system, tools=tools, generationConfig={"temperature": 0}).preamble == expected
    assert read(system_instruction=system, tools=tools).preamble == expected
