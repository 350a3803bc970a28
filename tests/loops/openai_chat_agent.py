"""An agent on OpenAI's SDK, with Chat Completions."""

import json

import openai

import redline

REFUSED = openai.BadRequestError


def tool(name, description, argument):
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TOOLS = [
    tool("Read", "Shows a file.", "file_path"),
    tool("Bash", "Runs a command.", "command"),
    redline.recall_tool("openai_chat"),
]


def connect(url):
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def from_user(text):
    return {"role": "user", "content": text}


def ask(client, messages):
    return client.chat.completions.create(model="gpt-5", tools=TOOLS, messages=messages)


def run(client, session):
    """Ask the model until it calls no more tools."""
    while True:
        answer = ask(client, session.request().messages).choices[0].message
        session.add(answer.model_dump(exclude_none=True))
        if not answer.tool_calls:
            return answer.content
        for call in answer.tool_calls:
            given = session.use(call.function.name, json.loads(call.function.arguments))
            session.add({"role": "tool", "tool_call_id": call.id, "content": given})
