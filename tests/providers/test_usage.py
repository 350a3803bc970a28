"""The tokens of one request, as each provider counts them."""

from dataclasses import dataclass

import anthropic.types as anthropic_types
import google.genai.types as gemini_types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types import CompletionUsage
from openai.types.responses import ResponseUsage

from redline.errors import RedlineError, ValidationError
from redline.prices import find_price
from redline.providers.usage import Usage, cost_of, cost_reason, is_long_cached, read_usage

ANTHROPIC = {
    "input_tokens": 4,
    "cache_read_input_tokens": 51_000,
    "cache_creation_input_tokens": 900,
    "output_tokens": 70,
    "cache_creation": {"ephemeral_5m_input_tokens": 900, "ephemeral_1h_input_tokens": 0},
    "service_tier": "standard",
}
CHAT = {
    "prompt_tokens": 2_000,
    "completion_tokens": 70,
    "total_tokens": 2_070,
    "prompt_tokens_details": {"cached_tokens": 1_920, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 50},
}
RESPONSES = {
    "input_tokens": 2_000,
    "input_tokens_details": {"cached_tokens": 1_920, "cache_write_tokens": 40},
    "output_tokens": 70,
    "output_tokens_details": {"reasoning_tokens": 50},
    "total_tokens": 2_070,
}
GEMINI = {
    "promptTokenCount": 2_000,
    "cachedContentTokenCount": 1_920,
    "candidatesTokenCount": 20,
    "thoughtsTokenCount": 50,
    "toolUsePromptTokenCount": 30,
    "totalTokenCount": 2_100,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 2_000}],
}


@pytest.mark.parametrize(
    ("given", "usage"),
    [
        (ANTHROPIC, Usage(4, 70, 51_000, 900)),
        (CHAT, Usage(80, 70, 1_920)),
        (RESPONSES, Usage(40, 70, 1_920, 40)),
        (GEMINI, Usage(110, 70, 1_920)),
        (anthropic_types.Usage.model_validate(ANTHROPIC), Usage(4, 70, 51_000, 900)),
        (anthropic_types.Usage(input_tokens=10, output_tokens=5), Usage(10, 5)),
        (CompletionUsage.model_validate(CHAT), Usage(80, 70, 1_920)),
        (ResponseUsage.model_validate(RESPONSES), Usage(40, 70, 1_920, 40)),
        (gemini_types.GenerateContentResponseUsageMetadata.model_validate(GEMINI), Usage(110, 70, 1_920)),
        (gemini_types.GenerateContentResponseUsageMetadata.model_validate(GEMINI).model_dump(), Usage(110, 70, 1_920)),
        (CompletionUsage(prompt_tokens=7, completion_tokens=2, total_tokens=9).model_dump(), Usage(7, 2)),
        ({"type": "message", "usage": ANTHROPIC, "content": []}, Usage(4, 70, 51_000, 900)),
        ({"choices": [], "usage": CHAT}, Usage(80, 70, 1_920)),
        ({"type": "response.completed", "response": {"output": [], "usage": RESPONSES}}, Usage(40, 70, 1_920, 40)),
        ({"candidates": [], "usageMetadata": GEMINI}, Usage(110, 70, 1_920)),
        ({"inputTokens": 4, "outputTokens": 7, "cacheReadInputTokens": 50, "cacheWriteInputTokens": 9}, Usage(4, 7, 50, 9)),
        (Usage(1, 2, 3, 4), Usage(1, 2, 3, 4)),
    ],
)
def test_a_providers_usage_is_taken_as_it_is(given, usage):
    """As an object, as a dictionary, and within a response; what was cached is counted once, wherever it is put (R15)."""
    assert read_usage(given) == usage


SPLIT = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 800}
BEDROCK = {"inputTokens": 4, "outputTokens": 70, "cacheReadInputTokens": 51_000, "cacheWriteInputTokens": 900}


@pytest.mark.parametrize(
    "given",
    [
        {**ANTHROPIC, "cache_creation": SPLIT},
        {"usage": {**ANTHROPIC, "cache_creation": SPLIT}},
        anthropic_types.Usage.model_validate({**ANTHROPIC, "cache_creation": SPLIT}),
        {**BEDROCK, "cacheCreation": {"ephemeral5mInputTokens": 100, "ephemeral1hInputTokens": 800}},
        {**BEDROCK, "cacheDetails": [{"ttl": "1h", "inputTokens": 800}, {"ttl": "5m", "inputTokens": 100}]},
        {
            "prompt_tokens": 51_904,
            "completion_tokens": 70,
            "prompt_tokens_details": {
                "cached_tokens": 51_000,
                "cache_creation_tokens": 900,
                "cache_creation_token_details": SPLIT,
            },
        },
        {
            "input_tokens": 51_904,
            "output_tokens": 70,
            "cache_read_tokens": 51_000,
            "cache_write_tokens": 900,
            "cache_write_1h_tokens": 800,
        },
    ],
)
def test_one_hour_cache_writes_are_counted_apart(given):
    """As Anthropic, Bedrock and LiteLLM split them, and under Redline's own name."""
    assert read_usage(given) == Usage(4, 70, 51_000, 900, 800)


def test_one_hour_cache_writes_are_part_of_all_cache_writes():
    """A report of more is cut down to what was written at all."""
    assert read_usage({**ANTHROPIC, "cache_creation": {"ephemeral_1h_input_tokens": 901}}) == Usage(4, 70, 51_000, 900, 900)
    assert read_usage({**ANTHROPIC, "cache_creation": None}) == Usage(4, 70, 51_000, 900)
    assert Usage(cache_write_1h_tokens=5) == Usage()


@pytest.mark.parametrize("wrong", [-1, "4", True, 1.5])
def test_one_hour_cache_writes_that_are_no_count_are_refused(wrong):
    """Like any other count."""
    with pytest.raises(ValidationError, match="ephemeral_1h_input_tokens"):
        read_usage({**ANTHROPIC, "cache_creation": {"ephemeral_1h_input_tokens": wrong}})


def test_the_lifetime_that_was_asked_for_decides_where_the_provider_does_not_split():
    """A usage that counts the two caches apart stays as it is."""
    assert Usage(4, 70, 51_000, 900).written_for("1h") == Usage(4, 70, 51_000, 900, 900)
    assert Usage(4, 70, 51_000, 900, 800).written_for("1h").cache_write_1h_tokens == 800
    assert [Usage(4, 70, 51_000, 900).written_for(asked).cache_write_1h_tokens for asked in ("5m", "none", "")] == [0, 0, 0]


@pytest.mark.parametrize(
    ("given", "usage"),
    [
        ({**CHAT, "cache_read_input_tokens": 1_920, "cache_creation_input_tokens": 0}, Usage(80, 70, 1_920)),
        ({"prompt_tokens": 4, "completion_tokens": 7, "cache_read_input_tokens": 51_000}, Usage(4, 7, 51_000)),
        (
            {"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36},
            Usage(36, 7, 64),
        ),
        (
            {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 0}, "cache_read_input_tokens": 60},
            Usage(40, 0, 60),
        ),
        ({"prompt_tokens": 100, "prompt_tokens_details": None, "completion_tokens": None}, Usage(100)),
        ({"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 5}, Usage(40, 5, 60)),
    ],
)
def test_servers_that_mix_the_names_are_understood(given, usage):
    """Gateways report one number under the names of several providers."""
    assert read_usage(given) == usage


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"input_tokens": 4, "cache_read_tokens": 51_000}, 51_004),
        ({"input_tokens": 4, "cache_read_tokens": 51_000, "cache_write_tokens": 900}, 51_904),
        ({"input_tokens": 50_000, "cache_read_tokens": 45_000}, 50_000),
        ({"input_tokens": 50_000, "cache_read_tokens": 45_000, "cache_write_tokens": 5_000}, 50_000),
        ({"input_tokens": 0}, 0),
    ],
)
def test_bare_numbers_are_counted_apart_where_they_cannot_hold_what_was_cached(given, sent):
    """Fewer tokens than were cached are those that were not; else they are all (R15)."""
    assert read_usage(given).input_tokens == sent


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9))
def test_what_was_cached_is_never_more_than_what_was_sent(sent, output, read, written):
    """However the numbers relate."""
    usage = read_usage(
        {"input_tokens": sent, "output_tokens": output, "cache_read_tokens": read, "cache_write_tokens": written}
    )
    assert usage.input_tokens in (sent, sent + read + written)
    assert usage.input_tokens >= read + written
    assert usage.output_tokens == output


@dataclass
class Report:
    input_tokens: int
    output_tokens: int


def test_a_dataclass_is_taken():
    """Frameworks report what was used in one of their own."""
    assert read_usage(Report(10, 5)) == Usage(10, 5)


WRONG = [True, -1, 1.5, float("nan"), "4", [4], {}, 10**13, 10**5000]


@pytest.mark.parametrize("wrong", WRONG, ids=[f"{type(one).__name__}-{place}" for place, one in enumerate(WRONG)])
@pytest.mark.parametrize("report", [ANTHROPIC, CHAT, RESPONSES, GEMINI], ids=["anthropic", "chat", "responses", "gemini"])
def test_what_is_no_count_is_refused(report, wrong):
    """Under any of the names that are read; the error names it."""
    name = next(iter(report))
    with pytest.raises(ValidationError, match="_token"):
        read_usage({**report, name: wrong})


@pytest.mark.parametrize(
    "given", [None, 5, "usage", [], {}, {"tokens": 5}, {"output_tokens": 5}, {"usage": None}, object(), Usage]
)
def test_what_is_no_usage_is_refused(given):
    """The error says what was given, and what to pass."""
    with pytest.raises(ValidationError):
        read_usage(given)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [*CHAT, *RESPONSES, *GEMINI, *ANTHROPIC, *BEDROCK, *SPLIT, "cacheDetails", "usage", "response", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(json_values)
def test_whatever_is_given_there_is_a_usage_or_an_error(given):
    """Never another exception, and never a count below zero."""
    try:
        usage = read_usage(given)
    except RedlineError:
        return
    assert min(usage.fresh_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens) >= 0
    assert 0 <= usage.cache_write_1h_tokens <= usage.cache_write_tokens


PRICE = find_price("claude-opus-4-6")


def test_costs_are_list_prices():
    """Each kind of token at its price; writes to the one-hour cache at their own."""
    expected = 1000 * PRICE.input + 100 * PRICE.output + 10_000 * PRICE.cache_read + 2000 * PRICE.cache_write
    assert cost_of(Usage(1000, 100, 10_000, 2000), PRICE) == pytest.approx(expected / 1e6)
    longer = 1500 * (PRICE.cache_write_1h - PRICE.cache_write)
    assert cost_of(Usage(1000, 100, 10_000, 2000, 1500), PRICE) == pytest.approx((expected + longer) / 1e6)


def test_large_requests_cost_their_tier():
    """Above a tier's size the whole request is dearer."""
    price = find_price("claude-sonnet-4-5")
    assert cost_of(Usage(300_000, 10), price) == pytest.approx((300_000 * 2 * price.input + 10 * 1.5 * price.output) / 1e6)


@pytest.mark.parametrize(
    ("usages", "is_long"),
    [
        ([], False),
        ([Usage(100)], False),
        ([Usage(0, 0, 0, 900)], False),
        ([Usage(0, 0, 0, 900, 900)], True),
        ([Usage(0, 0, 0, 900), Usage(0, 0, 900, 901, 901), Usage(50, 9, 1800)], True),
        ([Usage(0, 0, 0, 900), Usage(0, 0, 900, 900, 900)], False),
    ],
)
def test_a_session_is_long_cached_by_most_of_its_writes(usages, is_long):
    """More than half of all tokens that it wrote went to the one-hour cache."""
    assert is_long_cached(usages) is is_long
    assert is_long_cached(iter(usages)) is is_long


@pytest.mark.parametrize(
    ("usage", "before", "facts", "why"),
    [
        (Usage(100), None, {}, "first"),
        (Usage(0, 0, 100_000, 1000), Usage(0, 0, 99_000, 1000), {}, ""),
        (Usage(0, 0, 0, 101_000), Usage(0, 0, 99_000, 1000), {}, "miss"),
        (Usage(0, 0, 0, 101_000), Usage(0, 0, 99_000, 1000), {"is_expired": True}, "miss, expired"),
        (Usage(0, 0, 9_000, 80_000), Usage(0, 0, 99_000, 1000), {"is_rewritten": True}, "miss, strikes"),
        (Usage(0, 0, 0, 20_000), Usage(0, 0, 99_000, 1000), {}, "compaction"),
        (Usage(900), Usage(0, 0, 99_000, 1000), {}, "first"),
        (Usage(0, 0, 100_000, 40_000), Usage(0, 0, 99_000, 1000), {}, "growth"),
        (Usage(0, 0, 100_000, 0), Usage(0, 0, 99_000, 1000), {"is_repeated": True}, "retry"),
        (Usage(1100), Usage(1000), {}, ""),
    ],
)
def test_why_a_request_was_dear(usage, before, facts, why):
    """Told from its usage and that of the request before."""
    assert cost_reason(usage, before, **facts) == why
