"""JSON as nobody writes it: odd spacing, escapes, keys twice, decoys; with the places of the messages in it."""

import json
from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

from redline.testing import json_values

DECOY = '{"role":"user","content":"hi"}'


@dataclass(frozen=True)
class SpelledBody:
    """A body, and where its messages are."""

    raw: bytes
    messages: tuple[bytes, ...]
    spans: tuple[tuple[int, int], ...]


def spell(value, random: Random) -> str:
    """The value as JSON, in one of many ways."""

    def space():
        return "".join(random.choices(" \t\r\n", k=random.choice((0, 0, 0, 1, 2))))

    def text(words):
        written = []
        for letter in words:
            if random.random() < 0.1:
                units = letter.encode("utf-16-be", "surrogatepass")
                written += [f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)]
            else:
                written.append(json.dumps(letter, ensure_ascii="\ud800" <= letter <= "\udfff")[1:-1])
        return f'"{"".join(written)}"'

    match value:
        case dict():
            members = [f"{space()}{text(key)}{space()}:{space()}{spell(held, random)}{space()}" for key, held in value.items()]
            random.shuffle(members)
            if members and random.random() < 0.1:
                members.insert(0, members[-1])
            return "{" + (",".join(members) or space()) + "}"
        case list():
            return "[" + (",".join(f"{space()}{spell(held, random)}{space()}" for held in value) or space()) + "]"
        case str():
            return text(value)
    return json.dumps(value)


MESSAGES = st.one_of(
    st.sampled_from(({}, {"role": "user", "content": "hi"}, {":1,": 2}, {"": 0}, {"role": "user", "messages": [{}]})),
    st.builds(lambda role, content: {"role": role, "content": content}, st.sampled_from(("user", "assistant")), json_values()),
)


@st.composite
def spelled_bodies(draw, name: str = "messages") -> SpelledBody:
    """Bodies with a list of messages under this name, in the last of the places where that name is."""
    random = draw(st.randoms(use_true_random=False))
    messages = [spell(message, random) for message in draw(st.lists(MESSAGES, min_size=1, max_size=5))]
    separators = [random.choice((",", ", ", " ,\n  ", "\t,")) for _ in messages[1:]]
    written = "".join(sep + message for sep, message in zip(["", *separators], messages, strict=True))
    decoys = (
        f'"{name}":[{written}]',
        f'"{name}": []',
        f'"{name}":[{DECOY}]',
        f'"metadata":{{"{name}":[ {written} ]}}',
        f'"note":{json.dumps(f"[{written}]")}',
        f'"unknown":{spell(draw(json_values()), random)}',
    )
    ahead = random.sample(decoys, k=random.randint(0, 3))
    after = random.sample(decoys[3:], k=random.randint(0, 2))
    key = random.choice((name, name.replace("e", "\\u0065")))
    head = "".join((random.choice(("", "\ufeff", " \n")), "{", *(f"{member} ,\n" for member in ahead), f' "{key}" :[ '))
    tail = "".join((" \n]", *(f",{member}" for member in after), random.choice(("}", " }\n"))))
    spans, at = [], len(head.encode())
    for number, message in enumerate(messages):
        at += len(separators[number - 1]) if number else 0
        spans.append((at, at + len(message.encode())))
        at = spans[-1][1]
    return SpelledBody((head + written + tail).encode(), tuple(message.encode() for message in messages), tuple(spans))
