"""What presets do in recorded sessions of agents without native tools, with observations as results and without.

python -m bench.observations
"""

from collections.abc import Iterator
from dataclasses import replace

from bench.corpus import recorded_files
from redline import read_transcript
from redline.policy.policy import Policy, as_replayed, find_policy
from redline.prices import PriceRule
from redline.sessions.replay.history import histories_in
from redline.sessions.replay.simulated_run import SessionReplay, SimulatedRun

_AGENTS = ("mini-swe-agent", "swe-agent", "openhands", "openai-chat")
_PRESETS = ("folded", "careful", "balanced", "bold")
_RULE = PriceRule(0.1, 1.25, 300_000)


def main() -> None:
    """Print a table."""
    files = {agent: list(recorded_files((agent,))) for agent in _AGENTS}
    print("| agent | policy | bill before | bill | folds | strikes | requests at risk, strict |\n|---|---|---|---|---|---|---|")
    for agent, paths in files.items():
        sessions = [SessionReplay(history) for path in paths for history in histories_in(read_transcript(path))]
        unstruck = sum(session.unstruck(_RULE).cost for session in sessions)
        requests = sum(len(session.history.requests) for session in sessions)
        for name in _PRESETS:
            policy = as_replayed(find_policy(name))
            before = sum(run.cost for run in _runs(sessions, replace(policy, observations=None))) / unstruck
            runs = list(_runs(sessions, policy))
            folds = sum(strike.is_fold for run in runs for strike in run.strikes)
            strikes = sum(len(run.strikes) for run in runs) - folds
            at_risk = sum(run.risks["strict"].requests for run in runs) / requests
            bill = sum(run.cost for run in runs) / unstruck
            print(f"| {agent} | {name} | {before:.3f} | {bill:.3f} | {folds:,} | {strikes:,} | {at_risk:.1%} |")


def _runs(sessions: list[SessionReplay], policy: Policy) -> Iterator[SimulatedRun]:
    return (session.under(policy, _RULE) for session in sessions)


if __name__ == "__main__":
    main()
