from redline.replay.course import ReplayStrike
from redline.replay.marks import due_marks, rules_of, seen_in
from redline.replay.places import UsedPlace, places_of
from redline.replay.risk import uses_in
from redline.replay.strict import strict_uses_in
from redline.values.messages import Text
from tests.replay.recorded import recorded, step
from tests.replay.used_later import FILLER, LINE, used_later


def places(session, strikes):
    uses = {"quoted": uses_in(session), "strict": strict_uses_in(session)}
    return places_of("mine", seen_in(session), strikes, uses)


def masked(session):
    return [ReplayStrike(mark.request, mark.position, mark.saving, mark.at) for mark in due_marks(session, rules_of("masking"))]


def test_each_use_has_its_place():
    """What was struck and when, who used it, by which measure and in which words; requests count from 1."""
    session = used_later()
    found = places(session, masked(session))
    at = session.messages[2].parts[0].at
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
    session = used_later()
    [quoted, *_] = places(session, [ReplayStrike(11, 2, 1.0)]).used
    assert (quoted.message, quoted.at, quoted.tool, quoted.kind) == (2, None, "Read", "file read")


def test_words_of_the_user_have_no_tool():
    """They are of no kind of tool."""
    turns = [("user", (Text(LINE),)), *step(0, "Bash", {"command": "make"}, "ok"), ("assistant", (Text(LINE),))]
    [place] = places(recorded(turns), [ReplayStrike(1, 0, 1.0)]).used
    assert (place.tool, place.kind, place.first_words) == (None, "other", LINE)


def test_secrets_are_not_shown():
    """Neither in what was struck nor in what was used."""
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    turns = [("user", (Text("go"),)), *step(0, "Bash", {"command": "env"}, f"GITHUB_TOKEN={secret}" + FILLER)]
    turns += [("assistant", (Text(f"it is GITHUB_TOKEN={secret}"),)), ("user", (Text("go on"),)), ("assistant", (Text("ok"),))]
    session = recorded(turns)
    found = places(session, [ReplayStrike(1, 2, 1.0)])
    assert [place.measure for place in found.used] == ["strict"]
    assert "GITHUB_TOKEN" in found.used[0].words
    assert secret not in str(found)
