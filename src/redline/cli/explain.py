"""`redline explain`: why a part is sent or struck, with rule, reason, numbers and the way back; or all strikes in sums."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from heapq import nlargest
from typing import Any

import click

from redline.cli.arguments import SESSION
from redline.cli.formatting import date_and_time, dollars, share
from redline.cli.loaded_session import CONVERSATION_HELP, EXIT_OK, POLICY_HELP, LoadedSession, load_session
from redline.cli.output import Column, counted, say, say_json, say_wrapped, show_rows, show_table, show_title
from redline.engine.fold_words import NOTHING_LOST
from redline.errors import ValidationError
from redline.policy.policy import as_replayed, find_policy, says_of
from redline.rules import RULES, Faded
from redline.sessions.explain import (
    PartExplanation,
    PendingMark,
    Situation,
    deeds_words,
    explain_part,
    span_words,
    waiting_marks,
)
from redline.sessions.playback import Playback
from redline.sessions.read_session import AUTO, SENT, resolved_policy
from redline.sessions.to_json import made_request, message_to_json, part_key, strike_to_json
from redline.values.messages import Part

_MOST_SHOWN = 10
_LONGEST_REPLACEMENT = 600


@click.command("explain")
@click.argument("session", type=SESSION, metavar="SESSION")
@click.argument("places", nargs=-1, metavar="[INDEX[:AT]]...")
@click.option("--request", "request", type=click.IntRange(min=0), metavar="N", help="As of this request, from 0.")
@click.option("--policy", default=AUTO, metavar="NAME_OR_FILE", help=POLICY_HELP)
@click.option("--conversation", "number", default=0, show_default=True, help=CONVERSATION_HELP)
@click.option("--json", "as_json", is_flag=True, help="One object a line for each part, or one for the summary.")
def command(session: str, places: tuple[str, ...], request: int | None, policy: str, number: int, as_json: bool) -> int:
    """Explain why parts of a SESSION are sent, folded or struck: rule, reason, numbers, since when, how to undo.

    INDEX is a message as `redline show` numbers it, AT one of its parts (content.0, or its number from 0). Without them: the
    sums by rule, the largest strikes, and what waits. Chances of use were measured on recorded sessions.

    Of Redline's logs the strikes are those that were made, and what waits is what the policy that is named would decide on the
    record, which is only read; without one `default` where `faded` has struck something, else `stale`.

    Exit code 0, or 2 if something cannot be read or is not there.

    \b
    Examples:
      redline explain 1
      redline explain session.jsonl 18 20:content.0
      redline explain chat.jsonl 7 --request 12
    """
    loaded = load_session(session, number)
    playback = loaded.playback(policy)
    if request is not None:
        made_request(playback, request)
    asked = resolved_policy(policy, is_log=loaded.is_log)
    if asked == SENT:  # no log names its policy
        asked = "default" if any(strike.rule == Faded.name for strike in playback.strikes) else "stale"
    rules = as_replayed(find_policy(asked))
    waiting = waiting_marks(playback, request, loaded.session.log, rules)
    can_undo = loaded.can_be_opened and not playback.is_hypothetical
    situation = Situation(playback, request, rules, waiting, can_undo=can_undo)
    if not places:
        _summarize(situation, loaded, as_json=as_json)
        return EXIT_OK
    for index, part in [found for place in places for found in _parts_at(playback, place)]:
        explained = explain_part(situation, index, part)
        if as_json:
            say_json(asdict(explained))
        else:
            _show(situation, loaded, explained)
    return EXIT_OK


def _parts_at(playback: Playback, place: str) -> list[tuple[int, Part]]:
    """The parts that `12` or `12:content.0` names."""
    number, _, at = place.partition(":")
    if not (number.isascii() and number.isdecimal()) or int(number[:12]) >= playback.history.count:
        count = playback.history.count
        raise ValidationError(f"{place[:40]!r} is no message; there are {count:,}, numbered from 0. Write 12 or 12:content.0.")
    index = int(number[:12])
    message = playback.history.load(index)
    found = list(message.walk()) if at else list(message.parts)
    chosen = [part for part in found if part_key(part.at) == at][:1]
    if not chosen and at.isascii() and at.isdecimal() and int(at[:12]) < len(message.parts):
        chosen = [message.parts[int(at[:12])]]
    if at and not chosen:
        known = ", ".join(dict.fromkeys(part_key(part.at) for part in found))
        raise ValidationError(f"Message {index} has no part {at[:40]!r}; it has {known or 'none'}.")
    return [(index, part) for part in (chosen if at else found)]


def _show(situation: Situation, loaded: LoadedSession, one: PartExplanation) -> None:
    message = message_to_json(situation.playback, one.index)
    when = date_and_time(message["time_ms"])
    show_title(f"Message {one.index}, {one.at or 'all of it'} · {message['role']}{f' · {when}' if when else ''}")
    kind = {"call": "a call", "result": "the result", "text": "words", "other": "something else"}.get(one.kind, one.kind)
    what = kind + (f" of {one.tool}" if one.tool else "") + (f", which {one.says}" if one.says else "")
    rows = [("what", what), ("size", counted(one.tokens, "token")), ("now", _state_words(situation, one))]
    for strike in one.strikes:
        rows += _strike_rows(situation, strike)
    for waiting in one.waiting:
        rows += [("marked by", f"{waiting.rule}: {waiting.because}"), ("but", waiting.why)]
    for strike in one.earlier:
        span = span_words(strike["first"], strike["end"])
        deed = strike["does"] if strike["is_fold"] else "struck"
        rows.append(("earlier", f"{strike['rule']} {deed} it {span}; sent again: {strike['ended_because']}"))
    rows += [("why", "; ".join(one.kept_because))] if one.kept_because else []
    if one.kept_because and one.state == "sent":
        rows += [("the rules", f"{rule.name}: {says_of(type(rule))}") for rule in situation.policy.made_rules()]
    show_rows((Column("", least=12), Column("", "note", least=40)), rows)
    for strike in one.strikes:
        if strike["is_undoable"]:
            say(f"To undo it: redline.open({json.dumps(loaded.source.name)}).undo({strike['number']}), or `redline serve`")


def _state_words(situation: Situation, one: PartExplanation) -> str:
    playback, number = situation.playback, situation.number
    first = f"; first sent in request {one.first_request}" if one.first_request is not None else ""
    match one.state:
        case "not sent yet":
            return f"said after request {number}" if situation.request is not None else "said after the last request"
        case "hidden":
            return f"not sent in request {number}: the view does not show its message{first}"
        case "struck" | "folded" | "referred" as deed:
            if playback.history.observed:
                return f"recorded as {deed}, but sent all the same: {playback.history.observed}{first}"
            told = f"would be {deed} under the policy `{playback.name}`" if playback.is_hypothetical else deed
            return f"{told} in request {number}{first}"
    if any(strike["end"] == number + 1 for strike in one.earlier):
        return f"sent as it was said from the next request on{first}"
    return f"sent as it was said in request {number}{first}"


def _strike_rows(situation: Situation, strike: dict[str, Any]) -> Iterator[tuple[str, str]]:
    rule = RULES.get(strike["rule"])
    yield "rule", f"{strike['rule']}: {says_of(rule)}" if rule is not None else strike["rule"]
    yield "because", strike["because"]
    yield "since", f"request {strike['first']}" + (f": {strike['why_now']}" if strike["why_now"] else "")
    replacement = strike["replacement"]
    yield "sent instead", "nothing" if replacement is None else replacement[:_LONGEST_REPLACEMENT]
    saved = strike["tokens_before"] - strike["tokens_after"]
    yield "tokens", f"{strike['tokens_before']:,} → {strike['tokens_after']:,}: {saved:,} fewer in every request"
    verb = "it would have saved" if situation.playback.is_would else "it saved"
    share_of = f"; of what all strikes saved net, {verb} {dollars(strike['saved_usd'])}"
    money = share_of if strike["saved_usd"] is not None else ""
    yield "so far", f"{counted(strike['requests'], 'request')}{money}"
    cached = strike["rewrite_tokens"]
    anew = f"{cached:,} tokens, by all strikes of that request" if cached else "nothing"
    yield "cached anew", anew
    if strike["is_fold"]:
        yield "lost", "nothing" if strike["fate"] == NOTHING_LOST else strike["fate"]
        yield from (("refers", reference["says"]) for reference in strike["refers"])
    if strike["chance"] is not None:
        yield "chance", f"{share(strike['chance'])} that it is used again, as estimated when it was struck"
    if strike["is_fold"] and not strike["is_partial"]:
        return
    if strike["used_at"] is not None:
        yield "used later", f"in request {strike['used_at']}: {strike['used_words']}"
    else:
        yield (
            "used later",
            "no answer used it" if situation.playback.is_hypothetical else "not known: the model did not have it",
        )


# --- all strikes


def _summarize(situation: Situation, loaded: LoadedSession, *, as_json: bool) -> None:
    playback = situation.playback
    struck = [one for one in playback.strikes if situation.request is None or one.is_in_force(situation.number)]
    strikes = [strike_to_json(playback, one, is_undoable=situation.can_undo and one.end is None) for one in struck]
    largest = nlargest(_MOST_SHOWN, strikes, key=_saved)
    rules: list[dict[str, Any]] = []
    for name in dict.fromkeys(strike["rule"] for strike in strikes):
        own = [strike for strike in strikes if strike["rule"] == name]
        money = [strike["saved_usd"] for strike in own if strike["saved_usd"] is not None]
        sums = {
            "rule": name,
            "strikes": sum(not strike["is_fold"] for strike in own),
            "folds": sum(strike["is_fold"] for strike in own),
            "tokens": sum(map(_saved, own)),
            "saved_usd": sum(money) if money else None,
            "used_later": sum(strike["used_at"] is not None for strike in own),
            "ended": sum(strike["end"] is not None for strike in own),
        }
        rules.append(sums)
    paid = loaded.session.paid()
    saved = playback.saved_usd if playback.is_hypothetical else paid.saved_usd if paid is not None else None
    if as_json:
        waiting = [{**asdict(one), "at": part_key(one.at)} for one in situation.waiting]
        say_json(
            {
                "session": loaded.source.name,
                "policy": playback.name or SENT,
                "request": situation.request,
                "is_hypothetical": playback.is_hypothetical,
                "paid_usd": paid.usd if paid is not None else None,
                "saved_usd": saved,
                "is_would": playback.is_would,
                "rules": rules,
                "largest": largest,
                "waiting": waiting,
            }
        )
        return
    who = f"The policy `{playback.name}`" if playback.is_hypothetical else "Redline"
    where = f" in request {situation.request}" if situation.request is not None else ""
    say(f"{who} {deeds_words(struck, is_hypothetical=playback.is_hypothetical)}{where}.", "bold")
    if playback.history.observed:
        say(f"They were sent all the same: {playback.history.observed}.")
    if paid is not None and situation.request is None:
        what = "strikes and folds" if any(one.is_fold for one in playback.strikes) else "strikes"
        verb = ("would have cost", "would have saved") if playback.is_would else ("cost", "saved")
        how = "by our model of the bill" if playback.is_hypothetical else "by what was reported"
        change = f"; {what} {verb[(saved or 0) >= 0]} {dollars(abs(saved or 0))}, net, {how}" if playback.strikes else ""
        say_wrapped(f"The provider reported {dollars(paid.usd)} at list prices{change}.")
    _show_tables(rules, largest, len(strikes), situation.waiting)
    if largest:
        say()
        say(f"`redline explain SESSION {largest[0]['index']}` says all about one of them")


def _saved(strike: dict[str, Any]) -> int:
    return int(strike["tokens_before"]) - int(strike["tokens_after"])


def _show_tables(
    rules: Sequence[dict[str, Any]], largest: Sequence[dict[str, Any]], count: int, waiting: Sequence[PendingMark]
) -> None:
    """The strikes by rule, the largest of so many, and what is marked and still sent."""
    sums = [list({**row, "saved_usd": dollars(row["saved_usd"])}.values()) for row in rules]
    headings = ("rule", "strikes", "folds", "tokens", Column("saved", "number"), "used later", "ended")
    show_table("By rule", headings, sums)
    part, because = Column("part", least=9), Column("because", "note", least=24)
    rows = [(one["index"], one["at"], _saved(one), one["first"], one["tool"] or "", one["because"]) for one in largest]
    columns = ("message", part, "tokens", "since", Column("tool", least=6), because)
    show_table("Largest", columns, rows, left_out=count - len(largest))
    why = [(one.index, part_key(one.at), one.rule, f"{one.because}; {one.why}") for one in waiting]
    show_table("Marked, and still sent", ("message", part, "rule", Column("why", "note", least=24)), why, most=_MOST_SHOWN)
