"""A Redline log for the tests of the commands that look at one: strikes, an undo, a pin, a rewind, a batch, hostile text."""

import base64

import redline
from redline import Policy

TRICK = "\x1b[31mred\x1b]52;c;aGk=\x07 \u202etxt\x00 </del><script>alert(1)</script> ````` ![x](http://evil.example/p.png)"
PICTURE = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
KEY = "sk-ant-api03-" + "aB3d" * 12
LINES = 40
MODEL = "claude-sonnet-4-5"


class Chat:
    """Steps of an agent, a minute apart."""

    def __init__(self, address):
        self._now = 1_760_000_000_000.0
        self.talk = redline.open(
            address, format="anthropic", clock=self._tick, policy=Policy(schedule="eager", words="documents")
        )
        self._steps = 0

    def _tick(self):
        self._now += 60_000
        return self._now

    def ask(self):
        return self.talk.request(model=MODEL)

    def step(self, answer=None, *, is_error=False):
        """A command, its output, and a request."""
        number, self._steps = self._steps, self._steps + 1
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": f"make test{number}"}}
        output = answer or f"output {number}\n" * LINES
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output, "is_error": is_error}
        self.talk.add({"role": "assistant", "content": [call]})
        self.talk.add({"role": "user", "content": [result]})
        return self.ask()

    def step_without_strikes(self):
        """A step that nobody asked Redline about, as an agent with another policy would make it."""
        asked, self.ask = self.ask, lambda: None
        try:
            self.step()
        finally:
            self.ask = asked

    def say(self, role, content):
        return self.talk.add({"role": role, "content": content})


def write_chat(address):
    """Strikes on messages 2, 4, 6 …; strike 0 undone, message 4 pinned; then a way back to 12 and a new batch from 5 on."""
    chat = Chat(address)
    chat.say("user", "fix the 请 test 🚀")
    chat.ask()
    for _ in range(12):
        chat.step()
    chat.talk.undo(0)
    chat.talk.pin(4)
    chat.ask()
    chat.talk.close()
    return address


def write_branches(address):
    """As `write_chat`, rewound to message 12 and gone another way, with a batch."""
    write_chat(address)
    chat = Chat(address)
    chat._now, chat._steps = 1_760_003_600_000.0, 100
    chat.talk.rewind(12)
    chat.say("user", "another way")
    chat.step()
    chat.talk.start_batch(5)
    chat.step()
    chat.talk.close()
    return address


def write_hostile(address):
    """Everything that was said is a trick."""
    chat = Chat(address)
    chat.say("user", TRICK)
    chat.say("assistant", [{"type": "text", "text": f"# {TRICK}\n~~~ `x`\n```\n<img src=x>\n~~~\n<b>{TRICK}"}])
    chat.say("user", "x" * 100_000 + "请" * 5_000)
    chat.say("assistant", "go on")
    chat.say("user", [image("image/png", PICTURE), image("image/svg+xml", b"<svg onload=alert(1)>")])
    for _ in range(7):
        chat.step(f"{TRICK}\n" * 30)
    chat.step(f"export K={KEY}\n" * 3)
    chat.talk.close()
    return address


def image(media_type, content):
    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(content).decode()}
    return {"type": "image", "source": source}


def places(folder):
    """The same log as a file and in a database."""
    return {"jsonl": str(folder / "chat.jsonl"), "sqlite": f"sqlite:///{folder / 'chats.db'}#chat"}
