"""The price table that ships with the package: one row a model, each with its source and date."""

from redline.prices.price import Price, Tier

__all__ = ["TABLE"]

_ANTHROPIC = "platform.claude.com: pricing, prompt caching, preserved thinking"
_AS_5_1 = "platform.claude.com: preserved thinking; prices taken to be those of 5.1"
_OPENAI = "developers.openai.com: pricing, prompt caching"
_TRACKED = "genai-prices 0.2.1, litellm 1.108.4: model_prices"
_GOOGLE = "ai.google.dev: pricing, caching"
_AUTUMN, _NOVEMBER = "2026-10", "2026-11-16"

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


def _claude(
    model: str,
    prices: tuple[float, float, float],
    *,
    least: int = 1024,
    window: int = _MILLION,
    tiers: tuple[Tier, ...] = (),
    is_bound: bool = False,
    source: str = _ANTHROPIC,
) -> Price:
    """Anthropic writes for 1.25 times the price of input, and for twice if the cache is to live an hour."""
    paid, output, read = prices
    return Price(
        model=model,
        input=paid,
        output=output,
        cache_read=read,
        cache_write=1.25 * paid,
        cache_write_1h=2.0 * paid,
        min_cached_tokens=least,
        tiers=tiers,
        window_tokens=window,
        binds_reasoning=is_bound,
        source=source,
        date=_AUTUMN,
    )


def _gpt(model: str, prices: tuple[float, float, float], *, window: int = _LESS_ANSWER) -> Price:
    """Since GPT-5.6 OpenAI writes for 1.25 times the price of input, and the cache lives half an hour at least."""
    paid, output, read = prices
    return Price(
        model=model,
        input=paid,
        output=output,
        cache_read=read,
        cache_write=1.25 * paid,
        lifetime_minutes=30,
        tiers=_ABOVE_272K,
        window_tokens=window,
        source=f"{_OPENAI}; window: {_TRACKED}",
        date=_NOVEMBER,
    )


def _plain(
    model: str,
    prices: tuple[float, float, float],
    *,
    window: int,
    least: int = 1024,
    tiers: tuple[Tier, ...] = (),
    source: str = _TRACKED,
) -> Price:
    """Writing to the cache costs what input costs; how long it lives is not promised, some minutes are seen."""
    paid, output, read = prices
    return Price(
        model=model,
        input=paid,
        output=output,
        cache_read=read,
        cache_write=paid,
        lifetime_minutes=10,
        min_cached_tokens=least,
        tiers=tiers,
        window_tokens=window,
        source=source,
        date=_NOVEMBER,
    )


def _gemini(model: str, prices: tuple[float, float, float], *, least: int = 1024, tiers: tuple[Tier, ...] = ()) -> Price:
    return _plain(model, prices, window=_MEBI, least=least, tiers=tiers, source=f"{_GOOGLE}; window: {_TRACKED}")


# A row is the model, and what a million tokens cost in dollars: input, output, input read from the cache.
TABLE: tuple[Price, ...] = (
    _claude("claude-fable-5-2", (10, 50, 0.25), least=512, is_bound=True, source=_AS_5_1),
    _claude("claude-fable-5-1", (10, 50, 0.25), least=512, is_bound=True),
    _claude("claude-mythos-5-2", (10, 50, 0.25), least=512, is_bound=True, source=_AS_5_1),
    _claude("claude-mythos-5-1", (10, 50, 0.25), least=512, is_bound=True),
    _claude("claude-fable-5", (10, 50, 1.0), least=512),
    _claude("claude-mythos-5", (10, 50, 1.0), least=512),
    _claude("claude-opus-5-5", (4, 20, 0.2), least=512, is_bound=True),
    _claude("claude-opus-5", (5, 25, 0.5), least=512),
    _claude("claude-opus-4-8", (5, 25, 0.5)),
    _claude("claude-opus-4-7", (5, 25, 0.5), least=2048),
    _claude("claude-opus-4-6", (5, 25, 0.5), least=4096),
    _claude("claude-opus-4-5", (5, 25, 0.5), least=4096, window=200_000),
    _claude("claude-sonnet-5-5", (2, 10, 0.2), is_bound=True),
    _claude("claude-sonnet-5", (2, 10, 0.2)),
    _claude("claude-sonnet-4-6", (3, 15, 0.3)),
    _claude("claude-sonnet-4-5", (3, 15, 0.3), tiers=_ABOVE_200K),
    _claude("claude-haiku-5-5", (0.1, 0.5, 0.01), tiers=(Tier(100_000, 5.0, 5.0),), is_bound=True),
    _claude("claude-haiku-4-5", (1, 5, 0.1), least=4096, window=200_000),
    _claude("claude-opus-4-1", (15, 75, 1.5), window=200_000),
    _claude("claude-opus-4", (15, 75, 1.5), window=200_000),
    _claude("claude-sonnet-4", (3, 15, 0.3), tiers=_ABOVE_200K),
    _gpt("gpt-6.1-sol", (2, 10, 0.1)),
    _gpt("gpt-6.1-terra", (1, 5, 0.05)),
    _gpt("gpt-6-astra", (10, 50, 1.0)),
    _gpt("gpt-6-sol", (2, 10, 0.2)),
    _gpt("gpt-6-luna", (0.1, 0.5, 0.01)),
    _gpt("gpt-5.6", (4, 20, 0.4)),
    _gpt("gpt-5.6-sol", (4, 20, 0.4)),
    _gpt("gpt-5.6-terra", (2, 12, 0.2)),
    _gpt("gpt-5.6-luna", (0.2, 1.2, 0.02)),
    _plain("gpt-5.5", (5, 30, 0.5), window=_LESS_ANSWER, tiers=_ABOVE_272K),
    _plain("gpt-5.4", (2.5, 15, 0.25), window=_LESS_ANSWER, tiers=_ABOVE_272K),
    _plain("gpt-5.4-mini", (0.75, 4.5, 0.075), window=_SMALL_GPT),
    _plain("gpt-5.4-nano", (0.2, 1.25, 0.02), window=_SMALL_GPT),
    _plain("gpt-5.3-codex", (1.75, 14, 0.175), window=_SMALL_GPT),
    _plain("gpt-5.2", (1.75, 14, 0.175), window=_SMALL_GPT),
    _plain("gpt-5.2-codex", (1.75, 14, 0.175), window=_SMALL_GPT),
    _plain("gpt-5.1", (1.25, 10, 0.125), window=_SMALL_GPT),
    _plain("gpt-5.1-codex", (1.25, 10, 0.125), window=_SMALL_GPT),
    _plain("gpt-5.1-codex-max", (1.25, 10, 0.125), window=_SMALL_GPT),
    _plain("gpt-5.1-codex-mini", (0.25, 2, 0.025), window=_SMALL_GPT),
    _plain("gpt-5", (1.25, 10, 0.125), window=_SMALL_GPT),
    _plain("gpt-5-codex", (1.25, 10, 0.125), window=_SMALL_GPT),
    _plain("gpt-5-mini", (0.25, 2, 0.025), window=_SMALL_GPT),
    _plain("gpt-5-nano", (0.05, 0.4, 0.005), window=_SMALL_GPT),
    _plain("gpt-4.1", (2, 8, 0.5), window=1_047_576),
    _plain("gpt-4.1-mini", (0.4, 1.6, 0.1), window=1_047_576),
    _plain("gpt-4.1-nano", (0.1, 0.4, 0.025), window=1_047_576),
    _plain("gpt-4o", (2.5, 10, 1.25), window=128_000),
    _plain("gpt-4o-mini", (0.15, 0.6, 0.075), window=128_000),
    _plain("o3", (2, 8, 0.5), window=200_000),
    _plain("o3-mini", (1.1, 4.4, 0.55), window=200_000),
    _plain("o4-mini", (1.1, 4.4, 0.275), window=200_000),
    _gemini("gemini-4-argon", (2, 10, 0.1), least=4096),
    _gemini("gemini-3.8-flash", (0.75, 3.75, 0.075)),
    _gemini("gemini-3.7-flash", (0.75, 3.75, 0.075)),
    _gemini("gemini-3.6-flash", (0.75, 3.75, 0.075)),
    _gemini("gemini-3.5-flash", (1.5, 9, 0.15)),
    _gemini("gemini-3.5-flash-lite", (0.3, 2.5, 0.03)),
    _gemini("gemini-3.1-pro", (2, 12, 0.2), tiers=_ABOVE_200K, least=4096),
    _gemini("gemini-3.1-flash-lite", (0.25, 1.5, 0.025)),
    _gemini("gemini-3-pro", (2, 12, 0.2), tiers=_ABOVE_200K, least=4096),
    _gemini("gemini-3-flash", (0.5, 3, 0.05)),
    _gemini("gemini-2.5-pro", (1.25, 10, 0.125), tiers=_ABOVE_200K, least=4096),
    _gemini("gemini-2.5-flash", (0.3, 2.5, 0.03)),
    _gemini("gemini-2.5-flash-lite", (0.1, 0.4, 0.01)),
    _plain("deepseek-v4-pro", (0.66, 1.98, 0.022), least=0, window=_MILLION),
    _plain("deepseek-v4-flash", (0.15, 0.6, 0.003), least=0, window=_MILLION),
    _plain("grok-4.7", (2, 6, 0.5), window=500_000, tiers=_TWICE_ABOVE_200K),
    _plain("grok-4.6", (2, 6, 0.5), window=500_000, tiers=_TWICE_ABOVE_200K),
    _plain("grok-4.5", (2, 6, 0.3), window=500_000, tiers=_TWICE_ABOVE_200K),
    _plain("grok-4.3", (1.25, 2.5, 0.2), window=_MILLION, tiers=_TWICE_ABOVE_200K),
    _plain("grok-code-fast-1", (0.2, 1.5, 0.02), window=256_000),
    _plain("kimi-k3.1-pro", (2, 10, 0.2), window=_MEBI),
    _plain("kimi-k3", (3, 15, 0.3), window=_MEBI),
    _plain("kimi-k2.7-code", (0.95, 4, 0.19), window=262_144),
    _plain("kimi-k2.6", (0.95, 4, 0.16), window=262_144),
    _plain("kimi-k2.5", (0.6, 3, 0.1), window=262_144),
    _plain("glm-5.3", (1.4, 4.4, 0.26), window=_MILLION),
    _plain("glm-5.2", (1.4, 4.4, 0.26), window=_MILLION),
    _plain("glm-5.1", (1.4, 4.4, 0.26), window=200_000),
    _plain("glm-4.7", (0.6, 2.2, 0.11), window=200_000),
    _plain("glm-4.6", (0.6, 2.2, 0.11), window=200_000),
    _plain("minimax-m3", (0.3, 1.2, 0.06), window=_MILLION, tiers=_ABOVE_512K),
    _plain("minimax-m2.7", (0.3, 1.2, 0.06), window=204_800),
    _plain("mistral-large-4", (1.36, 4.18, 0.14), window=_MEBI),
    _plain("mistral-large-2512", (0.5, 1.5, 0.05), window=262_144),
    _plain("mistral-medium-3-5", (1.5, 7.5, 0.15), window=262_144),
    _plain("devstral-2512", (0.4, 2, 0.04), window=262_144),
)
"""Every row that ships. What a source does not say (a lifetime, a minimum) is what is commonly seen. Where a provider counts
the answer in, the window is what is left for input."""
