"""Whether a replay says what really happens: recorded sessions led through a real conversation, billed by comparing bytes.

Every recorded request is made again by a `Conversation` with the preset. What it sends is compared byte for byte with what the
request before it sent: equal messages in front are read from the cache, if it is alive and of the same model, and the rest is
written. A compaction clears the view of the one conversation, which goes on: so does the replay.

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
from bench.due_marks import is_same_cache
from redline import Conversation, Policy, Request, read_transcript
from redline.policy.policy import find_policy
from redline.prices import PRICE_RULES, PriceRule
from redline.record.records import MessageAdded, ViewChanged
from redline.schedules import WhenFree
from redline.schedules.bill import charge
from redline.sessions.replay.comparison import ADVISED
from redline.sessions.replay.history import PastRequest, SessionHistory, histories_in
from redline.sessions.replay.simulated_run import SessionReplay
from redline.tokens import Estimate, Remembered, count_message

__all__ = ["lead_through", "live_cost", "replayed_cost", "without_usage"]

_RULE = PRICE_RULES["0.1/1.25/5m"]
_POLICIES = {"none": Policy(rules=()), **{name: find_policy(name) for name in ADVISED}}


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
    for name in ADVISED:
        replayed, live = (sums[name][kind] / sums["none"][kind] for kind in ("replayed", "live"))
        print(f"| {name} | {replayed:.4f} | {live:.4f} | {live / replayed - 1:+.2%} |")


def _of_file(path: Path) -> tuple[int, list[tuple[str, dict[str, float]]]]:
    logging.disable(logging.CRITICAL)
    requests, found = 0, list[tuple[str, dict[str, float]]]()
    for recorded in histories_in(read_transcript(path)):
        history = without_usage(recorded)
        requests += len(history.requests)
        session = SessionReplay(history)
        for name, policy in _POLICIES.items():
            costs = {"replayed": replayed_cost(session, policy), "live": live_cost(history, policy)}
            found.append((name, costs))
    return requests, found


def without_usage(history: SessionHistory) -> SessionHistory:
    """As if nothing had been reported of its sizes; a conversation is not told either."""
    requests = tuple(msgspec.structs.replace(request, usage=None) for request in history.requests)
    return replace(history, requests=requests, system="")


def replayed_cost(session: SessionReplay, policy: Policy) -> float:
    """What the replay reckons."""
    return session.under(policy, _RULE).cost


def live_cost(history: SessionHistory, policy: Policy) -> float:
    """What a conversation's requests cost, by their bytes."""
    counter, sizes, cost = Remembered(Estimate()), dict[bytes, int](), 0.0
    before, sent_before = None, list[bytes]()
    for request, made in lead_through(history, policy, _RULE):
        sent = [msgspec.json.encode(one) for one in made.messages]
        for payload in sent:
            if payload not in sizes:
                sizes[payload] = count_message(history.state.format.read(payload), counter).total
        equal = takewhile(lambda pair: pair[0] == pair[1], zip(sent, sent_before, strict=False))
        is_alive = before is not None and is_same_cache(before, request, _RULE)
        kept = sum(sizes[one] for one, _ in equal) if is_alive else 0
        cost += charge(_RULE, sum(sizes[one] for one in sent), kept).cost
        before, sent_before = request, sent
    return cost


def lead_through(history: SessionHistory, policy: Policy, rule: PriceRule) -> Iterator[tuple[PastRequest, Request]]:
    """Each recorded request as a conversation would make it, at the prices of a rule."""
    talk = Conversation(policy=policy, format=history.format, counter=Remembered(Estimate()), project_root=history.project_root)
    schedule, position = WhenFree.for_rule(rule), 0
    for request in history.requests:
        for record in history.records[position : request.at]:
            match record:
                case MessageAdded(payload, timestamp_ms):
                    talk.add(payload, timestamp_ms=timestamp_ms)
                case ViewChanged():
                    talk.process({"operation": "clear", "clear": {"keep_system_message": False}})
        position = request.at
        yield request, talk.request(now=request.time_ms, model=request.model, schedule=schedule)


if __name__ == "__main__":
    main()
