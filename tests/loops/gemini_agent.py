"""An agent on Google's SDK: whole and streamed, sync and async."""

from contextlib import asynccontextmanager

from google import genai

FORMAT = "gemini"
MODEL = "gemini-3-pro"
REFUSED = genai.errors.ClientError


def connect(url):
    return genai.Client(api_key="none", http_options={"base_url": url})


@asynccontextmanager
async def connect_async(url):
    async with genai.Client(api_key="none", http_options={"base_url": url}).aio as client:
        yield client


def from_user(text):
    return {"role": "user", "parts": [{"text": text}]}


def ask(client, messages):
    return client.models.generate_content(model=MODEL, contents=messages)


def run(client, session):
    """Ask the model until it calls no more tools."""
    while True:
        answer = client.models.generate_content(**session.arguments(max_output_tokens=1000))
        if (said := take([answer], session)) is not None:
            return said


def run_streamed(client, session):
    """All chunks in a list, which is what there is at the end of a stream."""
    while True:
        chunks = list(client.models.generate_content_stream(**session.arguments(max_output_tokens=1000)))
        if (said := take(chunks, session)) is not None:
            return said


async def run_async(client, session):
    while True:
        answer = await client.models.generate_content(**session.arguments(max_output_tokens=1000))
        if (said := take([answer], session)) is not None:
            return said


async def run_streamed_async(client, session):
    while True:
        stream = await client.models.generate_content_stream(**session.arguments(max_output_tokens=1000))
        if (said := take([chunk async for chunk in stream], session)) is not None:
            return said


def run_on_events(client, session):
    """The chunks as dictionaries, as they are when they were stored."""
    while True:
        chunks = list(client.models.generate_content_stream(**session.arguments(max_output_tokens=1000)))
        if (said := take(chunks, session, given=[chunk.model_dump() for chunk in chunks])) is not None:
            return said


def take(chunks, session, given=None):
    """Keep the answer and run the tools that it calls; its words, if it calls none."""
    session.add_response(given or (chunks[0] if len(chunks) == 1 else chunks))
    calls = [call for chunk in chunks for call in chunk.function_calls or ()]
    if not calls:
        return "".join(chunk.text or "" for chunk in chunks)
    answers = [(call, session.use(call.name, call.args)) for call in calls]
    results = [{"id": call.id, "name": call.name, "response": {"output": output}} for call, output in answers]
    session.add({"role": "user", "parts": [{"functionResponse": result} for result in results]})
    return None
