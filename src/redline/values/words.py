"""The words that Redline puts into a request, one set for each language: placeholders, stubs, answers, a heading."""

from dataclasses import dataclass, fields
from functools import lru_cache
from string import Formatter
from typing import Literal

from redline.errors import ValidationError
from redline.values.checks import short_repr

REFERENCE = "[Content offloaded to: ./{name}]"
"""What `offload_tool_results` leaves in the place of a result, whatever the words; `{name}` is the file."""

_RESULTS = ("stale_terminal", "historical_read", "superseded_read", "repeated_call", "masked_result", "faded_result")
TEMPLATE_FIELDS = {
    **dict.fromkeys(_RESULTS, ("what", "size", "again")),
    "faded_recalled": ("what", "size", "recall", "reference"),
    "old_image": ("what", "media_type", "size", "again"),
    "over_limit": ("what", "media_type", "size", "again"),
    "cut": ("lines", "chars"),
    "saved_in": ("file",),
    "outline": ("example",),
    "outline_recalled": ("example", "recall"),
    "offloaded": ("call", "chars", "lines", "head", "tail", "recall", "reference"),
}
"""The words that are templates, each with the fields in braces that it may have."""


def check_template(template: str, owner: str, *names: str) -> None:
    """Refuse a template with other fields than these."""
    try:
        template.format(**dict.fromkeys(names, ""))
    except (KeyError, IndexError, ValueError, AttributeError) as problem:
        known = ", ".join(f"{{{name}}}" for name in names)
        raise ValidationError(f"{owner}: the template {template!r} cannot be filled in; its fields are {known}") from problem


@dataclass(frozen=True, slots=True)
class Placeholders:
    """All that Redline says to a model, in one language. Change one with `dataclasses.replace(EN, stale_terminal="…")`."""

    stale_terminal: str
    """Fields, here and down to `faded_result`: `what` (the tool and its file or command), `size`, `again` (how to get it).
    Where there is no way to get it, `; {again}` is left out."""
    historical_read: str
    superseded_read: str
    repeated_call: str
    failed_input: str
    masked_result: str
    faded_result: str
    faded_input: str
    faded_recalled: str
    """As `faded_result`, where the model has a tool to read it. Fields: `what`, `size`, `recall` (the tool), `reference`."""
    old_image: str
    """Fields: `what` (of a message: the role), `media_type`, `size` (of a linked picture: its address), `again`."""
    cut: str
    """Put between the first and the last lines. Fields: `lines` and `chars`, both as left out."""
    offloaded: str
    """Fields: `call`, `chars`, `lines`, `head`, `tail`, `recall` (the tool that reads it back) and `reference`."""
    interrupted: str
    """The answer to a call that never got its result, with the strategy `answer`."""
    not_shown: str
    """The first message, where earlier ones are hidden and the provider wants one from the user."""
    tools_heading: str
    """The first line of a tool description."""
    run_again: str = "run it again"
    """The field `again` for the output of a command that is known to look, test, check or build."""
    read_again: str = "if it exists, read it again"
    """For a file, and for the result of an edit."""
    search_again: str = "search again"
    """For a search or a listing."""
    call_again: str = "call it again"
    """For any other tool that only looks."""
    may_repeat: str = "repeating it may change things"
    """For other commands and tools."""
    over_limit: str = "[Left out, as the request was too large for the provider: {what}, {media_type}, {size}; {again}]"
    """In the place of a picture or a result that goes for a limit of the provider. Fields as of `old_image`."""
    kept_in_record: str = "kept in the record as {reference}"
    """The field `again` of `over_limit` where nothing brings it back. Field: `reference`."""
    saved_in: str = "all of it: {file}"
    """Where the agent saved the whole output, as the result says. Field: `file`."""
    outline: str = "[Outline of the earlier conversation, made from the record: a name such as {example} is a place in it]"
    """The first line of an outline. Field: `example`, a reference."""
    outline_recalled: str = (
        '[Outline of the earlier conversation, made from the record. To read a place: {recall}("{example}")]'
    )
    """As `outline`, where the model has a tool to read the record. Fields: `example`, `recall` (the tool)."""
    outline_user: str = "The user said, word for word:"
    """Headings of an outline, from here on."""
    outline_plan: str = "To do:"
    outline_files: str = "Files, with their last change:"
    outline_failures: str = "What failed, with its last result:"
    outline_decisions: str = "What was found and decided:"
    outline_words: str = "Names that may be needed:"
    outline_missing: str = "[Not in this summary, from the record:]"
    """The first line of what a summary left out."""
    outline_lines: str = "lines"
    """Before the number of lines."""
    outline_more: str = "more of the user"
    """After the number of the user's texts that found no room."""
    outline_changed: str = "changed"
    outline_read: str = "read"

    def __post_init__(self) -> None:
        for field in fields(self):
            text = getattr(self, field.name)
            if not isinstance(text, str) or not text.strip():
                raise ValidationError(f"Placeholders: {field.name} must be a text that is not blank, not {text!r}")
            if field.name in TEMPLATE_FIELDS:
                check_template(text, f"Placeholders: {field.name}", *TEMPLATE_FIELDS[field.name])


ZH = Placeholders(
    stale_terminal="此命令返回内容已过时",
    historical_read="[该文件的历史读取内容已压缩,请参看最新读取结果]",
    superseded_read="[该文件在此次读取后已被修改: {what}; {again}]",
    repeated_call="[相同的调用此后再次执行过,请参看最新结果: {what}]",
    failed_input="[此调用已失败,其输入已移除]",
    masked_result="[旧工具结果已省略: {what}, {size}; {again}]",
    faded_result="[工具结果已省略: {what}, {size}; {again}]",
    faded_input="[此处长文本已省略;调用时使用的是全文]",
    faded_recalled='[工具结果已省略: {what}, {size}; {recall}(reference="{reference}")]',
    old_image="[旧图片已省略: {what}, {media_type}; {again}]",
    cut="[此处省略 {lines} 行, {chars} 个字符]",
    offloaded=(
        "[工具结果已转存: {call}, {chars} 个字符, {lines} 行]\n{head}\n[…]\n{tail}\n"
        '[读取全文: {recall}(reference="{reference}"); 只读一部分: 加 lines="10-40" 或 grep="正则表达式"]'
    ),
    interrupted="Interrupted before it finished; it may have had side effects.",
    not_shown="(Earlier messages are not shown.)",
    tools_heading="可用工具:",
    run_again="可再次运行",
    read_again="若存在可再次读取",
    search_again="可再次搜索",
    call_again="可再次调用",
    may_repeat="重做可能有副作用",
    over_limit="[请求超出服务商上限, 已省略: {what}, {media_type}, {size}; {again}]",
    kept_in_record="保存在记录中: {reference}",
    saved_in="全文: {file}",
    outline="[先前对话的提要,由记录生成: {example} 之类的名称是记录中的位置]",
    outline_recalled='[先前对话的提要,由记录生成。读取其中一处: {recall}("{example}")]',
    outline_user="用户原话:",
    outline_plan="待办:",
    outline_files="文件及其最后改动:",
    outline_failures="失败的操作及其最后结果:",
    outline_decisions="发现与决定:",
    outline_words="可能用到的名称:",
    outline_missing="[此摘要未提及,取自记录:]",
    outline_lines="行",
    outline_more="条用户发言略去",
    outline_changed="已改",
    outline_read="已读",
)
"""As the documents have them, to the letter where they spell something out, which makes two of them English."""

EN = Placeholders(
    stale_terminal="[Older command output left out: {what}, {size}; {again}]",
    historical_read="[Earlier read of this file; see the latest one: {what}]",
    superseded_read="[This file was changed after this read: {what}; {again}]",
    repeated_call="[The same call was made again; see its latest result: {what}]",
    failed_input="[This call failed; its input was removed]",
    masked_result="[Older tool result left out: {what}, {size}; {again}]",
    faded_result="[Tool result left out: {what}, {size}; {again}]",
    faded_input="[Long text left out here; the call was made with all of it]",
    faded_recalled='[Tool result left out: {what}, {size}; {recall}(reference="{reference}")]',
    old_image="[Image left out: {what}, {media_type}; {again}]",
    cut="[{lines} lines, {chars} characters left out here]",
    offloaded=(
        "[Tool result stored elsewhere: {call}, {chars} characters, {lines} lines]\n{head}\n[…]\n{tail}\n"
        '[To read all of it: {recall}(reference="{reference}"); a part of it: add lines="10-40" or grep="regex"]'
    ),
    interrupted="Interrupted before it finished; it may have had side effects.",
    not_shown="(Earlier messages are not shown.)",
    tools_heading="Available tools:",
)
"""English."""
_FIELDS_OF_OTHERS = ("kept_in_record", "run_again", "read_again", "search_again", "call_again", "may_repeat", "saved_in")
_OF_OUTLINES = frozenset(field.name for field in fields(Placeholders) if field.name.startswith("outline"))
_NOT_IN_PLACE_OF_A_PART = frozenset({"cut", "interrupted", "not_shown", "tools_heading", *_FIELDS_OF_OTHERS}) | _OF_OUTLINES
_EARLIER = (
    "[The output of this command is out of date: {what}, {size}; {again}]",
    "[A long text stood here; it was left out of this history]",
    "[Image removed: {media_type}, {size}]",
    "[该文件此后已被修改,此次读取的内容已过时: {what}, {size}; {again}]",
    "[此处的长文本已从历史记录中省略]",
    "[较早的工具结果已省略: {what}, {size}; {again}]",
    "[图片已移除: {media_type}, {size}]",
)
"""Placeholders of earlier versions."""


Words = Placeholders
DOCUMENTS = ZH
"""The names of both in earlier versions."""

LANGUAGES = {"documents": ZH, "en": EN}
Language = Literal["documents", "en"]


def make_words(given: Placeholders | str, owner: str) -> Placeholders:
    """Words as a caller gives them: themselves, or the name of a language."""
    if isinstance(given, str) and given in LANGUAGES:
        return LANGUAGES[given]
    if isinstance(given, Placeholders):
        return given
    known = ", ".join(("redline.ZH", "redline.EN", *map(repr, LANGUAGES)))
    raise ValidationError(f"{owner}words must be {known} or Placeholders of your own, not {short_repr(given)}")


def is_placeholder(text: str, words: Placeholders = ZH) -> bool:
    """Whether a text is a placeholder of these words, or of any that come with Redline: no rule replaces one by another."""
    whole, beginnings, longest = _recognised(words)
    # the length first, or every long result would be hashed
    return (len(text) <= longest and text in whole) or text.startswith(beginnings)


def starts_as_tools_heading(text: str, words: Placeholders = ZH) -> bool:
    """Whether a text begins as a tool description does, in these words or in any that come with Redline."""
    return text.startswith((words.tools_heading, ZH.tools_heading, EN.tools_heading))


@lru_cache(maxsize=64)
def _recognised(words: Placeholders) -> tuple[frozenset[str], tuple[str, ...], int]:
    """The placeholders that are a whole text, the beginnings of those that are filled in, the longest length of the first."""
    names = [field.name for field in fields(Placeholders) if field.name not in _NOT_IN_PLACE_OF_A_PART]
    texts = {REFERENCE, *_EARLIER, *(getattr(one, name) for one in (ZH, EN, words) for name in names)}
    whole = frozenset(text for text in texts if "{" not in text)
    # without the colon, so that placeholders of earlier versions, which ended there, are recognised too
    # a template that begins with a field cannot be told by its beginning
    beginnings = {next(iter(Formatter().parse(text)))[0].rstrip(": ") for text in texts - whole}
    return whole, tuple(sorted(beginnings - {""})), max(map(len, whole), default=0)
