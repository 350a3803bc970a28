"""What can be tried, and what would have come of it: presets, rules and schedules with their settings; a session under them."""

import ast
import dataclasses
import inspect
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, islice, pairwise
from typing import Any

from redline.errors import ValidationError
from redline.inspection.playback import Player
from redline.inspection.shown import part_key
from redline.inspector.opened import custom_policy
from redline.policy import Policy
from redline.presets import PRESETS, says_of
from redline.prices import PRICE_RULES, TABLE, find_price, parse_rule
from redline.replay.comparison import outcome_of
from redline.replay.replayed import Replayed
from redline.rules import RULES
from redline.schedules import Budget, Eager, WhenFree

__all__ = ["policies", "what_if"]

_LEFT_OUT = ("words", "project_root", "placeholder", "rates", "by_provider", "clear_tool_inputs")
"""Settings that are no numbers to play with."""
_MOST_MISSES = 50
_MOST_POINTS = 400


@lru_cache(maxsize=1)
def policies() -> dict[str, Any]:
    """Everything that a policy can be made of."""
    return {
        "presets": [{"name": one.name, "says": one.says, "settings": _custom(one.make())} for one in PRESETS.values()],
        "rules": [_unit(rule) for rule in RULES.values()],
        "schedules": [_unit(schedule) for schedule in (WhenFree, Eager, Budget)],
        "prices": [{"name": price.model, "says": f"${price.input:g} per million tokens"} for price in TABLE]
        + [{"name": name, "says": "read/write/lifetime of the cache, in multiples of input"} for name in PRICE_RULES],
    }


def _custom(policy: Policy) -> dict[str, Any]:
    """A policy as the settings that the page sends back."""
    return {"rules": [_set(rule) for rule in policy.made_rules()], "schedule": _set_schedule(policy)}


def _set_schedule(policy: Policy) -> dict[str, Any]:
    name = policy.schedule if isinstance(policy.schedule, str) else getattr(policy.schedule, "name", "when_free")
    return {"name": name, "settings": {}}


def _set(rule: Any) -> dict[str, Any]:
    default = type(rule)()
    changed = {field.name: getattr(rule, field.name) for field in dataclasses.fields(rule) if field.name not in _LEFT_OUT}
    return {
        "name": rule.name,
        "settings": {name: value for name, value in changed.items() if value != getattr(default, name)},
    }


def _unit(kind: Any) -> dict[str, Any]:
    """A rule or a schedule: what it does, and its settings with the sentences below their fields."""
    meanings = _meanings(kind)
    settings = [
        {
            "name": field.name,
            "type": _type_of(field, value),
            "default": sorted(value) if isinstance(value, frozenset) else value,
            "says": meanings.get(field.name, ""),
        }
        for field in dataclasses.fields(kind)
        if field.name not in _LEFT_OUT and _type_of(field, value := getattr(kind(), field.name))
    ]
    return {"name": kind.name, "says": says_of(kind), "settings": settings}


def _type_of(field: "dataclasses.Field[Any]", value: object) -> str:
    """How a setting is entered; empty for one that is not for this page."""
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case None:
            return "number" if re.search(r"\b(int|float)\b", str(field.type)) else ""
        case str():
            return "text"
        case tuple() | frozenset() | list():
            return "list"
    return ""


def _meanings(kind: Any) -> dict[str, str]:
    (definition,) = ast.parse(inspect.getsource(kind)).body
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    return {
        field.target.id: " ".join(str(text.value.value).split())
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }


# --- one session under a policy


def what_if(player: Player, custom: object) -> dict[str, Any]:
    """Bill, tokens and both risks of a policy, beside sending everything."""
    if not isinstance(custom, dict):
        raise ValidationError("Send the settings of a policy as an object.")
    policy = custom_policy(custom)
    rule, price = player.rule, player.price
    if isinstance(custom.get("price"), str) and custom["price"]:
        price = find_price(custom["price"])
        rule = price.rule() if price is not None else parse_rule(custom["price"])
    replayed, plain = player.replay.under(policy, rule, price), player.replay.unstruck(rule)
    outcome = outcome_of(player.replay, replayed)
    unit = price.input / 1e6 if price is not None else 1.0
    return {
        "toml": policy.toml(),
        "python": _python(policy, price.model if price is not None else player.model),
        "unit": "usd" if price is not None else "tokens",
        "cost": outcome.cost * unit,
        "cost_without": plain.cost * unit,
        "cost_with_rereads": (outcome.cost + outcome.reread_cost) * unit,
        "saved_share": 1 - outcome.cost / plain.cost if plain.cost else 0.0,
        "tokens": round(outcome.tokens),
        "tokens_without": round(plain.tokens),
        "read_share": outcome.read / outcome.tokens if outcome.tokens else 0.0,
        "rewrites": outcome.rewrites,
        "strikes": outcome.strikes,
        "requests": len(player.history.requests),
        "quoted": {"strikes": outcome.strikes_at_risk, "requests": outcome.requests_at_risk},
        "strict": {"strikes": outcome.strict_strikes, "requests": outcome.strict_requests},
        "curve": _curve(replayed, plain, unit),
        "misses": list(islice(_misses(replayed), _MOST_MISSES)),
        "by_rule": _by_rule(replayed),
    }


def _python(policy: Policy, model: str | None) -> str:
    """A program that opens a conversation with the policy."""
    rules = policy.made_rules()
    names = ", ".join(sorted({type(rule).__name__ for rule in rules}))
    imports = [f"from redline.rules import {names}"] if names else []
    settings = [f"    rules=[{', '.join(map(_called, rules))}],"]
    if policy.schedule is not None and not isinstance(policy.schedule, str):
        imports.append(f"from redline.schedules import {type(policy.schedule).__name__}")
    if policy.schedule is not None:
        settings.append(f"    schedule={_called(policy.schedule)},")
    if policy.strategy != Policy().strategy:
        settings.append(f"    strategy={json.dumps(policy.strategy)},")
    lines = ["import redline", *imports, "", "policy = redline.Policy(", *settings, "    words=redline.EN,", ")"]
    opened = f'redline.open("chat.jsonl", policy=policy, model={json.dumps(model or "your-model")})'
    return "\n".join([*lines, f"with {opened} as conversation:", "    request = conversation.request()"]) + "\n"


def _called(unit: Any) -> str:
    """A rule or a schedule as one writes it: what differs from its defaults."""
    if isinstance(unit, str):
        return json.dumps(unit)
    settings = ", ".join(f"{name}={value!r}" for name, value in _set(unit)["settings"].items())
    return f"{type(unit).__name__}({settings})"


def _curve(replayed: Replayed, plain: Replayed, unit: float) -> dict[str, Any]:
    count = len(replayed.charges)
    step = max(-(-count // _MOST_POINTS), 1)
    shown = sorted({*range(0, count, step), count - 1} if count else set())
    spent, without = ([cost * unit for cost in accumulate(one.cost for one in of.charges)] for of in (replayed, plain))
    return {
        "points": shown,
        "cost": [spent[number] for number in shown],
        "cost_without": [without[number] for number in shown],
        "sizes": [round(replayed.course.requests[number].sent) for number in shown],
        "sizes_without": [round(plain.course.requests[number].sent) for number in shown],
    }


def _misses(replayed: Replayed) -> Iterator[dict[str, Any]]:
    strikes = {strike.number: strike for strike in replayed.strikes}
    for kind, misses in replayed.misses.items():
        for number, use in misses.items():
            place = {"strike": number, "index": strikes[number].index, "at": part_key(strikes[number].at)}
            yield {**place, "request": use.request, "words": use.words, "kind": kind}


def _by_rule(replayed: Replayed) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for strike in replayed.strikes:
        row = found.setdefault(strike.rule, {"strikes": 0, "tokens": 0})
        row["strikes"] += 1
        row["tokens"] += strike.tokens_saved
    return found
