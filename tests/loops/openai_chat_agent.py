"""An agent on OpenAI's SDK with Chat Completions: whole and streamed, sync and async."""

import json

import openai

FORMAT = "openai_chat"
MODEL = "gpt-5"
REFUSED = openai.BadRequestError
WITH_USAGE = {"include_usage": True}


def connect(url):
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def connect_async(url):
    return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def from_user(text):
    return {"role": "user", "content": text}


def ask(client, messages):
    return client.chat.completions.create(model=MODEL, messages=messages)


def run(client, session):
    """Ask the model until it calls no more tools."""
    while True:
        answer = client.chat.completions.create(**session.arguments())
        if (said := take(answer, session)) is not None:
            return said


def run_streamed(client, session):
    """The words as they come, then the final completion."""
    while True:
        with client.chat.completions.stream(**session.arguments(stream_options=WITH_USAGE)) as stream:
            shown = "".join(event.delta for event in stream if event.type == "content.delta")
            answer = stream.get_final_completion()
        if (said := take(answer, session)) is not None:
            assert said == shown
            return said


async def run_async(client, session):
    while True:
        answer = await client.chat.completions.create(**session.arguments())
        if (said := take(answer, session)) is not None:
            return said


async def run_streamed_async(client, session):
    while True:
        async with client.chat.completions.stream(**session.arguments(stream_options=WITH_USAGE)) as stream:
            shown = "".join([event.delta async for event in stream if event.type == "content.delta"])
            answer = await stream.get_final_completion()
        if (said := take(answer, session)) is not None:
            assert said == shown
            return said


def run_on_events(client, session):
    """All chunks in a list, without the SDK's help in joining them."""
    while True:
        chunks = list(client.chat.completions.create(**session.arguments(stream=True, stream_options=WITH_USAGE)))
        session.add_response(chunks)
        last = session.talk.messages[-1]
        if "tool_calls" not in last:
            return last["content"]
        for call in last["tool_calls"]:
            give(session, call["id"], call["function"]["name"], call["function"]["arguments"])


def take(answer, session):
    """Keep the answer and run the tools that it calls; its words, if it calls none."""
    session.add_response(answer)
    message = answer.choices[0].message
    if not message.tool_calls:
        return message.content
    for call in message.tool_calls:
        give(session, call.id, call.function.name, call.function.arguments)
    return None


def give(session, call_id, name, arguments):
    given = session.use(name, json.loads(arguments))
    session.add({"role": "tool", "tool_call_id": call_id, "content": given})
