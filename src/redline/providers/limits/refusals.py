"""What a provider's refusal says of its limits: which one, and how much it takes, read from the words of the error."""

import re

import msgspec

from redline.providers.limits.table import Limit


class RefusedLimit(msgspec.Struct, frozen=True):
    """A limit that a request was over, as the provider said it."""

    name: Limit
    taken: int = 0
    """How much it takes; 0 where it did not say."""
    given: int = 0
    """How much it was given; 0 where it did not say."""
    words: str = ""
    """The provider's own, as far as they matter."""


_NUMBER = r"(?P<{}>\d[\d,]*)"
_TAKEN, _GIVEN = _NUMBER.format("taken"), _NUMBER.format("given")
_REFUSALS: tuple[tuple[Limit, str], ...] = (
    # Anthropic, with where it was seen: anthropics/claude-code#24541, #15730, #4778, #19631; #408; earendil-works/pi#401
    ("media", rf"too much media: (?P<given>\d+) document pages \+ (?P<more>\d+) images > {_TAKEN}"),
    ("media", rf"too many images and documents: (?P<given>\d+) \+ (?P<more>\d+) > {_TAKEN}"),
    ("media", rf"maximum of {_TAKEN} pdf pages"),
    ("many_pixels", rf"image dimensions exceed max allowed size for many-image requests: {_TAKEN} pixels"),
    ("pixels", rf"image dimensions exceed max allowed size: {_TAKEN} pixels"),
    ("picture_chars", rf"image exceeds [\d.]+ MB maximum: {_GIVEN} bytes > {_TAKEN} bytes"),
    ("tokens", rf"prompt is too long: {_GIVEN} tokens > {_TAKEN} maximum"),
    ("tokens", r"prompt is too long"),
    ("tokens", rf"exceed context limit: {_GIVEN} \+ \d+ > {_TAKEN}"),
    # Servers that speak as OpenAI does: Azure/azure-rest-api-specs#46145, anomalyco/opencode#47721, microsoft/vscode#303825
    (
        "tools",
        rf"'tools': array too long\. Expected an array with maximum length {_TAKEN}, but got an array with length {_GIVEN}",
    ),
    ("media", rf"exceeded maximum number of images \({_TAKEN}\)"),
    ("media", rf"contains {_GIVEN} images, exceeding the maximum of {_TAKEN}"),
    ("media", rf"too many images: {_GIVEN}(?:, maximum allowed: |[^\d]{{1,40}}){_TAKEN}"),
    ("media", rf"too many images in request\. Max is {_TAKEN}"),
    ("media", rf"at most {_TAKEN} image"),
    ("media", rf"{_GIVEN} images were provided, but the model supports a maximum of {_TAKEN}"),
    ("media", rf"image count {_GIVEN} exceeds limit {_TAKEN}"),
    ("media", rf"too many images in the message, max allowed is {_TAKEN}"),
    ("tokens", rf"maximum context length is {_TAKEN} tokens\. However, (?:your messages resulted in|you requested) {_GIVEN}"),
    ("tokens", r"context_length_exceeded|exceeds the context window"),
    # Gemini: google-gemini/gemini-cli#6678, #19083; google-gemini/deprecated-generative-ai-android#26
    ("tokens", rf"input token count \({_GIVEN}\) exceeds the maximum number of tokens allowed \({_TAKEN}\)"),
    ("tools", rf"at most {_TAKEN} function declarations"),
    ("request_bytes", rf"request payload size exceeds the limit: {_TAKEN} bytes"),
    # Any server: google-gemini/gemini-cli#13776, anthropics/claude-code#56674
    ("request_bytes", rf"maximum request body size {_TAKEN} exceeded, actual body size {_GIVEN}"),
    ("request_bytes", r"request_too_large|request exceeds the maximum size|(?:request|payload|entity|body) (?:is )?too large"),
)
_PATTERNS = tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _REFUSALS)
TOKENS_PERMILLE = "tokens_permille"
"""Among what was learned: how many tokens the provider counts for a thousand of our estimate."""
_TOO_LARGE = 413
_MOST_CHARS = 20_000
_LESS = 0.8
"""Where the provider does not say how much it takes: this share of what it refused."""


def read_refusal(status: int, error: bytes | str) -> RefusedLimit | None:
    """The limit that an error names; None if it is about something else. A 413 says by its number that it is the bytes."""
    text = (error.decode("utf-8", "replace") if isinstance(error, bytes) else error)[:_MOST_CHARS]
    for name, pattern in _PATTERNS:
        if found := pattern.search(text):
            numbers = {key: int(value.replace(",", "")) for key, value in found.groupdict().items() if value}
            given = numbers.get("given", 0) + numbers.get("more", 0)
            return RefusedLimit(name, numbers.get("taken", 0), given, " ".join(found[0].split()))
    return RefusedLimit("request_bytes", words="413") if status == _TOO_LARGE else None


def learned_limits(refused: RefusedLimit, sent: float, *, is_estimate: bool = False) -> dict[str, int]:
    """What is taken from now on, for a request that held `sent` by our own count; of tokens that may be an estimate.

    A provider counts tokens in its own way: an estimate is corrected by what it counted, and a count that was reported for
    the request before becomes less by the share that it would have taken.
    """
    if not sent:
        return {refused.name: refused.taken} if refused.taken else {}
    if not refused.taken or refused.given <= refused.taken:
        is_known = refused.taken and refused.name != "tokens"
        return {refused.name: refused.taken if is_known else max(1, int(sent * _LESS))}
    if refused.name == "tokens" and is_estimate:
        return {"tokens": refused.taken, TOKENS_PERMILLE: round(1_000 * refused.given / sent)}
    if refused.name == "tokens":
        return {"tokens": min(refused.taken, int(sent * refused.taken / refused.given))}
    return {refused.name: refused.taken}
