"""The price table that ships with the package: one row a model, each with its source and date."""

from redline.prices.price import Price
from redline.prices.rule import Tier

__all__ = ["TABLE"]

_ANTHROPIC = "platform.claude.com: pricing, prompt caching, preserved thinking"
_AS_5_1 = "platform.claude.com: preserved thinking; prices taken to be those of 5.1"
_OPENAI = "developers.openai.com: pricing, prompt caching"
_TRACKED = "litellm model_prices"
_GOOGLE = "ai.google.dev: pricing, caching"
_AUTUMN, _SUMMER = "2026-10", "2026-08-08"

_ABOVE_272K = (Tier(272_000, 2.0, 1.5),)
_ABOVE_200K = (Tier(200_000, 2.0, 1.5),)
_MILLION = 1_000_000


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


def _gpt(model: str, prices: tuple[float, float, float]) -> Price:
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
        source=_OPENAI,
        date=_AUTUMN,
    )


def _plain(
    model: str,
    prices: tuple[float, float, float],
    *,
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
        source=source,
        date=_SUMMER,
    )


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
    _gpt("gpt-6.1-sol", (2, 10, 0.1)),
    _gpt("gpt-6-sol", (2, 10, 0.2)),
    _gpt("gpt-6-luna", (0.1, 0.5, 0.01)),
    _gpt("gpt-5.6", (5, 30, 0.5)),
    _gpt("gpt-5.6-sol", (5, 30, 0.5)),
    _gpt("gpt-5.6-terra", (2, 12, 0.2)),
    _gpt("gpt-5.6-luna", (0.2, 1.2, 0.02)),
    _plain("gpt-5.5", (5, 30, 0.5), tiers=_ABOVE_272K),
    _plain("gpt-5.4", (2.5, 15, 0.25), tiers=_ABOVE_272K),
    _plain("gpt-5.4-mini", (0.75, 4.5, 0.075)),
    _plain("gpt-5.4-nano", (0.2, 1.25, 0.02)),
    _plain("gpt-5.3-codex", (1.75, 14, 0.175)),
    _plain("gpt-5.2", (1.75, 14, 0.175)),
    _plain("gpt-5.2-codex", (1.75, 14, 0.175)),
    _plain("gpt-5.1", (1.25, 10, 0.125)),
    _plain("gpt-5.1-codex", (1.25, 10, 0.125)),
    _plain("gpt-5", (1.25, 10, 0.125)),
    _plain("gpt-5-codex", (1.25, 10, 0.125)),
    _plain("gpt-4.1", (2, 8, 0.5)),
    _plain("gpt-4o", (2.5, 10, 1.25)),
    _plain("o3", (2, 8, 0.5)),
    _plain("o4-mini", (1.1, 4.4, 0.275)),
    _plain("gemini-3.1-pro", (2, 12, 0.2), tiers=_ABOVE_200K, least=4096, source=_GOOGLE),
    _plain("gemini-3-pro", (2, 12, 0.2), tiers=_ABOVE_200K, least=4096, source=_GOOGLE),
    _plain("gemini-3.6-flash", (1.5, 7.5, 0.15), source=_GOOGLE),
    _plain("gemini-3.5-flash", (1.5, 9, 0.15), source=_GOOGLE),
    _plain("gemini-3-flash", (0.5, 3, 0.05), source=_GOOGLE),
    _plain("gemini-2.5-pro", (1.25, 10, 0.125), tiers=_ABOVE_200K, least=4096, source=_GOOGLE),
    _plain("gemini-2.5-flash", (0.3, 2.5, 0.03), source=_GOOGLE),
    _plain("deepseek-v4-pro", (0.435, 0.87, 0.0036), least=0),
    _plain("deepseek-v4-flash", (0.14, 0.28, 0.0028), least=0),
)
"""Every row that ships. What a source does not say (a lifetime, a minimum) is what is commonly seen."""
