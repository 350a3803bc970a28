"""A session as agents have them, for the tests of outlines: tasks, edits, a failure, a decision, and words said later."""

from redline.testing import asks, conversation, says

TASK = "Fix the total in orders.py.\nDo not touch test_orders.py:\n\n    keep API v2"
TODOS = [{"content": "Fix total", "status": "completed"}, {"content": "Add tests", "status": "pending"}]
MORE = "Go on, but answer in French."


def turns():
    """What was said."""
    return [
        says("user", TASK),
        *asks("TodoWrite", {"todos": TODOS}, "ok", id="t0"),
        *asks("Read", {"file_path": "orders.py"}, "def total_items(items): ...\n" * 200, id="t1"),
        *asks(
            "Edit", {"file_path": "orders.py", "old_string": "return 0", "new_string": "return sum_of(items)"}, "ok", id="t2"
        ),
        *asks(
            "Bash", {"command": "pytest -q"}, "Exit code 1\nFAILED tests/test_orders.py::test_total - assert 3 == 4", id="t3"
        ),
        *asks("Bash", {"command": "ruff check"}, "Exit code 1\nerror: F401", id="t4"),
        *asks("Bash", {"command": "ruff check"}, "All checks passed!", id="t5"),
        says("assistant", "The root cause is that total_items ignores discounts. Nice weather today everywhere."),
        says("user", MORE),
        *asks("Bash", {"command": "ls"}, "a.py b.py", id="t6"),
        says("assistant", "done"),
    ]


def native(format):
    """In a format."""
    return conversation(format, turns())
