"""The price of a model by any of its names: from your own table, the one that ships, or the package `genai-prices`."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from redline.errors import MissingExtraError, ValidationError
from redline.prices.price import Price, Tier

_TRACKED = "genai-prices 0.2.1, litellm 1.108.4: model_prices"
_ANTHROPIC = "platform.claude.com: pricing, prompt caching, preserved thinking"
_AS_5_1 = "platform.claude.com: preserved thinking; prices taken to be those of 5.1"
_NOVEMBER = "2026-11-16"
_SEEN_AT_OPENAI = {"source": f"developers.openai.com: pricing, prompt caching; window: {_TRACKED}", "date": _NOVEMBER}

_ABOVE_512K = (Tier(512_000, 2.0, 2.0),)
_ABOVE_272K = (Tier(272_000, 2.0, 1.5),)
_ABOVE_200K = (Tier(200_000, 2.0, 1.5),)
_TWICE_ABOVE_200K = (Tier(200_000, 2.0, 2.0),)
_MILLION = 1_000_000
_MEBI = 1_048_576
_LESS_ANSWER = 922_000
"""A window of 1,050,000 tokens, less the 128,000 that OpenAI keeps for the answer."""
_SMALL_GPT = 272_000
"""A window of 400,000 tokens, less the 128,000 for the answer."""

# Anthropic writes for 1.25 times the price of input, and for twice if the cache is to live an hour. Since GPT-5.6 OpenAI writes
# for 1.25 times the price, and the cache lives half an hour at least. Of others writing costs what input costs; how long the
# cache lives is not promised, some minutes are seen.
_CLAUDE = {"write": 1.25, "write_1h": 2.0, "window_tokens": _MILLION, "source": _ANTHROPIC, "date": "2026-10"}
_GPT = {"write": 1.25, "lifetime_minutes": 30, "tiers": _ABOVE_272K, "window_tokens": _LESS_ANSWER, **_SEEN_AT_OPENAI}
_PLAIN = {"write": 1, "lifetime_minutes": 10, "source": _TRACKED, "date": _NOVEMBER}
_GEMINI = {**_PLAIN, "window_tokens": _MEBI, "source": f"ai.google.dev: pricing, caching; window: {_TRACKED}"}


def _prices(maker: dict[str, Any], models: str, prices: tuple[float, float, float], **facts: Any) -> list[Price]:
    """Models of one price: what a million tokens of input, of output, and of input read from the cache cost in dollars."""
    paid, output, read = prices
    told = {"write_1h": None, **maker, **facts}
    write, write_1h = told.pop("write") * paid, told.pop("write_1h")
    told |= {"input": paid, "output": output, "cache_read": read, "cache_write": write}
    return [Price(model=model, cache_write_1h=write_1h and write_1h * paid, **told) for model in models.split()]


TABLE: tuple[Price, ...] = (
    *_prices(_CLAUDE, "claude-fable-5-2", (10, 50, 0.25), min_cached_tokens=512, binds_reasoning=True, source=_AS_5_1),
    *_prices(_CLAUDE, "claude-fable-5-1", (10, 50, 0.25), min_cached_tokens=512, binds_reasoning=True),
    *_prices(_CLAUDE, "claude-mythos-5-2", (10, 50, 0.25), min_cached_tokens=512, binds_reasoning=True, source=_AS_5_1),
    *_prices(_CLAUDE, "claude-mythos-5-1", (10, 50, 0.25), min_cached_tokens=512, binds_reasoning=True),
    *_prices(_CLAUDE, "claude-fable-5 claude-mythos-5", (10, 50, 1.0), min_cached_tokens=512),
    *_prices(_CLAUDE, "claude-opus-5-5", (4, 20, 0.2), min_cached_tokens=512, binds_reasoning=True),
    *_prices(_CLAUDE, "claude-opus-5", (5, 25, 0.5), min_cached_tokens=512),
    *_prices(_CLAUDE, "claude-opus-4-8", (5, 25, 0.5)),
    *_prices(_CLAUDE, "claude-opus-4-7", (5, 25, 0.5), min_cached_tokens=2048),
    *_prices(_CLAUDE, "claude-opus-4-6", (5, 25, 0.5), min_cached_tokens=4096),
    *_prices(_CLAUDE, "claude-opus-4-5", (5, 25, 0.5), min_cached_tokens=4096, window_tokens=200_000),
    *_prices(_CLAUDE, "claude-sonnet-5-5", (2, 10, 0.2), binds_reasoning=True),
    *_prices(_CLAUDE, "claude-sonnet-5", (2, 10, 0.2)),
    *_prices(_CLAUDE, "claude-sonnet-4-6", (3, 15, 0.3)),
    *_prices(_CLAUDE, "claude-sonnet-4-5", (3, 15, 0.3), tiers=_ABOVE_200K),
    *_prices(_CLAUDE, "claude-haiku-5-5", (0.1, 0.5, 0.01), tiers=(Tier(100_000, 5.0, 5.0),), binds_reasoning=True),
    *_prices(_CLAUDE, "claude-haiku-4-5", (1, 5, 0.1), min_cached_tokens=4096, window_tokens=200_000),
    *_prices(_CLAUDE, "claude-opus-4-1 claude-opus-4", (15, 75, 1.5), window_tokens=200_000),
    *_prices(_CLAUDE, "claude-sonnet-4", (3, 15, 0.3), tiers=_ABOVE_200K),
    *_prices(_GPT, "gpt-6.1-sol", (2, 10, 0.1)),
    *_prices(_GPT, "gpt-6.1-terra", (1, 5, 0.05)),
    *_prices(_GPT, "gpt-6-astra", (10, 50, 1.0)),
    *_prices(_GPT, "gpt-6-sol", (2, 10, 0.2)),
    *_prices(_GPT, "gpt-6-luna", (0.1, 0.5, 0.01)),
    *_prices(_GPT, "gpt-5.6 gpt-5.6-sol", (4, 20, 0.4)),
    *_prices(_GPT, "gpt-5.6-terra", (2, 12, 0.2)),
    *_prices(_GPT, "gpt-5.6-luna", (0.2, 1.2, 0.02)),
    *_prices(_PLAIN, "gpt-5.5", (5, 30, 0.5), window_tokens=_LESS_ANSWER, tiers=_ABOVE_272K),
    *_prices(_PLAIN, "gpt-5.4", (2.5, 15, 0.25), window_tokens=_LESS_ANSWER, tiers=_ABOVE_272K),
    *_prices(_PLAIN, "gpt-5.4-mini", (0.75, 4.5, 0.075), window_tokens=_SMALL_GPT),
    *_prices(_PLAIN, "gpt-5.4-nano", (0.2, 1.25, 0.02), window_tokens=_SMALL_GPT),
    *_prices(_PLAIN, "gpt-5.3-codex gpt-5.2 gpt-5.2-codex", (1.75, 14, 0.175), window_tokens=_SMALL_GPT),
    *_prices(_PLAIN, "gpt-5.1 gpt-5.1-codex gpt-5.1-codex-max", (1.25, 10, 0.125), window_tokens=_SMALL_GPT),
    *_prices(_PLAIN, "gpt-5.1-codex-mini", (0.25, 2, 0.025), window_tokens=_SMALL_GPT),
    *_prices(_PLAIN, "gpt-5 gpt-5-codex", (1.25, 10, 0.125), window_tokens=_SMALL_GPT),
    *_prices(_PLAIN, "gpt-5-mini", (0.25, 2, 0.025), window_tokens=_SMALL_GPT),
    *_prices(_PLAIN, "gpt-5-nano", (0.05, 0.4, 0.005), window_tokens=_SMALL_GPT),
    *_prices(_PLAIN, "gpt-4.1", (2, 8, 0.5), window_tokens=1_047_576),
    *_prices(_PLAIN, "gpt-4.1-mini", (0.4, 1.6, 0.1), window_tokens=1_047_576),
    *_prices(_PLAIN, "gpt-4.1-nano", (0.1, 0.4, 0.025), window_tokens=1_047_576),
    *_prices(_PLAIN, "gpt-4o", (2.5, 10, 1.25), window_tokens=128_000),
    *_prices(_PLAIN, "gpt-4o-mini", (0.15, 0.6, 0.075), window_tokens=128_000),
    *_prices(_PLAIN, "o3", (2, 8, 0.5), window_tokens=200_000),
    *_prices(_PLAIN, "o3-mini", (1.1, 4.4, 0.55), window_tokens=200_000),
    *_prices(_PLAIN, "o4-mini", (1.1, 4.4, 0.275), window_tokens=200_000),
    *_prices(_GEMINI, "gemini-4-argon", (2, 10, 0.1), min_cached_tokens=4096),
    *_prices(_GEMINI, "gemini-3.8-flash gemini-3.7-flash gemini-3.6-flash", (0.75, 3.75, 0.075)),
    *_prices(_GEMINI, "gemini-3.5-flash", (1.5, 9, 0.15)),
    *_prices(_GEMINI, "gemini-3.5-flash-lite", (0.3, 2.5, 0.03)),
    *_prices(_GEMINI, "gemini-3.1-pro", (2, 12, 0.2), tiers=_ABOVE_200K, min_cached_tokens=4096),
    *_prices(_GEMINI, "gemini-3.1-flash-lite", (0.25, 1.5, 0.025)),
    *_prices(_GEMINI, "gemini-3-pro", (2, 12, 0.2), tiers=_ABOVE_200K, min_cached_tokens=4096),
    *_prices(_GEMINI, "gemini-3-flash", (0.5, 3, 0.05)),
    *_prices(_GEMINI, "gemini-2.5-pro", (1.25, 10, 0.125), tiers=_ABOVE_200K, min_cached_tokens=4096),
    *_prices(_GEMINI, "gemini-2.5-flash", (0.3, 2.5, 0.03)),
    *_prices(_GEMINI, "gemini-2.5-flash-lite", (0.1, 0.4, 0.01)),
    *_prices(_PLAIN, "deepseek-v4-pro", (0.66, 1.98, 0.022), min_cached_tokens=0, window_tokens=_MILLION),
    *_prices(_PLAIN, "deepseek-v4-flash", (0.15, 0.6, 0.003), min_cached_tokens=0, window_tokens=_MILLION),
    *_prices(_PLAIN, "grok-4.7 grok-4.6", (2, 6, 0.5), window_tokens=500_000, tiers=_TWICE_ABOVE_200K),
    *_prices(_PLAIN, "grok-4.5", (2, 6, 0.3), window_tokens=500_000, tiers=_TWICE_ABOVE_200K),
    *_prices(_PLAIN, "grok-4.3", (1.25, 2.5, 0.2), window_tokens=_MILLION, tiers=_TWICE_ABOVE_200K),
    *_prices(_PLAIN, "grok-code-fast-1", (0.2, 1.5, 0.02), window_tokens=256_000),
    *_prices(_PLAIN, "kimi-k3.1-pro", (2, 10, 0.2), window_tokens=_MEBI),
    *_prices(_PLAIN, "kimi-k3", (3, 15, 0.3), window_tokens=_MEBI),
    *_prices(_PLAIN, "kimi-k2.7-code", (0.95, 4, 0.19), window_tokens=262_144),
    *_prices(_PLAIN, "kimi-k2.6", (0.95, 4, 0.16), window_tokens=262_144),
    *_prices(_PLAIN, "kimi-k2.5", (0.6, 3, 0.1), window_tokens=262_144),
    *_prices(_PLAIN, "glm-5.3 glm-5.2", (1.4, 4.4, 0.26), window_tokens=_MILLION),
    *_prices(_PLAIN, "glm-5.1", (1.4, 4.4, 0.26), window_tokens=200_000),
    *_prices(_PLAIN, "glm-4.7 glm-4.6", (0.6, 2.2, 0.11), window_tokens=200_000),
    *_prices(_PLAIN, "minimax-m3", (0.3, 1.2, 0.06), window_tokens=_MILLION, tiers=_ABOVE_512K),
    *_prices(_PLAIN, "minimax-m2.7", (0.3, 1.2, 0.06), window_tokens=204_800),
    *_prices(_PLAIN, "mistral-large-4", (1.36, 4.18, 0.14), window_tokens=_MEBI),
    *_prices(_PLAIN, "mistral-large-2512", (0.5, 1.5, 0.05), window_tokens=262_144),
    *_prices(_PLAIN, "mistral-medium-3-5", (1.5, 7.5, 0.15), window_tokens=262_144),
    *_prices(_PLAIN, "devstral-2512", (0.4, 2, 0.04), window_tokens=262_144),
)
"""Every row that ships. What a source does not say (a lifetime, a minimum) is what is commonly seen. Where a provider counts
the answer in, the window is what is left for input."""


_SUFFIX = r"(?:-(?:\d{4}-\d\d-\d\d|\d{3,}|latest|preview|exp|v\d+|thinking|low|medium|high|xhigh))*"
"""What may follow a model's name without making it another model: dates, revisions, how hard it thinks."""
_SAMPLE_TOKENS = 1_000
"""Few, so that no tier is reached."""


def find_price(model: str, own: Iterable[Price] = ()) -> Price | None:
    """What the model costs; None if nobody knows. `own` comes first, then the table, then `genai-prices` if installed.

    A name may have a provider or a region before it and a date after it: `us.anthropic.claude-opus-4-6-20260205-v1:0`.
    """
    name = _plain_name(model)
    for price in (*own, *TABLE):
        if re.fullmatch(re.escape(_plain_name(price.model)) + _SUFFIX, name):
            return price
    try:
        return tracked_price(model)
    except MissingExtraError:
        return None


def tracked_price(model: str) -> Price | None:
    """What `genai-prices` (the extra `prices`) says of a model. It knows no lifetimes; the usual ones are taken."""
    try:
        from genai_prices import Usage, calc_price
    except ImportError as missing:
        raise MissingExtraError("looking up the price of a model that is not in the table", "prices") from missing

    def dollars(**tokens: int) -> float:
        return float(calc_price(Usage(**tokens), model_ref=model).total_price) * 1_000_000 / _SAMPLE_TOKENS

    try:
        price = dollars(input_tokens=_SAMPLE_TOKENS)
        window = calc_price(Usage(input_tokens=_SAMPLE_TOKENS), model_ref=model).model.context_window
    except LookupError:
        return None
    if not price:  # what is free, or billed in another way, has no price rule
        return None
    return Price(
        model=model,
        input=price,
        output=dollars(output_tokens=_SAMPLE_TOKENS),
        cache_read=dollars(input_tokens=_SAMPLE_TOKENS, cache_read_tokens=_SAMPLE_TOKENS),
        cache_write=dollars(input_tokens=_SAMPLE_TOKENS, cache_write_tokens=_SAMPLE_TOKENS),
        window_tokens=window,
        source="genai-prices",
    )


def _plain_name(model: str) -> str:
    """Without provider, region and revision, and with one spelling of version numbers."""
    name = model.lower().rpartition("/")[2].partition(":")[0].rpartition("anthropic.")[2]
    return name.replace(".", "-").replace("@", "-")


Model = str | Price
"""A model by its name, or by a price of one's own where the table does not know it."""


def check_model(model: object) -> Model | None:
    """Refuse what names no model; None is none."""
    if model is None or isinstance(model, Price) or (isinstance(model, str) and model):
        return model
    raise ValidationError(f"model must be the name of a model or a redline.prices.Price, not {type(model).__name__}")


def model_name(model: Model | None) -> str:
    """The name of a model; empty where nobody said it."""
    return model.model if isinstance(model, Price) else model or ""


def price_of(model: Model | None) -> Price | None:
    """What is known of a model; None for one that nobody knows, and for none."""
    return _found(model) if isinstance(model, str) else model


_found = lru_cache(maxsize=64)(find_price)
