"""Sessions that attack whoever looks at them: every text, name and path in them tries to run, to load or to mislead."""

import redline
from redline.rules.masked_results import MaskedResults
from redline.testing import asks, conversation, says
from tests.inspector.claude_code import call, result, write_messages
from tests.inspector.support import NOW

NAME = "<img src=x onerror=window.hacked=1>"
SCRIPT = "<script>window.hacked=1</script>"
PAYLOADS = (
    SCRIPT,
    NAME,
    "</textarea></pre></title><svg onload=window.hacked=1>",
    "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
    "<a href='javascript:window.hacked=1' autofocus onfocus=window.hacked=1>a</a>",
    "[click here](javascript:window.hacked=1) [or](JaVaScRiPt&colon;hacked=1) [page](data:text/html,<script>hacked=1</script>)",
    "![picture](https://elsewhere.example/pixel.png) ![inline](data:image/svg+xml,<svg/onload=hacked=1>)",
    "[a link](https://elsewhere.example/page?of=`x`) https://elsewhere.example/bare",
    "${window.hacked=1} {{constructor.constructor('window.hacked=1')()}} `${hacked=1}`",
    "'\"><style>*{display:none}</style><base href='https://elsewhere.example/'><meta http-equiv=refresh content=0>",
    "right to left \u202e gnp.exe \u2066 and back \u202c\u2069 zero\u200bwidth \U000e0041tags",
    "escapes \x1b[31mred\x1b[0m \x1b]8;;https://elsewhere.example\x07link\x1b]8;;\x07 \x1b[2J null \0 bell \x07 delete \x7f",
    "```" + NAME + "\n" + SCRIPT + "\n```",
    "| " + NAME + " | b |\n|---|---|\n| " + SCRIPT + " | ${hacked=1} |",
    "# " + NAME + "\n\n> " + SCRIPT + "\n\n1. " + NAME + "\n- [x] " + SCRIPT,
    "*" * 3000 + "_" * 3000 + "[" * 3000 + "`" * 3001 + "> " * 500,
)
POISONED = {"__proto__": {"hacked": 1}, "constructor": {"prototype": {"hacked": 1}}, "toString": NAME, NAME: SCRIPT}
HUGE = "A" * 5_000_000 + NAME


def hostile_messages():
    """(role, content) of a session that uses every kind of part."""
    messages = [("user", f"{NAME} \u202e\x1b[31m {SCRIPT}")]
    for number, payload in enumerate(PAYLOADS):
        tool, arguments = [
            ("Bash", {"command": payload, **POISONED}),
            ("Read", {"file_path": f"/srv/{NAME}/{payload[:60]}"}),
            ("Edit", {"file_path": payload[:60], "old_string": payload, "new_string": f"{NAME}\n{payload}"}),
            (f"{NAME}\u202e\x1b[31m", POISONED),
            ("__proto__", POISONED),
        ][number % 5]
        thought = {"type": "thinking", "thinking": payload, "signature": "x"}
        messages.append(("assistant", [thought, {"type": "text", "text": payload}, *call(f"t{number}", tool, arguments)]))
        messages.append(("user", result(f"t{number}", f"{payload}\n" * 30, is_error=number == 3)))
    messages += [("assistant", call("huge", "Bash", {"command": "cat"})), ("user", result("huge", HUGE))]
    svg = {"type": "base64", "media_type": "image/svg+xml", "data": "PHN2ZyBvbmxvYWQ9ImhhY2tlZD0xIi8+"}
    remote = {"type": "url", "url": "https://elsewhere.example/pixel.png"}
    messages.append(("user", [{"type": "image", "source": source} for source in (svg, remote)]))
    return [*messages, ("assistant", "\n\n".join(PAYLOADS))]


def write_hostile_transcript(folder):
    """A Claude Code session, hostile in its name, project, model, tools and texts."""
    path = folder / f"{NAME}.jsonl"
    return write_messages(path, hostile_messages(), cwd=f"/srv/{NAME}", model=SCRIPT, seconds=90)


def write_hostile_log(folder):
    """A Redline log with strikes, a branch and a batch, hostile in its name, model, tools and texts."""
    path = folder / f"log of {NAME}.jsonl"
    with redline.open(path, format="anthropic", model=SCRIPT) as talk:
        for number, payload in enumerate(PAYLOADS):
            time_ms = NOW + number * 1_000_000
            said = [
                says("user", f"{NAME} {payload}"),
                *asks(("Bash", NAME)[number % 2], {"command": payload}, f"{payload}\n" * 30, id=f"c{number}"),
            ]
            for message in conversation("anthropic", said):
                talk.add(message, timestamp_ms=time_ms)
            talk.request(now=time_ms, rules=[MaskedResults(keep_recent=2, placeholder=f"struck {NAME}")])
        talk.start_batch(6)
        talk.rewind(41)
        talk.add(conversation("anthropic", [says("user", f"another way {NAME}")])[0], timestamp_ms=NOW + 99_000_000)
        talk.request(now=NOW + 99_000_000)
    return path
