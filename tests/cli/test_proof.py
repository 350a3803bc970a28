"""`redline proof` over a store that two arms have filled."""

import json

from redline import Editor
from redline.providers.answers import Answer
from redline.providers.usage import Usage
from redline.transport.editing import WireEditor
from tests.cli.run import redline
from tests.transport.test_holdout import MASKED, call, messages


def filled(folder, count=24, share=0.5):
    """Sessions of a few turns each, with their usage; the same file is never read twice."""
    with Editor(folder, policy=MASKED) as editor:
        wire = WireEditor(editor, holdout=share)
        for number in range(count):
            for turns in (0, 1, 2):
                body = call(messages("anthropic", f"task {number}", turns), f"s{number}")
                body = type(body)(
                    "POST", body.path, body.headers, body.body.replace(b'"m"', b'"claude-opus-4-6"'), session=body.session
                )
                wire.answered(
                    wire.edit(body), Answer((), Usage(1_000 * (number + 1), 10, 0, 0), "claude-opus-4-6", "anthropic")
                )
    return folder


def test_both_arms_are_told_side_by_side(tmp_path):
    """Sessions, their bills and turns; what is not known has no figures, and no difference is made up."""
    filled(tmp_path)
    done = redline("proof", tmp_path, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    arms = json.loads(done.stdout)["arms"]
    edited, held = arms["sessions"]
    assert edited + held == 24
    assert min(edited, held) >= 5
    assert arms["turns"] == [3 * edited, 3 * held]
    measures = {one["measure"]: one for one in arms["measures"]}
    assert measures["usd"]["sessions"] == [edited, held]
    assert measures["usd"]["low"] <= measures["usd"]["difference"] <= measures["usd"]["high"]
    assert not any(one["is_seen"] for one in arms["measures"])
    assert measures["usd"]["missing"] > 0
    assert (measures["turns"]["difference"], measures["good"]["means"]) == (0.0, None)
    told = redline("proof", tmp_path)
    assert f"{edited} sessions edited and {held} sessions held out" in told.stdout
    assert "paid for a session" in told.stdout
    assert max(map(len, told.stdout.splitlines())) <= 100


def test_outcomes_are_compared(tmp_path):
    """By arm, and good beside bad."""
    filled(tmp_path, count=14)
    named = [json.loads(line)["name"] for line in redline("ls", tmp_path, "--json").stdout.splitlines()]
    for number, name in enumerate(named):
        done = redline("outcome", tmp_path / f"{name}.jsonl", "good" if number < 8 else "bad")
        assert (done.returncode, done.stderr) == (0, "")
    assert len(named) == 14
    found = json.loads(redline("proof", tmp_path, "--json").stdout)
    assert found["outcomes"]["sessions"] == [8, 6]
    good = next(one for one in found["arms"]["measures"] if one["measure"] == "good")
    assert sum(good["sessions"]) == 14
    assert "Ended well beside ended badly" in redline("proof", tmp_path).stdout


def test_a_store_without_a_holdout_says_how_to_begin_one(tmp_path):
    """Nothing is compared that was not drawn."""
    filled(tmp_path, count=3, share=0.0)
    done = redline("proof", tmp_path)
    assert done.returncode == 0
    assert "No session here, of 3, began under a holdout" in done.stdout
    assert "--holdout 10%" in done.stdout


def test_the_same_sessions_give_the_same_figures(tmp_path):
    """To the last digit."""
    filled(tmp_path, count=12)
    assert redline("proof", tmp_path, "--json").stdout == redline("proof", tmp_path, "--json").stdout


def test_what_cannot_be_read_is_named(tmp_path):
    """And the others are compared."""
    done = redline("proof", tmp_path / "nowhere")
    assert (done.returncode, "nowhere" in done.stderr) == (2, True)
