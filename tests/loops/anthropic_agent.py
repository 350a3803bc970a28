"""An agent on Anthropic's SDK: whole and streamed, sync and async."""

import anthropic

FORMAT = "anthropic"
MODEL = "claude-opus-4-5"
REFUSED = anthropic.BadRequestError


def connect(url):
    return anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)


def connect_async(url):
    return anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0)


def from_user(text):
    return {"role": "user", "content": text}


def ask(client, messages):
    return client.messages.create(model=MODEL, max_tokens=1000, messages=messages)


def run(client, session):
    """Ask the model until it calls no more tools."""
    while True:
        answer = client.messages.create(**session.arguments(max_tokens=1000))
        if (said := take(answer, session)) is not None:
            return said


def run_streamed(client, session):
    """The words as they come, then the final message."""
    while True:
        with client.messages.stream(**session.arguments(max_tokens=1000)) as stream:
            shown = "".join(stream.text_stream)
            answer = stream.get_final_message()
        if (said := take(answer, session)) is not None:
            assert said == shown
            return said


async def run_async(client, session):
    while True:
        answer = await client.messages.create(**session.arguments(max_tokens=1000))
        if (said := take(answer, session)) is not None:
            return said


async def run_streamed_async(client, session):
    while True:
        async with client.messages.stream(**session.arguments(max_tokens=1000)) as stream:
            shown = "".join([text async for text in stream.text_stream])
            answer = await stream.get_final_message()
        if (said := take(answer, session)) is not None:
            assert said == shown
            return said


def run_on_events(client, session):
    """All events in a list, without the SDK's help in joining them."""
    while True:
        session.add_response(list(client.messages.create(**session.arguments(max_tokens=1000, stream=True))))
        said = session.talk.messages[-1]["content"]
        calls = [(block["id"], block["name"], block["input"]) for block in said if block["type"] == "tool_use"]
        if not calls:
            return said[-1]["text"]
        give(session, calls)


def take(answer, session):
    """Keep the answer and run the tools that it calls; its words, if it calls none."""
    session.add_response(answer)
    calls = [(block.id, block.name, block.input) for block in answer.content if block.type == "tool_use"]
    if not calls:
        return answer.content[-1].text
    return give(session, calls)


def give(session, calls):
    results = [
        {"type": "tool_result", "tool_use_id": call_id, "content": session.use(name, given)} for call_id, name, given in calls
    ]
    session.add({"role": "user", "content": results})
