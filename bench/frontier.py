"""Bill against risk on the recorded sessions: every policy, what others do, and the presets, each project by a model fitted
without it. Redline's own policies are the engine led through the recorded requests.

python -m bench.frontier                print tables and a drawing
python -m bench.frontier --png FILE     draw it into a picture besides (needs matplotlib)
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from bench.corpus import TIMED_AGENTS
from bench.fit_worth import fitted_models, modelled
from bench.peer_policies import PEER_POLICIES
from redline import EN, Policy, read_transcript
from redline.policy.policy import as_replayed, find_policy
from redline.prices import PRICE_RULES
from redline.rules import Faded, Folded, OldReasoning, Rule
from redline.sessions.replay.comparison import ADVISED, BASELINE
from redline.sessions.replay.history import histories_in
from redline.sessions.replay.simulated_run import SessionReplay, SimulatedRun

__all__ = ["ADVISED", "MAIN", "PEERS", "SETTINGS", "better_setting", "sums_of"]

MAIN = next(iter(PRICE_RULES))
_BY_AGE = ("stale", "superseded", "masking")
PEERS = (BASELINE, *_BY_AGE, *PEER_POLICIES)
"""What the advised presets are held against: sending everything, the presets that go by age and order, and what others do."""
_REASONING = OldReasoning(keep_recent=3, bound_too=True)
_CAREFUL = next(rule for rule in find_policy("careful").made_rules() if isinstance(rule, Faded))
SETTINGS: dict[str, tuple[Rule, ...]] = {
    **{
        f"{name} {penalty:,}": (Folded(), Faded(penalty, inputs=inputs), _REASONING)
        for name, inputs in (("results", False), ("results and inputs", True))
        for penalty in (0, 8_000, 25_000, 120_000, 300_000)
    },
    **{
        f"careful, {name}": (Folded(), rule, _REASONING)
        for name, rule in {
            "no cap": replace(_CAREFUL, max_chance=1.0),
            "no least age": replace(_CAREFUL, min_age=1),
            "cap 10 %": replace(_CAREFUL, max_chance=0.10),
            "cap 20 %": replace(_CAREFUL, max_chance=0.20),
            "penalty 25,000": replace(_CAREFUL, penalty_tokens=25_000),
        }.items()
    },
    "careful, no folds": (_CAREFUL, _REASONING),
}
"""Of `faded` with folds and old reasoning, besides the presets: the number is the penalty; and `careful` with one setting
changed, which says what its cap on the chance of use, its least age and its folds cost."""

Sums = dict[tuple[str, str, str], Counter[str]]
"""By price rule, agent and policy."""


def main(arguments: Sequence[str]) -> None:
    """Print, and draw."""
    sums = sums_of(fitted_models().by_file)
    whole = _over_agents(sums, MAIN)
    print(f"{whole['none']['requests']:,} requests in {whole['none']['sessions']:,} sessions of {', '.join(TIMED_AGENTS)}\n")
    _print_table(f"at {MAIN}", whole)
    _print_wins(whole)
    _print_drawing(whole)
    for rule in PRICE_RULES:
        _print_table(f"at {rule}", {name: one for name, one in _over_agents(sums, rule).items() if name not in SETTINGS})
    for agent in TIMED_AGENTS:
        found = {policy: one for (rule, of, policy), one in sums.items() if (rule, of) == (MAIN, agent)}
        own = {name: one for name, one in _in_order(found).items() if name not in SETTINGS}
        _print_table(f"{agent}, at {MAIN}", own)
    if "--png" in arguments:
        _draw(sums, Path(arguments[arguments.index("--png") + 1]))


def sums_of(weights: Mapping[Path, tuple[float, ...]]) -> Sums:
    """All policies over all session files, each with a model of its own."""
    sums: Sums = defaultdict(Counter)
    with ProcessPoolExecutor() as pool:
        for found in pool.map(_of_file, weights.keys(), weights.values()):
            for key, numbers in found:
                sums[key].update(numbers)
    return sums


def better_setting(peer: Counter[str], tried: Mapping[str, Counter[str]]) -> str | None:
    """The cheapest that costs at most as much for two thirds of the strict risk, or 8 % less for no more of it."""
    bill, risk = _bill(peer), _risk(peer)
    wins = [
        name
        for name, one in tried.items()
        if (_bill(one) <= bill and _risk(one) <= risk * 2 / 3) or (_risk(one) <= risk and _bill(one) <= 0.92 * bill)
    ]
    return min(wins, key=lambda name: _bill(tried[name]), default=None)


def _of_file(path: Path, weights: tuple[float, ...]) -> list[tuple[tuple[str, str, str], dict[str, float]]]:
    return [one for history in histories_in(read_transcript(path)) for one in _of_session(SessionReplay(history), weights)]


def _of_session(session: SessionReplay, weights: tuple[float, ...]) -> Iterator[tuple[tuple[str, str, str], dict[str, float]]]:
    history = session.history
    struck = {name: strikes(session.sizes) for name, strikes in PEER_POLICIES.items()}
    presets = {name: modelled(as_replayed(find_policy(name)), weights, history.project_root) for name in (*_BY_AGE, *ADVISED)}
    settings = {
        name: modelled(as_replayed(Policy(rules=rules, words=EN, strategy="answer")), weights, history.project_root)
        for name, rules in SETTINGS.items()
    }
    for name, rule in PRICE_RULES.items():
        whole = session.unstruck(rule)
        yield (name, history.agent, BASELINE), _numbers(whole, whole.cost)
        for policy, strikes in struck.items():
            yield (name, history.agent, policy), _numbers(session.with_strikes(strikes, rule), whole.cost)
        tried = {**presets, **(settings if name == MAIN else {})}
        for policy, replayed in zip(tried, session.under_each([*tried.values()], rule), strict=True):
            yield (name, history.agent, policy), _numbers(replayed, whole.cost)


def _numbers(replayed: SimulatedRun, whole: float) -> dict[str, float]:
    quoted, strict = replayed.risks["quoted"], replayed.risks["strict"]
    return {
        "sessions": 1,
        "requests": len(replayed.sizes.history.requests),
        "whole": whole,
        "cost": replayed.cost,
        "with_rereads": replayed.cost + replayed.reread_cost,
        "strikes": sum(one.may_be_missed for one in replayed.strikes),
        "quoted_strikes": quoted.strikes,
        "quoted_requests": quoted.requests,
        "strict_strikes": strict.strikes,
        "strict_requests": strict.requests,
    }


def _over_agents(sums: Sums, rule: str) -> dict[str, Counter[str]]:
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (of, _, policy), numbers in sums.items():
        if of == rule:
            found[policy].update(numbers)
    return _in_order(found)


def _in_order(rows: Mapping[str, Counter[str]]) -> dict[str, Counter[str]]:
    return {name: rows[name] for name in (*PEERS, *ADVISED, *SETTINGS) if name in rows}


def _bill(found: Counter[str]) -> float:
    return found["cost"] / found["whole"]


def _risk(found: Counter[str]) -> float:
    return found["strict_requests"] / found["requests"]


def _print_table(title: str, rows: Mapping[str, Counter[str]]) -> None:
    columns = ("bill", "with re-reads", "strikes", "quoted: strikes", "requests", "strict: strikes", "requests")
    print(f"| {title} | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for name, found in rows.items():
        strikes = max(found["strikes"], 1)
        cells = [f"{_bill(found):.3f}", f"{found['with_rereads'] / found['whole']:.3f}", f"{found['strikes']:,}"]
        risks = [
            f"{found[f'{kind}_{what}'] / of:.1%}"
            for kind in ("quoted", "strict")
            for what, of in (("strikes", strikes), ("requests", found["requests"]))
        ]
        print(f"| {f'**{name}**' if name in ADVISED else name} | {' | '.join([*cells, *risks])} |")
    print()


def _print_wins(rows: Mapping[str, Counter[str]]) -> None:
    tried = {name: one for name, one in rows.items() if name in ADVISED or name in SETTINGS}
    beaten = "at most its bill for two thirds of its risk, or 8 % less for no more"
    print(f"| policy | bill | strict: requests | {beaten} | bill | strict: requests |")
    print("|---|---|---|---|---|---|")
    for name in PEERS:
        if name != "none":
            best = better_setting(rows[name], tried)
            own = f"{best} | {_bill(tried[best]):.3f} | {_risk(tried[best]):.2%}" if best else "none | |"
            print(f"| {name} | {_bill(rows[name]):.3f} | {_risk(rows[name]):.2%} | {own} |")
    print()


def _points(rows: Mapping[str, Counter[str]], names: Iterable[str]) -> list[tuple[str, float, float]]:
    return [(name, _risk(rows[name]), _bill(rows[name])) for name in names if name in rows]


_WIDTH, _HEIGHT = 70, 20
_HIGHEST_RISK, _LOWEST_BILL = 0.13, 0.55


def _print_drawing(rows: Mapping[str, Counter[str]]) -> None:
    """Risk to the right, the bill upwards: the lower left is best."""
    grid = [[" "] * (_WIDTH + 1) for _ in range(_HEIGHT + 1)]
    peers = [name for name in PEERS if name != "none"]
    letters = {**dict(zip(peers, "abcdefghijklmnop", strict=False)), **{name: name[:2].upper() for name in ADVISED}}
    for name, risk, bill in _points(rows, [*SETTINGS, *peers, *ADVISED]):
        column = round(_WIDTH * min(risk / _HIGHEST_RISK, 1))
        line = round(_HEIGHT * (1 - (max(bill, _LOWEST_BILL) - _LOWEST_BILL) / (1 - _LOWEST_BILL)))
        mark = letters.get(name, "·")
        for offset, letter in enumerate(mark):
            if column + offset <= _WIDTH and (mark != "·" or grid[line][column] == " "):
                grid[line][column + offset] = letter
    print("```text\nbill")
    for number, cells in enumerate(grid):
        print(f"{1 - number / _HEIGHT * (1 - _LOWEST_BILL):5.2f} |{''.join(cells).rstrip()}")
    print(f"      +{'-' * _WIDTH}\n       0 %{'strict risk: requests':^{_WIDTH - 10}}{_HIGHEST_RISK:.0%}")
    print(", ".join(f"{letter} {name}" for name, letter in letters.items()) + ", · faded at other penalties\n```\n")


def _draw(sums: Sums, path: Path) -> None:
    """One picture for each price rule and for each agent; what costs more than sending everything is not in them."""
    from matplotlib.figure import Figure

    pictures = {f"all agents, {rule}": _over_agents(sums, rule) for rule in PRICE_RULES}
    for agent in TIMED_AGENTS:
        pictures[f"{agent}, {MAIN}"] = {name: one for (rule, of, name), one in sums.items() if (rule, of) == (MAIN, agent)}
    figure = Figure(figsize=(18, 4.4 * -(-len(pictures) // 3)), layout="constrained", dpi=80)
    axes = figure.subplots(-(-len(pictures) // 3), 3, squeeze=False).flatten()
    for axis, (title, rows) in zip(axes, pictures.items(), strict=False):
        for kind in ("results ", "results and inputs "):
            line = sorted((risk, bill) for name, risk, bill in _points(rows, SETTINGS) if name.rpartition(" ")[0] + " " == kind)
            axis.plot([100 * risk for risk, _ in line], [bill for _, bill in line], color="0.7", linewidth=1)
        for names, color in (([name for name in PEERS if name != "none"], "tab:blue"), (ADVISED, "tab:red")):
            for number, (name, risk, bill) in enumerate(_points(rows, names)):
                axis.plot(100 * risk, bill, marker="o", color=color)
                offset = (6, 8 if number % 2 else -10)
                axis.annotate(name, (100 * risk, bill), offset, textcoords="offset points", fontsize=8, color=color)
        axis.set(title=title, xlabel="strict risk, % of requests", ylabel="bill", ylim=(0.5, 1.02), xlim=(-0.5, 20))
    for axis in axes[len(pictures) :]:
        axis.set_visible(False)
    figure.savefig(path, format="png")


if __name__ == "__main__":
    main(sys.argv[1:])
