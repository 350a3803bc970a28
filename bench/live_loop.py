"""Whether a replay says what really happens: recorded sessions led through a real conversation, billed by comparing bytes.

Every recorded request is made again by a `Conversation` with the preset. What it sends is compared byte for byte with what the
request before it sent: equal messages in front are read from the cache, if it is alive, and the rest is written.

python -m bench.live_loop
"""

import logging
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import msgspec

from bench.corpus import TIMED_AGENTS, recorded_files
from redline import Conversation, Policy, read_transcript
from redline.formats import find_format
from redline.prices import PRICE_RULES, Price
from redline.replay.cache import charge
from redline.replay.session import Session, sessions_in
from redline.replay.what_if import WhatIf
from redline.rules.presets import PRESET_RULES
from redline.tokens import Estimate, Remembered, count_message

__all__ = ["live_cost", "replayed_cost"]

_PRICE = Price(model="m", input=1.0, output=5.0, cache_read=0.1, cache_write=1.25, min_cached_tokens=0)
_RULE = PRICE_RULES["0.1/1.25/5m"]
_POLICIES = {"none": Policy(rules=()), **{name: Policy.named(name) for name in PRESET_RULES}}


def main() -> None:
    """Print the table."""
    sums = {name: Counter[str]() for name in _POLICIES}
    requests = 0
    with ProcessPoolExecutor() as pool:
        for count, found in pool.map(_of_file, recorded_files()):
            requests += count
            for name, costs in found:
                sums[name].update(costs)
    print(f"{requests:,} requests of {', '.join(TIMED_AGENTS)}, at 0.1/1.25/5m, sizes as estimated\n")
    print("| preset | bill, replayed | bill, live | live to replayed |\n|---|---|---|---|")
    for name in PRESET_RULES:
        replayed, live = (sums[name][kind] / sums["none"][kind] for kind in ("replayed", "live"))
        print(f"| {name} | {replayed:.4f} | {live:.4f} | {live / replayed - 1:+.2%} |")


def _of_file(path: Path) -> tuple[int, list[tuple[str, dict[str, float]]]]:
    logging.disable(logging.CRITICAL)
    requests, found = 0, list[tuple[str, dict[str, float]]]()
    for recorded in sessions_in(read_transcript(path)):
        session = _without_usage(recorded)
        requests += len(session.requests)
        what_if = WhatIf(session, Remembered(Estimate()))
        for name, policy in _POLICIES.items():
            costs = {"replayed": replayed_cost(what_if, policy), "live": live_cost(session, policy)}
            found.append((name, costs))
    return requests, found


def _without_usage(session: Session) -> Session:
    """As if nothing had been reported of its sizes; a conversation is not told either."""
    counter = Remembered(Estimate())
    sizes = tuple(float(count_message(message, counter).total) for message in session.messages)
    return replace(session, tokens=sizes, prefix_tokens=0.0, scale=1.0)


def replayed_cost(what_if: WhatIf, policy: Policy) -> float:
    """What the replay reckons."""
    return what_if.try_policy(policy, _RULE, price=_PRICE).cost


def live_cost(session: Session, policy: Policy) -> float:
    """What a conversation's requests cost, by their bytes."""
    cost, before, before_ms, format = 0.0, list[bytes](), float("-inf"), find_format(session.messages[0].format)
    sizes: dict[bytes, int] = {}
    counter = Remembered(Estimate())
    for time_ms, sent in _sent(session, policy):
        for payload in sent:
            if payload not in sizes:
                sizes[payload] = count_message(format.read(payload), counter).total
        kept = sum(sizes[one] for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(sent, before, strict=False)))
        is_alive = time_ms - before_ms <= _RULE.lifetime_ms
        cost += charge(_RULE, sum(sizes[one] for one in sent), kept if is_alive else 0.0).cost
        before, before_ms = sent, time_ms
    return cost


def _sent(session: Session, policy: Policy) -> Iterator[tuple[float, list[bytes]]]:
    """The time and the messages of each request; a compaction begins a new conversation."""
    start = end = -1
    for request in session.requests:
        if request.start != start:
            start = end = request.start
            talk = Conversation(
                policy=policy,
                model=_PRICE,
                format=session.messages[0].format,
                counter=Remembered(Estimate()),
                project_root=session.project_root,
            )
        for message in session.messages[end : request.end]:
            talk.add(message.native, timestamp_ms=message.timestamp_ms)
        end = request.end
        yield request.time_ms, [msgspec.json.encode(one) for one in talk.request(now=request.time_ms).messages]


if __name__ == "__main__":
    main()
