"""An agent on OpenAI's SDK, with the Responses API."""

import json

import openai

import redline

REFUSED = openai.BadRequestError


def tool(name, description, argument):
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"type": "function", "name": name, "description": description, "parameters": schema, "strict": False}


TOOLS = [
    tool("Read", "Shows a file.", "file_path"),
    tool("Bash", "Runs a command.", "command"),
    redline.recall_tool("openai_responses"),
]


def connect(url):
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def from_user(text):
    return {"role": "user", "content": text}


def ask(client, messages):
    return client.responses.create(model="gpt-5", tools=TOOLS, input=messages, store=False)


def run(client, session):
    """Ask the model until it calls no more tools."""
    while True:
        answer = ask(client, session.request().messages)
        for item in answer.output:
            session.add(item.model_dump(exclude_none=True))
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return answer.output_text
        for call in calls:
            given = session.use(call.name, json.loads(call.arguments))
            session.add({"type": "function_call_output", "call_id": call.call_id, "output": given})
