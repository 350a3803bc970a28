"""A digest of everything that is sent over the recorded sessions: two commits that print the same send the same, to the byte.

Each session is added message by message, with a request before each answer, under several rules and schedules. In between
there are previews, undone strikes, pins, rewinds, truncations, and conversations that are closed and opened again, drawn from
a seed. What goes into the digest: the bytes, the strikes, what is held and why, what is refused, repaired and lifted.

python -m bench.sent [SESSIONS]
"""

import hashlib
import json
import logging
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import redline
from bench.corpus import recorded_files
from redline import Conversation, Policy, Request, read_transcript
from redline.agents.readers import Entry, RecordedConversation
from redline.schedules import Budget

__all__ = ["digest_of", "main"]

_SESSIONS = 40
_MOST_MESSAGES = 260
_MASKING = ("superseded_reads", "masked_results", "stale_terminal")
_MANY = (
    "stale_terminal",
    "historical_reads",
    "superseded_reads",
    "repeated_calls",
    "failed_inputs",
    "old_reasoning",
    "long_results",
)
_POLICIES = {
    "documents": (Policy(words=redline.EN), None),
    "default, when free": (Policy(words=redline.EN), "claude-sonnet-4-6"),
    "masking, when free": (Policy(rules=_MASKING, words=redline.EN), "claude-sonnet-4-6"),
    "many rules, bound reasoning": (Policy(rules=_MANY, words=redline.EN), "claude-opus-4-8"),
    "masking, budget": (Policy(rules=_MASKING, schedule=Budget(8_000, 5_000, keep=2), words=redline.EN), None),
}


def main(sessions: int = _SESSIONS) -> None:
    """Print one digest for each policy."""
    logging.disable(logging.CRITICAL)
    files = sorted(recorded_files(), key=lambda path: hashlib.sha256(path.name.encode()).digest())
    digests, requests, done = {name: hashlib.blake2b(digest_size=12) for name in _POLICIES}, defaultdict[str, int](int), 0
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            for conversation in read_transcript(path).conversations[:2]:
                if done == sessions or not conversation.windows or len(conversation.windows[-1]) < 8:
                    continue
                done += 1
                for name, (policy, model) in _POLICIES.items():
                    seed = f"{path.name} {conversation.id} {name}"
                    digest, count = digest_of(conversation, policy, model, seed=seed, folder=Path(folder))
                    digests[name].update(digest)
                    requests[name] += count
    print(f"{done} sessions\n")
    for name, total in digests.items():
        print(f"{total.hexdigest()}  {requests[name]:6,} requests  {name}")


def digest_of(
    recorded: RecordedConversation, policy: Policy, model: str | None, *, seed: str, folder: Path
) -> tuple[bytes, int]:
    """What a session sends under a policy, and in how many requests."""
    chance, digest, count = random.Random(seed), hashlib.blake2b(digest_size=16), 0
    address = folder / f"{hashlib.sha256(seed.encode()).hexdigest()}.jsonl"
    entries: Sequence[Entry] = recorded.windows[-1][:_MOST_MESSAGES]

    def open_talk() -> Conversation:
        return redline.open(address, policy=policy, model=model, format=recorded.format, durability="os")

    talk, now = open_talk(), 1.7e12
    for entry in entries:
        said_at = entry.timestamp_ms if entry.timestamp_ms is not None else now + 20_000
        now = max(now, said_at)
        if entry.message.role == "assistant" and talk.visible_indices:
            if chance.random() < 0.1:
                _add(digest, talk.preview(now=now + 3_600_000))
            _add(digest, talk.request(now=now))
            count += 1
            if entry.usage:
                talk.record_usage(entry.usage)
            if chance.random() < 0.07:
                talk.close()
                talk = open_talk()
            _use_otherwise(talk, chance)
        talk.add(entry.message.native, timestamp_ms=said_at)
    _add(digest, talk.request(now=now + 600_000))
    talk.close()
    return digest.digest(), count + 1


def _use_otherwise(talk: Conversation, chance: random.Random) -> None:
    """Now and then what users do besides."""
    drawn, stored = chance.random(), len(talk.all_messages) if chance.random() < 0.1 else 0
    try:
        if drawn < 0.02 and talk.strikes:
            talk.undo(chance.choice([strike.number for strike in talk.strikes]))
        elif stored and drawn < 0.3:
            talk.pin(chance.randrange(stored))
        elif stored and drawn < 0.5:
            talk.rewind(chance.randrange(stored // 2, stored))
        elif stored and drawn < 0.7:
            talk.process({"operation": "truncate", "truncate": {"keep_last": max(5, stored // 2)}})
    except redline.ExecutionError:
        return


def _add(digest: "hashlib.blake2b", made: Request) -> None:
    told = [made.strikes, made.held, made.refused, made.lifted, [(one.index, one.what) for one in made.repairs], made.system]
    digest.update(made.body + json.dumps(made.messages).encode() + repr(told).encode() + made.explain().encode())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
