"""How much of what recorded sessions lost of the provider's cache is explained, and by what.

python -m bench.cache_breaks [SESSIONS]

Session files hold messages and reported usage, neither system prompts nor tools: what a proxy would name as a date in the
system prompt has no cause here. The table says how many of the lost tokens have one: another model, a compaction, a pause
longer than the cache's lifetime, a prompt too short to be cached.
"""

import sys
from collections import Counter
from collections.abc import Sequence

from bench.corpus import TIMED_AGENTS, recorded_files
from redline import read_transcript
from redline.errors import TranscriptError
from redline.sessions.lost_caches import lost_caches
from redline.sessions.replay.history import histories_in


def main(arguments: Sequence[str]) -> None:
    """Print a row for each agent, and one for all; at most so many sessions of each agent."""
    most = int(arguments[0]) if arguments else sys.maxsize
    lost, times, totals = Counter[tuple[str, str]](), Counter[tuple[str, str]](), Counter[str]()
    for agent in TIMED_AGENTS:
        for number, path in enumerate(recorded_files((agent,))):
            if number >= most:
                break
            try:
                histories = list(histories_in(read_transcript(path)))
            except TranscriptError:
                continue
            for history in histories:
                totals[agent] += sum(one.usage.input_tokens for one in history.requests if one.usage is not None)
                for _, broke in lost_caches(history):
                    lost[agent, broke.kind] += broke.lost_tokens
                    times[agent, broke.kind] += 1
    kinds = sorted(
        {kind for _, kind in lost}, key=lambda kind: -sum(tokens for (_, one), tokens in lost.items() if one == kind)
    )
    print(f"{'':14}{'sent':>15}{'lost':>13}{'explained':>11}", *(f"{kind:>24}" for kind in kinds))
    for agents in (*((one,) for one in TIMED_AGENTS), TIMED_AGENTS):
        of_kind = {kind: sum(lost[agent, kind] for agent in agents) for kind in kinds}
        whole, sent = sum(of_kind.values()), sum(totals[agent] for agent in agents)
        explained = 1 - of_kind.get("unknown", 0) / whole if whole else 1.0
        counts = (sum(times[agent, kind] for agent in agents) for kind in kinds)
        cells = (f"{tokens:>15,} ({count:>5,}×)" for tokens, count in zip(of_kind.values(), counts, strict=True))
        name = agents[0] if len(agents) == 1 else "all"
        print(f"{name:14}{sent:>15,}{whole:>13,}{explained:>11.1%}", *cells)


if __name__ == "__main__":
    main(sys.argv[1:])
