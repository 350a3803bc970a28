"""What happens in these tests: the time, two tools, and a model that is told what to say."""

from collections.abc import Sequence

from redline.testing import says
from redline.values.messages import Message, Reasoning, Text, ToolCall

LOG = "".join(f"{number} request served\n" for number in range(2000)) + "ERROR total is None\n"


class Killed(BaseException):
    """The process ends here: no exception handler of the agent gets to see it."""


class Clock:
    """Every look at it takes two minutes."""

    def __init__(self) -> None:
        self.now = 1_770_000_000_000

    def __call__(self) -> int:
        self.now += 120_000
        return self.now


def read(file_path: str) -> str:
    return f"# {file_path}\n" + "def total(orders): ...\n" * 40


def bash(command: str) -> str:
    if command == "make deploy":
        raise Killed
    return LOG if command == "cat server.log" else f"$ {command}\n" + "ok\n" * 100


TOOLS = {"Read": read, "Bash": bash}
SYSTEM = "You are a careful engineer."


def described(name: str, description: str, argument: str):
    """A tool as users write it down, for any provider."""
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"name": name, "description": description, "parameters": schema}


DESCRIPTIONS = [described("Read", "Shows a file.", "file_path"), described("Bash", "Runs a command.", "command")]


def calls(number: int, tool: str, **arguments: str):
    """A turn of the model that thinks, says so and calls one tool."""
    thought, words = Reasoning(f"I need {tool} now."), Text(f"Let me use {tool}, for the {number}. time.")
    return "assistant", (thought, words, ToolCall(f"call_{number}", tool, arguments))


def look_for_the_error(messages: Sequence[Message]):
    """The model finds the stub among what it was sent, and asks for the lines that it wants."""
    stub = next(result.text for message in messages for result in message.results if "stored elsewhere" in result.text)
    reference = stub.rpartition('reference="')[2].partition('"')[0]
    return "assistant", (ToolCall("call_20", "recall", {"reference": reference, "grep": "ERROR"}),)


BEFORE = [
    calls(0, "Bash", command="make test"),
    *(calls(number, "Read", file_path="orders.py") for number in range(1, 7)),
    calls(7, "Bash", command="cat server.log"),
    calls(8, "Bash", command="make deploy"),
]
"""What the model says until the agent is killed."""

AFTER = [look_for_the_error, says("assistant", "The total is None.")]
"""What it says when the agent has been resumed."""
