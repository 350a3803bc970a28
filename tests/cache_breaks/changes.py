"""Requests of one conversation in all four APIs, and changes of them that break a cache, or do not."""

import base64
import copy
import json
import struct
import zlib
from dataclasses import dataclass, field

PATHS = {
    "anthropic": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "gemini": "/v1beta/models/gemini-3-pro:generateContent",
}
MODELS = {"anthropic": "claude-sonnet-4-5", "openai_chat": "gpt-5.5", "openai_responses": "gpt-5.5", "gemini": "gemini-3-pro"}
OTHER_MODELS = {
    "anthropic": "claude-opus-4-5",
    "openai_chat": "gpt-5.4",
    "openai_responses": "gpt-5.4",
    "gemini": "gemini-3-flash",
}
FIELDS = {"anthropic": "messages", "openai_chat": "messages", "openai_responses": "input", "gemini": "contents"}
RULES = "\n".join(
    f"Rule {number}: keep the code in order, test it, and say what was done in few words." for number in range(90)
)
STATE = "\n".join([*(f"Note {number} on how this project is laid out." for number in range(13)), "Today's date: 2026-11-19"])
GIT = "gitStatus: the git status at the start.\nCurrent branch: main\n\nStatus:\nM src/a.py\n\nRecent commits:\n1234abc fix"
STATE_AND_MORE = f"{STATE}\n{GIT}\n" + "\n".join(f"Further note {number}, which says little." for number in range(40))


def png(seed):
    """A picture of 32 by 32 pixels, in base64."""
    rows = b"".join(b"\0" + bytes((seed + row * column * 7) % 251 for column in range(96)) for row in range(32))
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", 32, 32, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows, 0)), (b"IEND", b""))
    framed = (struct.pack(">I", len(held)) + kind + held + struct.pack(">I", zlib.crc32(kind + held)) for kind, held in chunks)
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(framed)).decode()


PICTURE, OTHER_PICTURE = png(1), png(2)


@dataclass
class Asked:
    """One request."""

    format: str
    body: dict
    headers: dict = field(
        default_factory=lambda: {"x-api-key": "k", "x-claude-code-session-id": "s", "user-agent": "claude-cli/2.1"}
    )
    at: float = 1_800_000_000.0

    @property
    def path(self):
        model = self.body.get("model", MODELS["gemini"])
        return PATHS[self.format].replace(MODELS["gemini"], model) if self.format == "gemini" else PATHS[self.format]

    @property
    def raw(self):
        body = {name: held for name, held in self.body.items() if not (name == "model" and self.format == "gemini")}
        return json.dumps(body).encode()

    @property
    def messages(self):
        """The messages without those of the system."""
        return [one for one in self.body[FIELDS[self.format]] if one.get("role") not in ("system", "developer")]

    @messages.setter
    def messages(self, messages):
        listed = self.body[FIELDS[self.format]]
        self.body[FIELDS[self.format]] = [one for one in listed if one.get("role") in ("system", "developer")] + messages

    @property
    def system(self):
        """The texts of the system prompt."""
        match self.format:
            case "anthropic":
                return [one["text"] for one in self.body["system"]]
            case "openai_chat":
                return [one["content"] for one in self.body["messages"] if one["role"] == "system"]
            case "openai_responses":
                others = [one["content"][0]["text"] for one in self.body["input"] if one.get("role") == "developer"]
                return [self.body["instructions"], *others]
        return [one["text"] for one in self.body["systemInstruction"]["parts"]]

    @system.setter
    def system(self, texts):
        match self.format:
            case "anthropic":
                blocks = [{"type": "text", "text": text} for text in texts]
                self.body["system"] = [*blocks[:-1], {**blocks[-1], "cache_control": {"type": "ephemeral"}}]
            case "openai_chat":
                leading = [{"role": "system", "content": text} for text in texts]
                self.body["messages"] = [*leading, *self.messages]
            case "openai_responses":
                leading = [{"role": "developer", "content": [{"type": "input_text", "text": text}]} for text in texts[1:]]
                self.body["instructions"], self.body["input"] = texts[0], [*leading, *self.messages]
            case _:
                self.body["systemInstruction"] = {"parts": [{"text": text} for text in texts]}

    @property
    def functions(self):
        """The tools' functions, which can be changed."""
        match self.format:
            case "openai_chat":
                return [one["function"] for one in self.body["tools"]]
            case "gemini":
                return self.body["tools"][0]["functionDeclarations"]
        return self.body["tools"]

    @functions.setter
    def functions(self, functions):
        match self.format:
            case "openai_chat":
                self.body["tools"] = [{"type": "function", "function": one} for one in functions]
            case "gemini":
                self.body["tools"] = [{"functionDeclarations": functions}]
            case _:
                self.body["tools"] = functions

    def copy(self, seconds=20.0):
        """The same request a little later."""
        return Asked(self.format, copy.deepcopy(self.body), dict(self.headers), self.at + seconds)

    def with_more(self, turns=2, words="Go on with the next step, please."):
        """The next request: so many messages more, the last of them the user's."""
        after = self.copy()
        number = len(self.messages)
        new = [said(self.format, number + place, f"{words} ") for place in range(turns)]
        after.messages = [*after.messages, *new]
        return after.marked()

    def marked(self):
        """With the mark on the last message, as Claude Code does it."""
        if self.format == "anthropic":
            for message in self.messages:
                for block in message["content"] if isinstance(message["content"], list) else []:
                    block.pop("cache_control", None)
            last = self.messages[-1]
            if isinstance(last["content"], str):
                last["content"] = [{"type": "text", "text": last["content"]}]
            last["content"][-1]["cache_control"] = {"type": "ephemeral"}
        return self


def said(format, number, words=""):
    """A message of about a hundred words: of the user if the number is even, else of the assistant."""
    text = words + f"This is message {number}. " + f"Word {number} follows on word, and step on step, until it is done. " * 12
    is_user = number % 2 == 0
    match format:
        case "anthropic":
            return {"role": "user" if is_user else "assistant", "content": [{"type": "text", "text": text}]}
        case "openai_chat":
            return {"role": "user" if is_user else "assistant", "content": text}
        case "openai_responses":
            kind = "input_text" if is_user else "output_text"
            return {"role": "user" if is_user else "assistant", "content": [{"type": kind, "text": text}]}
    return {"role": "user" if is_user else "model", "parts": [{"text": text}]}


def picture(format, data=PICTURE):
    """A picture as a block of a message."""
    match format:
        case "anthropic":
            return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
        case "openai_chat":
            return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        case "openai_responses":
            return {"type": "input_image", "image_url": f"data:image/png;base64,{data}", "detail": "auto"}
    return {"inlineData": {"mimeType": "image/png", "data": data}}


def with_picture(format, message, data=PICTURE):
    """The message with a picture before its words."""
    name = "parts" if format == "gemini" else "content"
    held = message[name] if isinstance(message[name], list) else [{"type": "text", "text": message[name]}]
    return {**message, name: [picture(format, data), *held]}


def function(format, name):
    """A tool."""
    properties = {"path": {"type": "string", "description": f"The path for {name}."}, "limit": {"type": "integer"}}
    schema = {"type": "object", "properties": properties, "required": ["path"]}
    described = {"name": name, "description": f"{name}: " + "does what its name says, and nothing else. " * 6}
    match format:
        case "anthropic":
            return {**described, "input_schema": schema}
        case "openai_responses":
            return {"type": "function", **described, "parameters": schema, "strict": False}
    return {**described, "parameters": schema}


def first_request(format, turns=13, messages=None):
    """A conversation in the middle: a system prompt of two blocks, five tools, and some messages, one with a picture."""
    asked = Asked(format, {"model": MODELS[format], FIELDS[format]: []})
    if format == "anthropic":
        asked.body["max_tokens"] = 100
    asked.system = [RULES, STATE_AND_MORE]
    asked.functions = [function(format, name) for name in ("Read", "Write", "Bash", "Grep", "Glob")]
    made = [said(format, number) for number in range(turns)]
    made[2] = with_picture(format, made[2])
    asked.messages = messages or made
    return asked.marked()


# --- changes: each takes the next request of a conversation, and changes it

SIGNED = "x-anthropic-billing-header: cc_version=2.1.{}; cc_entrypoint=cli;"


def replaced_system(asked, old, new):
    asked.system = [text.replace(old, new) for text in asked.system]


def in_text(message, old, new):
    return json.loads(json.dumps(message).replace(old, new))


def changed_message(asked, number, old, new):
    messages = asked.messages
    messages[number] = in_text(messages[number], old, new)
    asked.messages = messages


def signed(asked, number):
    asked.body["system"] = [{"type": "text", "text": SIGNED.format(number)}, *asked.body["system"]]


def reordered_keys(asked):
    asked.functions = [dict(reversed(one.items())) if one["name"] == "Bash" else one for one in asked.functions]


def as_string(asked):
    messages = asked.messages
    messages[1] = {**messages[1], "content": messages[1]["content"][0]["text"]}
    asked.messages = messages


def without_marks(asked):
    for block in [*asked.body["system"], *(block for one in asked.messages for block in one["content"])]:
        block.pop("cache_control", None)


def went_back(asked, number, words="Try another way instead. "):
    asked.messages = [*asked.messages[:number], said(asked.format, number, words)]
    asked.marked()


def summed_up(asked):
    summary = said(asked.format, 0, "What was done so far, in short: ")
    asked.messages = [summary, *asked.messages[-6:]]
    asked.marked()


def later(asked, seconds):
    asked.at += seconds


EFFORT = {
    "anthropic": ("thinking", {"type": "enabled", "budget_tokens": 5000}),
    "openai_chat": ("reasoning_effort", "high"),
    "openai_responses": ("reasoning", {"effort": "high"}),
    "gemini": ("toolConfig", {"functionCallingConfig": {"mode": "ANY"}}),
}
SHAPE = {
    "anthropic": ("tool_choice", {"type": "any"}),
    "openai_chat": ("response_format", {"type": "json_object"}),
    "openai_responses": ("text", {"format": {"type": "json_object"}}),
}
TEMPERATURE = {"gemini": ("generationConfig", {"temperature": 0.5})}


def set_field(asked, table):
    name, value = table[asked.format]
    asked.body[name] = value


def all_functions(change):
    def on(asked):
        asked.functions = change(asked)

    return on


ALL = tuple(PATHS)
ONLY = ("anthropic",)


@dataclass
class Change:
    """A change, and what is to be said of it: kind, place and words; None if nothing is lost."""

    make: object
    kind: str | None
    place: str = ""
    what: str = ""
    formats: tuple = ALL
    before: object = None
    """What is done to the requests before it."""
    cache: dict = field(default_factory=dict)
    """How the provider's cache differs."""
    turns: int = 2
    """How many messages are new in the request."""


def changed_description(asked):
    return [
        {**one, "description": one["description"].replace("nothing else", "no more", 1)} if one["name"] == "Grep" else one
        for one in asked.functions
    ]


def changed_schema(asked):
    return [
        json.loads(json.dumps(one).replace('"integer"', '"number"')) if one["name"] == "Bash" else one
        for one in asked.functions
    ]


def set_header(asked, value):
    asked.headers["anthropic-beta"] = value


def unchanged(asked):
    assert asked.messages


def longer(asked):
    count = len(asked.messages)
    asked.messages = [*asked.messages, *(said(asked.format, count + number) for number in range(20))]
    asked.marked()


def short(asked):
    asked.body["model"] = {"anthropic": "claude-opus-4-6", "gemini": "gemini-3.1-pro"}[asked.format]
    asked.system = ["Be brief.", "Say what was done."]
    asked.messages = asked.messages[:5]
    asked.marked()


CHANGES = {
    "nothing": Change(unchanged, None),
    "the date in the system prompt": Change(
        lambda asked: replaced_system(asked, "11-19", "11-20"), "system", "system block 2, line 14", "the date"
    ),
    "a clock in the system prompt": Change(
        lambda asked: replaced_system(asked, "10:30:55", "10:31:07"),
        "system",
        "system block 2, line 4",
        "the date",
        before=lambda asked: replaced_system(asked, "Note 3 on", "Now 10:30:55 on"),
    ),
    "git state in the system prompt": Change(
        lambda asked: replaced_system(asked, "M src/a.py", "M src/b.py"), "system", "system block 2, line 19", "the git state"
    ),
    "the branch in the system prompt": Change(
        lambda asked: replaced_system(asked, "branch: main", "branch: fix"),
        "system",
        "system block 2, line 16",
        "the git state",
    ),
    "the working directory": Change(
        lambda asked: replaced_system(asked, "directory: /a", "directory: /b"),
        "system",
        "system block 2, line 6",
        "the working directory",
        before=lambda asked: replaced_system(asked, "Note 5 on", "Working directory: /a on"),
    ),
    "an id in the system prompt": Change(
        lambda asked: replaced_system(asked, "0a1b2c3d", "7d3c0b1e"),
        "system",
        "system block 1, line 3",
        "an id",
        before=lambda asked: replaced_system(asked, "Rule 2:", "Run 0a1b2c3d-aaaa-4bbb-8ccc-0123456789ab:"),
    ),
    "words of the system prompt": Change(
        lambda asked: replaced_system(asked, "Rule 7: keep", "Rule 7: hold"), "system", "system block 1, line 8"
    ),
    "a system block more": Change(
        lambda asked: setattr(asked, "system", [asked.system[0], "Be brief.", *asked.system[1:]]),
        "system_added",
        "system block 2",
    ),
    "a system block less": Change(lambda asked: setattr(asked, "system", asked.system[1:]), "system_removed", "system block 1"),
    "order of the tools": Change(all_functions(lambda asked: asked.functions[::-1]), "tool_order", "the order of the tools"),
    "a tool more": Change(
        all_functions(lambda asked: [*asked.functions, function(asked.format, "Fetch")]), "tool_added", "tool Fetch"
    ),
    "a tool less": Change(all_functions(lambda asked: asked.functions[:3] + asked.functions[4:]), "tool_removed", "tool Grep"),
    "a tool's description": Change(all_functions(changed_description), "tool", "tool Grep", "the description"),
    "a tool's schema": Change(all_functions(changed_schema), "tool", "tool Bash", "the schema"),
    "order of keys": Change(reordered_keys, "key_order", "tool Bash", cache={"is_literal": True}),
    "string in place of a block": Change(
        as_string,
        "spelling",
        "message 1",
        "a text in place of a block",
        cache={"is_literal": True},
        formats=("anthropic", "openai_responses"),
    ),
    "another model": Change(lambda asked: asked.body.update(model=OTHER_MODELS[asked.format]), "model", "the model"),
    "thinking or effort": Change(lambda asked: set_field(asked, EFFORT), "field", "field "),
    "shape of the answer": Change(lambda asked: set_field(asked, SHAPE), "field", "field ", formats=tuple(SHAPE)),
    "temperature": Change(
        lambda asked: asked.body.update(temperature=0.5) if asked.format != "gemini" else set_field(asked, TEMPERATURE), None
    ),
    "most tokens of the answer": Change(
        lambda asked: asked.body.update(max_tokens=200), None, formats=("anthropic", "openai_chat")
    ),
    "a beta header": Change(
        lambda asked: set_header(asked, "b-1"),
        "header",
        "header anthropic-beta",
        formats=ONLY,
        before=lambda asked: set_header(asked, "a-1, b-1"),
    ),
    "betas in another order": Change(
        lambda asked: set_header(asked, "b-1,a-1"), None, formats=ONLY, before=lambda asked: set_header(asked, "a-1, b-1")
    ),
    "the cache key": Change(
        lambda asked: asked.body.update(prompt_cache_key="two"),
        "key",
        "field prompt_cache_key",
        formats=("openai_chat", "openai_responses"),
        before=lambda asked: asked.body.update(prompt_cache_key="one"),
    ),
    "a signed line": Change(lambda asked: signed(asked, 2), None, formats=ONLY, before=lambda asked: signed(asked, 1)),
    "a signed line that counts": Change(
        lambda asked: signed(asked, 2),
        "attestation",
        "the signed line",
        formats=ONLY,
        before=lambda asked: signed(asked, 1),
        cache={"counts_signed": True},
    ),
    "marks taken away": Change(without_marks, "no_breakpoints", "no cache_control", formats=ONLY),
    "a mark too far on": Change(unchanged, "breakpoints_moved", "the next breakpoint is 30 blocks", formats=ONLY, turns=30),
    "a longer pause than the lifetime": Change(lambda asked: later(asked, 4_000), "expired", "67 minutes"),
    "a pause within the lifetime": Change(lambda asked: later(asked, 200), None),
    "an earlier message": Change(
        lambda asked: changed_message(asked, 3, "message 3.", "message three."), "message", "message 3"
    ),
    "an earlier result cleared": Change(
        lambda asked: changed_message(asked, 4, "Word 4 follows on word, and step on step, until it is done. ", ""),
        "message",
        "message 4",
    ),
    "a picture": Change(lambda asked: changed_message(asked, 2, PICTURE, OTHER_PICTURE), "message", "message 2", "an image"),
    "back to an earlier message": Change(lambda asked: went_back(asked, 14), None),
    "back where no mark was": Change(lambda asked: went_back(asked, 8), "rewind", "message 8", formats=ONLY, before=longer),
    "a summary": Change(summed_up, "compaction"),
    "a prompt that is too short": Change(
        unchanged, "too_short", "tokens", formats=("anthropic", "gemini"), before=short, cache={"minimum_tokens": 4096}
    ),
}
"""By name."""
