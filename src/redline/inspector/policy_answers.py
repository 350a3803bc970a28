"""What can be tried, and what would have come of it: presets, rules and schedules with their settings; a session under them."""

import ast
import dataclasses
import inspect
import json
import re
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

from redline.errors import ValidationError
from redline.policy.policy import Policy, as_replayed, find_policy, says_of
from redline.policy.presets import PRESETS
from redline.prices import PRICE_RULES, TABLE, find_price, parse_rule
from redline.rules import RULES
from redline.schedules import Budget, Eager, WhenFree
from redline.sessions.playback import Player
from redline.sessions.read_session import SENT
from redline.sessions.replay.comparison import outcome_of
from redline.sessions.replay.simulated_run import SimulatedRun
from redline.sessions.to_json import part_key, sums_by_rule

_LEFT_OUT = ("words", "project_root", "placeholder", "rates", "by_provider", "clear_tool_inputs")
"""Settings that are no numbers to play with."""
_MOST_MISSES = 50
_MOST_POINTS = 400


@lru_cache(maxsize=1)
def policies() -> dict[str, Any]:
    """Everything that a policy can be made of."""
    presets = []
    for one in PRESETS.values():
        policy = find_policy(one.name)
        name = policy.schedule if isinstance(policy.schedule, str) else getattr(policy.schedule, "name", "when_free")
        rules = [{"name": rule.name, "settings": _changed(rule)} for rule in policy.made_rules()]
        settings = {"rules": rules, "schedule": {"name": name, "settings": {}}}  # as the page sends them back
        presets.append({"name": one.name, "says": one.says, "settings": settings})
    return {
        "presets": presets,
        "rules": [_unit(rule) for rule in RULES.values()],
        "schedules": [_unit(schedule) for schedule in (WhenFree, Eager, Budget)],
        "prices": [{"name": price.model, "says": f"${price.input:g} per million tokens"} for price in TABLE]
        + [{"name": name, "says": "read/write/lifetime of the cache, in multiples of input"} for name in PRICE_RULES],
    }


def _changed(unit: Any) -> dict[str, Any]:
    """The settings of a rule or a schedule that differ from its defaults."""
    default = type(unit)()
    names = [field.name for field in dataclasses.fields(unit) if field.name not in _LEFT_OUT]
    return {name: getattr(unit, name) for name in names if getattr(unit, name) != getattr(default, name)}


def _unit(kind: Any) -> dict[str, Any]:
    """A rule or a schedule: what it does, and its settings with the sentences below their fields."""
    (definition,) = ast.parse(inspect.getsource(kind)).body
    meanings = {
        field.target.id: " ".join(str(text.value.value).split())
        for field, text in pairwise(definition.body if isinstance(definition, ast.ClassDef) else [])
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }
    settings = [
        {
            "name": field.name,
            "type": entered_as,
            "default": sorted(value) if isinstance(value, frozenset) else value,
            "says": meanings.get(field.name, ""),
        }
        for field in dataclasses.fields(kind)
        if field.name not in _LEFT_OUT and (entered_as := _type_of(field, value := getattr(kind(), field.name)))
    ]
    return {"name": kind.name, "says": says_of(kind), "settings": settings}


_ENTERED_AS = {bool: "bool", int: "number", float: "number", str: "text", tuple: "list", frozenset: "list", list: "list"}


def _type_of(field: "dataclasses.Field[Any]", value: object) -> str:
    """How a setting is entered; empty for one that is not for this page."""
    if value is None:
        return "number" if re.search(r"\b(int|float)\b", str(field.type)) else ""
    return _ENTERED_AS.get(type(value), "")


def policy_named(name: str) -> Policy:
    """A preset, or the policy that settings in JSON make."""
    if name in (*PRESETS, "default"):
        return find_policy(name)
    try:
        custom = json.loads(name)
    except ValueError:
        custom = None
    if not isinstance(custom, dict):
        raise ValidationError(
            f"There is no policy {name[:80]!r}. There are: {SENT}, {', '.join(PRESETS)}, or settings in JSON."
        )
    return custom_policy(custom)


def custom_policy(custom: dict[str, Any]) -> Policy:
    """The policy of `{"rules": [{"name", "settings"}], "schedule": {"name", "settings"}}`; a preset's where it names one."""
    if custom.get("rules") is None and isinstance(custom.get("preset"), str):
        return policy_named(custom["preset"])
    if not isinstance(custom.get("rules"), list):
        raise ValidationError("rules must be a list of objects with a name and settings")
    table: dict[str, Any] = {"words": "en", "strategy": "answer", "rules": [_named(rule) for rule in custom["rules"]]}
    if custom.get("schedule") is not None:
        table["schedule"] = _named(custom["schedule"])
    return Policy.of_table(table)


def _named(unit: object) -> dict[str, Any]:
    if not isinstance(unit, dict) or not isinstance(unit.get("settings", {}), dict):
        raise ValidationError("A rule or schedule is an object with a name and settings.")
    return {**unit.get("settings", {}), "name": unit.get("name")}


# --- one session under a policy


def what_if(player: Player, custom: object) -> dict[str, Any]:
    """Bill, tokens and both risks of a policy, beside sending everything."""
    if not isinstance(custom, dict):
        raise ValidationError("Send the settings of a policy as an object.")
    policy = as_replayed(custom_policy(custom))
    rule, price = player.rule, player.price
    if isinstance(custom.get("price"), str) and custom["price"]:
        price = find_price(custom["price"])
        rule = price.rule() if price is not None else parse_rule(custom["price"])
    replayed, plain = player.under(policy, rule, price), player.unstruck(rule)
    outcome = outcome_of(player, replayed)
    unit = price.input / 1e6 if price is not None else 1.0
    by_rule, struck = sums_by_rule(replayed.strikes), {strike.number: strike for strike in replayed.strikes}
    misses = [
        {
            "strike": number,
            "index": struck[number].index,
            "at": part_key(struck[number].at),
            "request": use.request,
            "words": use.words,
            "kind": measure,
        }
        for measure, uses in replayed.misses.items()
        for number, use in uses.items()
    ]
    return {
        "toml": policy.toml(),
        "python": _python(policy, price.model if price is not None else player.history.model),
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
        "folds": outcome.folds,
        "struck_tokens": outcome.saved.struck,
        "folded_tokens": outcome.saved.folded,
        "may_be_missed": outcome.strikes + outcome.partial_folds,
        "requests": len(player.history.requests),
        "quoted": {"strikes": outcome.strikes_at_risk, "requests": outcome.requests_at_risk},
        "strict": {"strikes": outcome.strict_strikes, "requests": outcome.strict_requests},
        "rereads": {"asked_again": outcome.rereads.asked_again, "struck_again": outcome.rereads.struck_again},
        "curve": _curve(replayed, plain, unit),
        "misses": misses[:_MOST_MISSES],
        "by_rule": {rule: {"strikes": one["count"], "tokens": one["tokens"]} for rule, one in by_rule.items()},
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
    settings = ", ".join(f"{name}={value!r}" for name, value in _changed(unit).items())
    return f"{type(unit).__name__}({settings})"


def _curve(replayed: SimulatedRun, plain: SimulatedRun, unit: float) -> dict[str, Any]:
    count = len(replayed.charges)
    step = max(-(-count // _MOST_POINTS), 1)
    shown = sorted({*range(0, count, step), count - 1} if count else set())
    spent, without = ([cost * unit for cost in accumulate(one.cost for one in of.charges)] for of in (replayed, plain))
    return {
        "points": shown,
        "cost": [spent[number] for number in shown],
        "cost_without": [without[number] for number in shown],
        "sizes": [round(replayed.requests[number].sent) for number in shown],
        "sizes_without": [round(plain.requests[number].sent) for number in shown],
    }
