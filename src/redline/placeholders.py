"""The words that stand where something was taken out: the documents' own, and an English set."""

from dataclasses import dataclass, fields
from functools import cache

from redline.errors import ValidationError

__all__ = ["EN", "REFERENCE", "ZH", "Placeholders", "check_template", "is_placeholder"]

REFERENCE = "[Content offloaded to: ./{name}]"
"""What `offload_tool_results` leaves in the place of a result; `{name}` is the file."""


@dataclass(frozen=True, slots=True)
class Placeholders:
    """One language's words. Those with fields in braces are templates."""

    stale_terminal: str
    historical_read: str
    superseded_read: str
    repeated_call: str
    failed_input: str
    masked_result: str
    old_image: str
    """Fields: `media_type`, and `size` (of a picture that is only linked: where it lies)."""
    cut: str
    """Stands between the first and the last lines. Fields: `lines` and `chars`, both as left out."""
    offloaded: str
    """Fields: `call`, `chars`, `lines`, `head`, `tail`, `recall` (the tool that reads it back) and `reference`."""


ZH = Placeholders(
    stale_terminal="此命令返回内容已过时",
    historical_read="[该文件的历史读取内容已压缩,请参看最新读取结果]",
    superseded_read="[该文件此后已被修改,此次读取的内容已过时]",
    repeated_call="[相同的调用此后再次执行过,请参看最新结果]",
    failed_input="[此调用已失败,其输入已移除]",
    masked_result="[较早的工具结果已省略]",
    old_image="[图片已移除: {media_type}, {size}]",
    cut="[此处省略 {lines} 行, {chars} 个字符]",
    offloaded=(
        "[工具结果已转存: {call}, {chars} 个字符, {lines} 行]\n{head}\n[…]\n{tail}\n"
        '[读取全文: {recall}(reference="{reference}"); 只读一部分: 加 lines="10-40" 或 grep="正则表达式"]'
    ),
)
"""The documents' language; their two placeholders to the letter."""

EN = Placeholders(
    stale_terminal="[The output of this command is out of date]",
    historical_read="[Earlier read of this file; see the latest one]",
    superseded_read="[This file was changed after this read]",
    repeated_call="[The same call was made again; see its latest result]",
    failed_input="[This call failed; its input was removed]",
    masked_result="[Older tool result left out]",
    old_image="[Image removed: {media_type}, {size}]",
    cut="[{lines} lines, {chars} characters left out here]",
    offloaded=(
        "[Tool result stored elsewhere: {call}, {chars} characters, {lines} lines]\n{head}\n[…]\n{tail}\n"
        '[To read all of it: {recall}(reference="{reference}"); a part of it: add lines="10-40" or grep="regex"]'
    ),
)


def is_placeholder(text: str) -> bool:
    """Whether a text is one of these, in any language, so that no rule replaces what another one has."""
    whole, beginnings = _known()
    # the length first, or every long result would be hashed
    return (len(text) < 100 and text in whole) or text.startswith(beginnings)


def check_template(template: str, owner: str, *names: str) -> None:
    """Refuse a template with other fields than these."""
    try:
        template.format(**dict.fromkeys(names, ""))
    except (KeyError, IndexError, ValueError, AttributeError) as problem:
        known = ", ".join(f"{{{name}}}" for name in names)
        raise ValidationError(f"{owner}: the template {template!r} cannot be filled in; its fields are {known}") from problem


@cache
def _known() -> tuple[frozenset[str], tuple[str, ...]]:
    """All placeholders: those that are the whole text, and the beginnings of those that are filled in."""
    texts = [getattr(words, field.name) for words in (ZH, EN) for field in fields(Placeholders) if field.name != "cut"]
    beginnings = [text.partition("{")[0] for text in (*texts, REFERENCE) if "{" in text]
    return frozenset(text for text in texts if "{" not in text), tuple(beginnings)
