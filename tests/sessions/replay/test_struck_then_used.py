from dataclasses import replace

from redline.policy.policy import find_policy
from redline.sessions.replay.risk import UsedPlace
from redline.sessions.replay.simulated_run import SessionReplay
from redline.values.messages import Text
from tests.sessions.replay.recorded import past_strike, recorded, step
from tests.sessions.replay.sessions import RULE
from tests.sessions.replay.used_later import FILLER, LINE, used_later

MASKING = replace(find_policy("masking"), schedule="eager")


def places(history, *strikes):
    session = SessionReplay(history)
    return session.places("mine", session.with_strikes(strikes, RULE))


def test_each_use_has_its_place():
    """What was struck and when, who used it, by which measure and in which words; requests count from 1."""
    session = SessionReplay(used_later())
    found = session.places("mine", session.under(MASKING, RULE))
    at = session.history.load(2).parts[0].at
    read = UsedPlace(2, at, "Read", "file read", (LINE + " " + "word " * 60)[:119] + "…", 12, 16, "quoted", LINE)
    assert (found.policy, found.strikes) == ("mine", 5)
    assert found.used[0] == read
    assert [(one.message, one.tool, one.kind, one.struck_in, one.used_in, one.measure, one.words) for one in found.used] == [
        (2, "Read", "file read", 12, 16, "quoted", LINE),
        (2, "Read", "file read", 12, 16, "strict", "the_answer, compute_everything"),
        (4, "Bash", "terminal", 13, 17, "strict", "build_id_77"),
    ]


def test_a_whole_message_is_told_by_its_result():
    """A policy that drops messages has places too."""
    [quoted, *_] = places(used_later(), past_strike(2, 11)).used
    assert (quoted.message, quoted.at, quoted.tool, quoted.kind) == (2, None, "Read", "file read")


def test_words_of_the_user_have_no_tool():
    """They are of no kind of tool. A message is dropped, so that the strict measure looks for words in messages, too."""
    turns = [("user", (Text(LINE),)), *step(0, "Bash", {"command": "make"}, "ok"), ("assistant", (Text(LINE),))]
    found = places(recorded(turns), past_strike(0, 1)).used
    assert [place.measure for place in found] == ["quoted", "strict"]
    assert {(place.tool, place.kind, place.first_words) for place in found} == {(None, "other", LINE)}


def test_secrets_are_not_shown():
    """Neither in what was struck nor in what was used."""
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    turns = [("user", (Text("go"),)), *step(0, "Bash", {"command": "env"}, f"GITHUB_TOKEN={secret}" + FILLER)]
    turns += [("assistant", (Text(f"it is GITHUB_TOKEN={secret}"),)), ("user", (Text("go on"),)), ("assistant", (Text("ok"),))]
    found = places(recorded(turns), past_strike(2, 1))
    assert [place.measure for place in found.used] == ["strict"]
    assert "GITHUB_TOKEN" in found.used[0].words
    assert secret not in str(found)
