"""Bytes as a redline.toml or a pyproject.toml, and tables as policies; what is accepted comes back from its own text."""

import contextlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import redline
from fuzz.sandbox import BrokenProperty, Sandbox
from fuzz.seeds import dumped
from fuzz.targets.target import Target, each_case
from redline.errors import RedlineError
from redline.rules import RULES
from redline.values import payloads

__all__ = ["POLICIES"]

_TABLES: list[dict[str, Any]] = [
    {"rules": list(RULES), "schedule": "eager", "words": "en", "strategy": "answer", "project_root": "src"},
    {"preset": "careful", "protection": {"paths": ["*.md"], "errors": False, "tools": ["a"]}},
    {
        "rules": [{"name": "stale_terminal", "max_age_ms": 5, "keep_recent": 2}, {"name": "long_results"}],
        "words": {"language": "en"},
    },
    {"schedule": {"name": "when_free", "rates": {"read": 0.1, "write": 1.25}}, "rules": [{"name": "historical_reads"}]},
    {"schedule": {"name": "budget", "limit_tokens": 100}, "rules": [{"name": name} for name in RULES]},
]


@cache
def _seeds() -> Sequence[bytes]:
    """Policies of all presets as text, and tables."""
    presets = (redline.Policy.named(name) for name in ("careful", "balanced", "bold", "documents"))
    texts = [preset.toml().encode() for preset in presets]
    return [*texts, b"[tool.redline]\npreset = 'bold'\n", *map(dumped, _TABLES)]


def _try(sandbox: Sandbox, case: bytes) -> None:
    for name in ("redline.toml", "pyproject.toml"):
        with contextlib.suppress(RedlineError):
            _check(redline.Policy.load(sandbox.give(name, case)), sandbox)
    try:
        table = payloads.decode(case)
    except ValueError:
        return
    if isinstance(table, dict):
        _check(redline.Policy.of_table(table), sandbox)


def _check(policy: redline.Policy, sandbox: Sandbox) -> None:
    repr(policy)
    text = policy.toml()
    again = redline.Policy.load(sandbox.give("again.toml", text.encode("utf-8", "surrogatepass")))
    if again.toml() != text:
        raise BrokenProperty("a policy is another one after it was written and read")
    talk = redline.Conversation([{"role": "user", "content": "hi"}], policy=policy)
    talk.request(now=1_770_000_000_000.0)


POLICIES = Target("policies", _seeds, each_case(_try))
