"""The fit finds what is there, projects are never split, and a frontier can be made of any session file."""

import math
import random

from bench.fit_worth import ModelledFaded, make_model
from bench.worth_model import calibration_of, fit, folds_of, is_calibrated
from bench.worth_rows import JudgedResult, judged_in
from redline.rules.faded import Faded
from redline.rules.worth import FEATURES, chance, shipped_model
from tests.rules.folding import marks_of, native, read, steps
from tests.sessions.replay.test_under_policy import generated


def drawn(count, weights, seed=1):
    """Results of which each is used with the chance that these weights give."""
    rng, made = random.Random(seed), []
    for _ in range(count):
        features = (1.0, rng.gauss(0, 1), rng.gauss(0, 1))
        made.append(JudgedResult(rng.choice("abcdef"), features, rng.random() < chance(weights, features)))
    return made


def test_the_fit_finds_the_weights_that_made_the_results():
    """Within what so many results can tell."""
    weights = (-1.0, 0.8, -0.5)
    found = fit(drawn(20_000, weights))
    assert all(math.isclose(one, other, abs_tol=0.08) for one, other in zip(found, weights, strict=True))


def test_a_project_is_in_one_fold():
    """However many results it has; no fold is empty."""
    results = drawn(600, (0.0, 0.0, 0.0))
    folds = folds_of(results, 3)
    assert set(folds) == set("abcdef")
    assert set(folds.values()) == {0, 1, 2}


def test_calibration_compares_what_was_predicted_with_what_came():
    """In ten bins; a model that is right is calibrated, one that says the opposite is not."""
    weights = (-1.0, 0.8, -0.5)
    results = drawn(20_000, weights)
    right = calibration_of([(chance(weights, one.features), one.is_used) for one in results])
    wrong = calibration_of([(1 - chance(weights, one.features), one.is_used) for one in results])
    assert len(right) == 10
    assert all(is_calibrated(predicted, observed) for predicted, observed, _ in right)
    assert not all(is_calibrated(predicted, observed) for predicted, observed, _ in wrong)


def test_results_are_judged_as_the_rule_judges_them():
    """Each judgement has every feature; some results of a session are used again, and some are not."""
    judged = [one for seed in range(3) for one in judged_in(generated(seed), "p")]
    assert {len(one.features) for one in judged} == {len(FEATURES)}
    assert {one.project for one in judged} == {"p"}
    assert not all(one.is_used for one in judged)


def test_a_model_of_ones_own_decides():
    """One that holds everything for needed marks nothing; the one that ships, given by its coefficients, is itself."""
    messages = read(native(steps(*[("Bash", {"command": "make"}, "all is well\n" * 900)] * 5)))
    needed = make_model([30.0] * len(FEATURES)).weights()
    assert marks_of(ModelledFaded(Faded(), needed), messages) == []
    shipped = ModelledFaded(Faded(), shipped_model().weights())
    assert marks_of(shipped, messages) == marks_of(Faded(), messages) != []
