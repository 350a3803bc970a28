"""Texts that models and users write: references to offloaded results, line ranges, patterns, addresses; and texts to count."""

import contextlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import redline
from fuzz.sandbox import BrokenProperty, Sandbox
from fuzz.seeds import dumped
from fuzz.targets.message_lists import decoded_case
from fuzz.targets.target import Target, each_case
from redline.errors import RedlineError
from redline.providers.usage import read_usage
from redline.record.addresses import masked
from redline.record.backends import parse_address
from redline.record.blobs import DirectoryBlobs, MemoryBlobs, open_blobs
from redline.tokens import Estimate, Exact, count_message
from redline.tools.shell import shell_actions
from redline.values.messages import Media, Message, Text

__all__ = ["REFERENCES", "TOKENS"]

_RESULT = "a line\nanother line\n" * 20


@cache
def _reference_seeds() -> Sequence[bytes]:
    digest = MemoryBlobs().put(_RESULT.encode())
    stub = f"[moved: {digest}; 40 lines]"
    return [
        dumped({"reference": reference, "lines": lines, "grep": grep, "max_chars": 200, "address": address})
        for reference, lines, grep, address in (
            (stub, "1-4", "line", "chat.jsonl"),
            (digest, "-2", "(a|b)+c", "sqlite:///x.db#a"),
            ("see tool-result-c1.md", [1, 2], None, "postgresql://u:p@localhost/db#c"),
            ("#12.0", "3-", "^an", "s3://bucket/prefix"),
        )
    ]


def _try_reference(sandbox: Sandbox, case: bytes) -> None:
    given: dict[str, Any] = decoded_case(case)
    folder = sandbox.out / "blobs"
    memory, directory = MemoryBlobs(), DirectoryBlobs(folder)
    memory.put(_RESULT.encode())
    directory.put(_RESULT.encode())
    (folder / "tool-result-c1.md").write_text(_RESULT, encoding="utf-8")
    reference: Any = given.get("reference")
    address: Any = given.get("address")
    asked = {name: given[name] for name in ("lines", "grep", "max_chars") if name in given}
    for act in (
        lambda: redline.recall(reference, memory, **asked),
        lambda: redline.recall(reference, folder, **asked),
        lambda: directory.get(reference),
        lambda: redline.read_offloaded(reference, folder),
        lambda: parse_address(address),
        lambda: masked(address) if isinstance(address, str) else None,
        lambda: open_blobs(address) if isinstance(address, str) and "://" not in address else None,
    ):
        with contextlib.suppress(RedlineError):
            act()


@cache
def _token_seeds() -> Sequence[bytes]:
    texts = ["def f(x):\n    return x + 1\n" * 5, "日本語のテキスト 🙂", "<|endoftext|> {}[]", "a" * 300, "  \t\n\r " * 30]
    picture = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    usage = {"input_tokens": 5, "output_tokens": 1, "prompt_tokens_details": {"cached_tokens": 3}}
    command = "cd /a && cat 'b c' | grep -n x > out; sed -n '1,5p' <<EOF\nhi\nEOF"
    return [dumped({"text": text, "media": picture, "type": "image/png", "usage": usage, "command": command}) for text in texts]


def _try_tokens(_: Sandbox, case: bytes) -> None:
    given = decoded_case(case)
    text, media, kind, command = (str(given.get(name)) for name in ("text", "media", "type", "command"))
    for counter in (Estimate(), Exact()):
        if counter.count(text) < 0:
            raise BrokenProperty("a text has less than no tokens")
        count_message(Message("user", (Text(text), Media(kind, media)), {}, "anthropic"), counter)
    acts: tuple[Callable[[], object], ...] = (
        lambda: read_usage(given.get("usage")),
        lambda: shell_actions(command),
        lambda: redline.redact_text(text),
    )
    for act in acts:
        with contextlib.suppress(RedlineError):
            act()


REFERENCES = Target("references", _reference_seeds, each_case(_try_reference), programs=("blobs/grep.py",))
TOKENS = Target("tokens", _token_seeds, each_case(_try_tokens))
