"""Sessions that are too much for one request, in the format of each API: pictures, bytes, pixels, tools."""

import base64
import json
import struct
import urllib.error
import urllib.request

PATHS = {
    "anthropic": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-3-pro:generateContent",
}
MODELS = {"anthropic": "claude-haiku-4-5", "openai_chat": "gpt-5", "openai_responses": "gpt-5", "gemini": "gemini-3-pro"}
FIELDS = {"anthropic": "messages", "openai_chat": "messages", "openai_responses": "input", "gemini": "contents"}


def png(width, height, padding=0):
    """The header of a picture, and so many bytes more, in base64."""
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + struct.pack(">II", width, height)
    return base64.b64encode(head + b"\x08\x02\0\0\0" + b"\0" * (4 + padding)).decode()


def screenshots(format, count, *, width=1280, height=800, padding=0, at_once=1):
    """A session in which a tool is asked for a screenshot again and again; several come at once where that is shorter."""
    messages = [said(format, "Look at the page.")]
    for number in range(0, count, at_once):
        pictures = [png(width, height, padding)] * min(at_once, count - number)
        messages += _turn(format, number, pictures)
    return messages


def said(format, words):
    return {"role": "user", "parts": [{"text": words}]} if format == "gemini" else {"role": "user", "content": words}


def _turn(format, number, pictures):
    call, arguments = f"call_{number}", {"page": number}
    match format:
        case "anthropic":
            shown = [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": one}} for one in pictures
            ]
            return [
                {"role": "assistant", "content": [{"type": "tool_use", "id": call, "name": "screenshot", "input": arguments}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": shown}]},
            ]
        case "openai_chat":
            function = {"name": "screenshot", "arguments": json.dumps(arguments)}
            shown = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{one}"}} for one in pictures]
            return [
                {"role": "assistant", "content": None, "tool_calls": [{"id": call, "type": "function", "function": function}]},
                {"role": "tool", "tool_call_id": call, "content": "Taken."},
                {"role": "user", "content": shown},
            ]
        case "openai_responses":
            shown = [{"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{one}"} for one in pictures]
            return [
                {"type": "function_call", "call_id": call, "name": "screenshot", "arguments": json.dumps(arguments)},
                {"type": "function_call_output", "call_id": call, "output": shown},
            ]
    shown = [{"inlineData": {"mimeType": "image/png", "data": one}} for one in pictures]
    answer = {"functionResponse": {"name": "screenshot", "response": {"output": "Taken."}}}
    return [
        {"role": "model", "parts": [{"functionCall": {"name": "screenshot", "args": arguments}}]},
        {"role": "user", "parts": [answer, *shown]},
    ]


def tools(format, count):
    """So many functions, of which the last is the one that the sessions call."""
    names = [f"tool_{number}" for number in range(count - 1)] + ["screenshot"]
    schema = {"type": "object", "properties": {}}
    match format:
        case "anthropic":
            return [{"name": name, "input_schema": schema} for name in names]
        case "openai_chat":
            return [{"type": "function", "function": {"name": name, "parameters": schema}} for name in names]
        case "openai_responses":
            return [{"type": "function", "name": name, "parameters": schema} for name in names]
    return [{"functionDeclarations": [{"name": name, "parameters": schema} for name in names]}]


def body_of(format, messages, **fields):
    """A request's body."""
    model = {} if format == "gemini" else {"model": MODELS[format]}
    return json.dumps({**model, FIELDS[format]: messages, **fields}).encode()


def post(url, format, body):
    """The status and the answer of a request over HTTP."""
    headers = {"Content-Type": "application/json", "x-api-key": "none"}
    request = urllib.request.Request(url + PATHS[format], body, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


def picture_count(messages):
    """How many pictures are in messages."""
    return json.dumps(messages).count("iVBORw0KGgo")
