from redline.formats import find_format
from redline.laws import LAWS, problems_of
from redline.laws.law import History, Problem
from redline.lists.check import check
from redline.testing import asks, conversation, says


def test_problem_is_one_line_for_people():
    """A problem reads as one line: place, finding, law, rule."""
    assert str(Problem(3, None, "a_law", "the rule", "what is there")) == "message 3: what is there (a_law: the rule)"


def test_checking_read_messages_is_the_same():
    """Messages that are read already need not be read again."""
    history = conversation("openai_chat", [says("user", "hi"), *asks("read", {}, None)])
    chat = find_format("openai_chat")
    assert problems_of(History.of(tuple(chat.read(payload) for payload in history), chat)) == check(history)


def test_every_law_has_a_name_of_its_own():
    """Names are how a problem points to its law."""
    assert len({law.name for law in LAWS}) == len(LAWS)
    assert all(law.rules for law in LAWS)


def test_nothing_is_legal():
    """An empty list breaks no law."""
    assert check([]) == []
