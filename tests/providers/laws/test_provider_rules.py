"""One table of what providers take and refuse, held against `check`, the fake provider, the SDKs' types and every repair."""

import copy
import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path

import pydantic
import pytest
from anthropic.types.beta import BetaMessageParam
from google.genai.types import Content
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses.response_input_item_param import ResponseInputItemParam

from redline import FORMATS, check, convert, make_legal
from redline.providers.laws import LAWS
from redline.repair import STRATEGIES
from redline.testing import fake_provider

CASES = [json.loads(line) for line in (Path(__file__).parent / "provider_rules.jsonl").read_text().splitlines()]
LEGAL = [case for case in CASES if case["broken"] is None]
ILLEGAL = [case for case in CASES if case["broken"] is not None]
PATHS = {
    "anthropic": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-3-pro:generateContent",
}
MESSAGE_TYPES = {
    "anthropic": pydantic.TypeAdapter(BetaMessageParam),
    "openai_chat": pydantic.TypeAdapter(ChatCompletionMessageParam),
    "openai_responses": pydantic.TypeAdapter(ResponseInputItemParam),
    "gemini": pydantic.TypeAdapter(Content),
}

every_legal = pytest.mark.parametrize("case", LEGAL, ids=lambda case: case["id"])
every_illegal = pytest.mark.parametrize("case", ILLEGAL, ids=lambda case: case["id"])


@pytest.fixture(scope="module")
def provider():
    with fake_provider() as running:
        yield running


def status_of(provider, format, messages):
    """What the provider answers over HTTP."""
    body = json.dumps({"model": "any", FORMATS[format].messages_field: messages}).encode()
    request = urllib.request.Request(provider.url + PATHS[format], body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code


def takes(format, message):
    """Whether the SDK's own type takes a message; its lists are validated only when they are gone through."""
    try:
        go_through(MESSAGE_TYPES[format].validate_python(message))
    except pydantic.ValidationError:
        return False
    return True


def go_through(value):
    if isinstance(value, Mapping):
        for inner in value.values():
            go_through(inner)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes | pydantic.BaseModel):
        for inner in value:
            go_through(inner)


def test_the_table_is_large_and_balanced():
    """At least 98 cases over every format, enough of them legal, each with its source; every law is broken by one."""
    assert len(CASES) >= 98
    assert len({case["id"] for case in CASES}) == len(CASES)
    assert all(case["source"] for case in CASES)
    assert {case["format"] for case in CASES} == set(FORMATS)
    assert {law.name for law in LAWS} == {case["broken"] for case in ILLEGAL}
    assert 2 * len(LEGAL) > len(ILLEGAL)


def test_types_refuse_wrong_shapes():
    """The SDKs' types are no rubber stamp: they refuse what these laws are about."""
    shaped = [case for case in ILLEGAL if case["broken"] in ("call_inputs", "signed_reasoning", "accepted_media")]
    assert [case["id"] for case in shaped if all(takes(case["format"], message) for message in case["messages"])] == []


@every_legal
def test_legal_case_passes_everywhere(case, provider):
    """No problem is found, the provider answers 200, the SDK's types take it, and the repair gives the same objects (R59)."""
    format, messages = case["format"], case["messages"]
    assert check(messages, format=format) == []
    if format in PATHS:
        assert status_of(provider, format, messages) == 200
        assert [message for message in messages if not takes(format, message)] == []
    for strategy in STRATEGIES:
        after = make_legal(messages, format=format, strategy=strategy)
        assert len(after) == len(messages)
        assert all(one is other for one, other in zip(after, messages, strict=True))


@every_illegal
def test_illegal_case_is_refused_everywhere(case, provider):
    """The law that it breaks is named, and the provider answers with 400 (R59)."""
    format, messages = case["format"], case["messages"]
    assert case["broken"] in {problem.law for problem in check(messages, format=format)}
    if format in PATHS:
        assert status_of(provider, format, messages) == 400


@every_illegal
def test_illegal_case_is_made_legal(case, provider):
    """Made legal it passes `check`, the provider and the SDK's types; again nothing changes; the input is untouched (R59)."""
    format, messages = case["format"], case["messages"]
    before = copy.deepcopy(messages)
    for strategy in STRATEGIES:
        after = make_legal(messages, format=format, strategy=strategy)
        assert check(after, format=format) == [], strategy
        again = make_legal(after, format=format, strategy=strategy)
        assert len(again) == len(after), strategy
        assert all(one is other for one, other in zip(again, after, strict=True)), strategy
        assert messages == before, strategy
        if format in PATHS and after:
            assert status_of(provider, format, after) == 200, strategy
            assert [message for message in after if not takes(format, message)] == [], strategy


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_every_case_is_converted_into_something_legal(case, provider):
    """Whatever the source breaks: what `convert` writes, the provider takes and the SDK's types too (R20)."""
    for target in FORMATS:
        done = convert(case["messages"], source=case["format"], target=target)
        assert check(done.messages, format=target) == [], target
        if target in PATHS and done.messages:
            assert status_of(provider, target, done.messages) == 200, target
            assert [message for message in done.messages if not takes(target, message)] == [], target
