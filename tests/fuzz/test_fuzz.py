"""Changed inputs break nothing: every case that once did, and a sample of new ones that is the same each time."""

from contextlib import nullcontext
from pathlib import Path
from random import Random

import pytest

from fuzz.minimal import shrink
from fuzz.mutations import mutate
from fuzz.running import Batch, make_case, replay, start_batch
from fuzz.targets import TARGETS
from fuzz.targets.stateful import POSTGRES

CASES = Path(__file__).parent / "cases"
SAMPLE = 25


def shown(findings):
    return [f"{finding.what}\n{finding.trace}" for finding in findings]


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_kept_cases_and_a_sample(target):
    """What was found once stays fixed, and a fixed sample finds nothing."""
    kept = tuple(path.read_bytes() for path in sorted((CASES / target).glob("*")))
    assert shown(replay(target, kept)) == []
    assert shown(start_batch(Batch(target, seed=1, count=SAMPLE, shrinks=False)).findings) == []


def test_programs_run_in_postgresql_too(postgres, monkeypatch):
    """R150, R151, R155, R167: a sample on all stores at once finds nothing."""
    monkeypatch.setenv(POSTGRES, postgres)
    assert shown(start_batch(Batch("stateful", seed=2, count=5, shrinks=False)).findings) == []


def test_kept_cases_are_small_and_of_a_target():
    """A case is the least that shows a mistake, in the folder of its target."""
    for path in CASES.glob("*/*"):
        assert path.parent.name in TARGETS
        assert path.stat().st_size <= 20_000


def test_a_case_is_made_again_from_its_numbers():
    """Target, seed and number say which case it is."""
    cases = [make_case(Batch("lists", seed=3), number) for number in range(20)]
    assert cases == [make_case(Batch("lists", seed=3), number) for number in range(20)]
    assert len(set(cases)) > 15


def test_shrinking_keeps_what_fails():
    """Only what the failure needs is left."""
    small = shrink(b'{"a":[1,2,{"b":"xyz"}],"c":"d"}', lambda case: b"y" in case, most_tries=500)
    assert small == b"y"


def broken(name):
    def opened(sandbox):
        acts = {
            "raises": lambda case: {}[case],
            "writes": lambda case: (sandbox.given / "x").write_bytes(case),
            "allocates": lambda _: bytearray(200_000_000),
            "hangs": lambda _: next(one for one in iter(int, 1) if one),
        }
        return nullcontext(acts[name])

    return opened


@pytest.mark.parametrize(
    ("name", "what"), [("raises", "KeyError"), ("writes", "open"), ("allocates", "took 19"), ("hangs", "hangs")]
)
def test_a_broken_property_is_found(monkeypatch, name, what):
    """An error of Python's, a file outside, too much memory, no end: each is a finding with its case."""
    monkeypatch.setattr("fuzz.sandbox.MOST_SECONDS", 1.0 if name == "hangs" else 30.0)
    monkeypatch.setitem(TARGETS, name, type(TARGETS["lists"])(name, lambda: [b"x"], broken(name)))
    (finding,) = replay(name, (b"case",))
    assert what in finding.what
    assert finding.case == b"case"


def test_changes_are_of_many_kinds():
    """One input gives many others, most of which are still JSON."""
    made = {mutate(b'{"a":[1,"two"],"b":{"c":null}}', Random(seed), [b"[5]"]) for seed in range(200)}
    assert len(made) > 100
