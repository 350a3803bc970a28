"""Faults are made where they should be, and tried against the tests that touch them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.mutation.mutants import mutants_of

ROOT = Path(__file__).resolve().parents[2]
MASKED = ROOT / "src" / "redline" / "rules" / "masked_results.py"
TEST = "tests/rules/test_masked_results.py"

FAULTS = [
    ("return a < b", {"a < b → a <= b", "return a < b → return None"}),
    ("return a and not b", {"a and (not b) → not b", "a and (not b) → a", "not b → b", "return a and (not b) → return None"}),
    ("x = a + 1", {"a + 1 → a - 1", "1 → 2"}),
    ("x = a == 0", {"a == 0 → a != 0", "0 → 1", "0 → -1"}),
    ("if a:\n        b.go()", {"a → True", "a → False", "b.go() → pass"}),
    ("x = f(a, b, key=1)", {"f(a, b, key=1) → f(b, a, key=1)", "key=1 → nothing", "1 → 2"}),
    ("x = [one for one in a if one]", {"one → True", "one → False"}),
    ("a.b = max(a, b)", {"a.b = max(a, b) → pass", "max(a, b) → min(a, b)"}),
    ('x = ["word", "two words", True]', {"'word' → ''", "True → False"}),
    ('raise ValueError(f"no {a}")', {"raise ValueError(f'no {a}') → pass"}),
]


@pytest.mark.parametrize(("statement", "faults"), FAULTS, ids=[statement for statement, _ in FAULTS])
def test_a_statement_has_its_faults(statement, faults, tmp_path):
    """Comparisons, boundaries, conditions, constants, arguments, results and whole statements; none in what people read."""
    path = tmp_path / "file.py"
    path.write_text(f'"""A file."""\n\n\ndef go(a: int, b: "int") -> bool:\n    """Do it."""\n    {statement}\n')
    found = mutants_of(path)
    assert {f"{mutant.before} → {mutant.after}" for mutant in found} == faults
    assert {mutant.statement_line for mutant in found} <= {6, 7}


def test_a_fault_is_in_its_own_code_only(tmp_path):
    """Each is compiled by itself: the others are not in it."""
    path = tmp_path / "file.py"
    path.write_text("LIMIT = 5\n\ndef small(number, most=LIMIT):\n    return number < most\n")
    results = {}
    for mutant in mutants_of(path):
        names: dict = {}
        exec(mutant.code(), names)
        results[mutant.after] = [names["small"](number) for number in (4, 5, 6)]
    assert results == {
        "6": [True, True, False],
        "number <= most": [True, True, False],
        "return None": [None, None, None],
    }


RUN = """
import json, os, sys
from functools import partial
from pathlib import Path
from bench.mutation.mutants import mutants_of
from bench.mutation.touching import run_all
from bench.mutation.trial import ARGUMENTS, start, try_mutant

os.environ["HYPOTHESIS_PROFILE"] = "mutation"
folder, path, test = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]

def watch():
    touched = run_all([path.parent], [*ARGUMENTS, f"--basetemp={folder}/tmp", test], [])
    lines = {str(line): sorted(names) for (file, line), names in touched.tests.items() if file == str(path)}
    (folder / "touched").write_text(json.dumps([touched.seconds, lines]))
    return 0

os.waitpid(start(watch, folder), 0)
seconds, lines = json.loads((folder / "touched").read_text())
outcomes = {}
for mutant in [*mutants_of(path), *mutants_of(path.with_name("old_images.py"))[:1]]:
    pid = start(partial(try_mutant, mutant, [seconds], folder), folder)
    outcomes[f"{mutant.path.name}: {mutant.before} → {mutant.after}"] = os.waitpid(pid, 0)[1]
print(json.dumps([lines, outcomes]))
"""


def test_tests_are_tried_on_faults(tmp_path):
    """In processes of their own: what a test touches is known, a fault there is noticed, one elsewhere is not."""
    command = [sys.executable, "-c", RUN, str(tmp_path), str(MASKED), TEST]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    lines, outcomes = json.loads(done.stdout)
    decide = next(number for number, line in enumerate(MASKED.read_text().splitlines(), 1) if "return" in line)
    assert all(name.startswith(TEST) for name in lines[str(decide)])
    noticed = {what for what, status in outcomes.items() if status}
    assert any("→ return None" in what for what in noticed)
    assert not any(what.startswith("old_images.py") for what in noticed)
