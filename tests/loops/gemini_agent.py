"""An agent on Google's SDK."""

from google import genai

import redline

REFUSED = genai.errors.ClientError


def tool(name, description, argument):
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"name": name, "description": description, "parameters": schema}


TOOLS = [
    {"functionDeclarations": [tool("Read", "Shows a file.", "file_path"), tool("Bash", "Runs a command.", "command")]},
    redline.recall_tool("gemini"),
]


def connect(url):
    return genai.Client(api_key="none", http_options={"base_url": url})


def from_user(text):
    return {"role": "user", "parts": [{"text": text}]}


def ask(client, messages):
    return client.models.generate_content(model="gemini-3-pro", contents=messages, config={"tools": TOOLS})


def run(client, session):
    """Ask the model until it calls no more tools."""
    while True:
        content = ask(client, session.request().messages).candidates[0].content
        session.add(content.model_dump(mode="json", by_alias=True, exclude_none=True))
        calls = [part.function_call for part in content.parts if part.function_call]
        if not calls:
            return content.parts[-1].text
        answers = [(call, session.use(call.name, call.args)) for call in calls]
        given = [{"id": call.id, "name": call.name, "response": {"output": output}} for call, output in answers]
        session.add({"role": "user", "parts": [{"functionResponse": response} for response in given]})
