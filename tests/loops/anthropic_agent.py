"""An agent on Anthropic's SDK."""

import anthropic

import redline

REFUSED = anthropic.BadRequestError

TOOLS = [
    {
        "name": "Read",
        "description": "Shows a file.",
        "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
    },
    {
        "name": "Bash",
        "description": "Runs a command.",
        "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    },
    redline.recall_tool("anthropic"),
]


def connect(url):
    return anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)


def from_user(text):
    return {"role": "user", "content": text}


def ask(client, messages):
    return client.messages.create(model="claude-opus-4-5", max_tokens=1000, tools=TOOLS, messages=messages)


def run(client, session):
    """Ask the model until it calls no more tools."""
    while True:
        answer = ask(client, session.request().messages)
        session.add({"role": "assistant", "content": answer.model_dump(exclude_none=True)["content"]})
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            return answer.content[-1].text
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": session.use(call.name, call.input)} for call in calls
        ]
        session.add({"role": "user", "content": results})
