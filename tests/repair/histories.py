"""Short Anthropic and OpenAI histories for the tests of the repair."""

from redline.providers import FORMATS

ANTHROPIC = FORMATS["anthropic"]
CHAT = FORMATS["openai_chat"]
RESPONSES = FORMATS["openai_responses"]
GEMINI = FORMATS["gemini"]


def text(words):
    return {"type": "text", "text": words}


def use(name):
    return {"type": "tool_use", "id": name, "name": "read", "input": {}}


def result(name, words=None):
    return {"type": "tool_result", "tool_use_id": name, "content": words or f"of {name}"}


def thinking(words="hm"):
    return {"type": "thinking", "thinking": words, "signature": "s"}


def user(*blocks):
    return {"role": "user", "content": [text(block) if isinstance(block, str) else block for block in blocks]}


def assistant(*blocks):
    return {"role": "assistant", "content": [text(block) if isinstance(block, str) else block for block in blocks]}


def calls(*names, content=None):
    """A chat message that calls."""
    listed = [{"id": name, "type": "function", "function": {"name": "read", "arguments": "{}"}} for name in names]
    return {"role": "assistant", "content": content, "tool_calls": listed}


def tool(name):
    return {"role": "tool", "tool_call_id": name, "content": f"of {name}"}


def item_call(name):
    return {"type": "function_call", "call_id": name, "name": "read", "arguments": "{}"}


def item_output(name):
    return {"type": "function_call_output", "call_id": name, "output": f"of {name}"}


def reasoning(name="rs"):
    return {"type": "reasoning", "id": name, "summary": []}


def read(format, payloads):
    return [format.read(payload) for payload in payloads]


def natives(items):
    return [item.message.native for item in items]
