"""An agent on OpenAI's SDK with Responses: whole and streamed, sync and async."""

import json

import openai

FORMAT = "openai_responses"
MODEL = "gpt-5"
REFUSED = openai.BadRequestError


def connect(url):
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def connect_async(url):
    return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def from_user(text):
    return {"role": "user", "content": text}


def ask(client, messages):
    return client.responses.create(model=MODEL, input=messages, store=False)


def run(client, session):
    """Ask the model until it calls no more tools."""
    while True:
        answer = client.responses.create(**session.arguments(store=False))
        if (said := take(answer, session)) is not None:
            return said


def run_streamed(client, session):
    """The words as they come, then the final response."""
    while True:
        with client.responses.stream(**session.arguments(store=False)) as stream:
            shown = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
            answer = stream.get_final_response()
        if (said := take(answer, session)) is not None:
            assert said == shown
            return said


async def run_async(client, session):
    while True:
        answer = await client.responses.create(**session.arguments(store=False))
        if (said := take(answer, session)) is not None:
            return said


async def run_streamed_async(client, session):
    while True:
        async with client.responses.stream(**session.arguments(store=False)) as stream:
            shown = "".join([event.delta async for event in stream if event.type == "response.output_text.delta"])
            answer = await stream.get_final_response()
        if (said := take(answer, session)) is not None:
            assert said == shown
            return said


def run_on_events(client, session):
    """The last event, which holds the response."""
    while True:
        *_, last = client.responses.create(**session.arguments(store=False, stream=True))
        if (said := take(last.response, session, given=last)) is not None:
            return said


def take(answer, session, given=None):
    """Keep the answer and run the tools that it calls; its words, if it calls none."""
    session.add_response(given or answer)
    calls = [item for item in answer.output if item.type == "function_call"]
    if not calls:
        return answer.output_text
    for call in calls:
        output = session.use(call.name, json.loads(call.arguments))
        session.add({"type": "function_call_output", "call_id": call.call_id, "output": output})
    return None
