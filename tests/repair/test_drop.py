from redline import clean_orphaned_tool_calls
from redline.repair import clean
from tests.repair.histories import ANTHROPIC, RESPONSES, assistant, item_call, item_output, read, reasoning, result, use, user


def dropped(history, format="anthropic"):
    return clean_orphaned_tool_calls(history, format=format)


def test_message_with_an_unanswered_call_goes_whole():
    """Its text goes too, and the results of its other calls; what the user said beside them stays."""
    history = [user("hi"), assistant("look", use("a"), use("b")), user(result("a"), "go on"), assistant("ok")]
    after = dropped(history)
    assert after == [history[0], user("go on"), history[3]]
    assert after[0] is history[0]


def test_message_that_held_only_those_results_goes():
    """Nothing is left of a message whose results all belonged to the dropped one."""
    history = [user("hi"), assistant(use("a"), use("b")), user(result("a"))]
    assert dropped(history) == history[:1]


def test_ids_may_come_again():
    """A result answers the message before it, not an earlier one with the same id."""
    history = [user("hi"), assistant(use("a")), assistant(use("a")), user(result("a"))]
    assert dropped(history) == [history[0], *history[2:]]


def test_answered_and_silent_messages_are_untouched():
    """An assistant message without calls, or with all of them answered, is the same object."""
    history = [user("hi"), assistant("yes"), assistant(use("a"), use("b")), user(result("b"), result("a"))]
    assert all(one is other for one, other in zip(dropped(history), history, strict=True))


def test_items_of_one_turn_go_together():
    """The reasoning and words that came with the call go with it."""
    history = [item_call("a"), item_output("a"), reasoning(), item_call("b")]
    assert dropped(history, "openai_responses") == history[:2]


def test_every_loss_is_told():
    """Each message that went, and each result, has its change."""
    history = [assistant(use("a"), use("b")), user(result("a"))]
    changes = clean(read(ANTHROPIC, history), ANTHROPIC).changes
    assert [change.index for change in changes] == [0, 1]
    assert "the call 'b' of read was never answered" in changes[0].what
    changes = clean(read(RESPONSES, [reasoning(), item_call("b")]), RESPONSES).changes
    assert [change.index for change in changes] == [0, 1]
