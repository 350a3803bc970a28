from hypothesis import given
from hypothesis import strategies as st

from redline.tools.description import read_script
from redline.values.messages import ToolCall


def call(name: str, value: object) -> ToolCall:
    return ToolCall(id=None, name=name, input=value)


def test_calls_that_are_spelled_out() -> None:
    """Literal objects with bare or quoted keys are read, also several side by side."""
    code = """await Promise.all([
        tools.exec_command({cmd:"cat \\"a\\" {b}","workdir":"/p", n: 1, on:true}),
        tools.wait({cell_id: "3"})]);"""
    script = read_script(code)
    assert script.calls == (
        call("exec_command", {"cmd": 'cat "a" {b}', "workdir": "/p", "n": 1, "on": True}),
        call("wait", {"cell_id": "3"}),
    )
    assert script.is_complete


def test_constants_are_put_in() -> None:
    """A constant string is its text, as an argument and inside one."""
    code = """const dir = "/p"; const patch = "*** Begin Patch\\n";
        tools.exec_command({cmd:"ls",workdir:dir});
        tools.apply_patch(patch);"""
    script = read_script(code)
    assert script.calls == (
        call("exec_command", {"cmd": "ls", "workdir": "/p"}),
        call("apply_patch", "*** Begin Patch\n"),
    )
    assert script.is_complete


def test_computed_arguments_make_it_incomplete() -> None:
    """A call that cannot be read is not guessed, and the script says so."""
    script = read_script(
        'tools.exec_command({cmd:`cat ${file}`}); tools.exec_command({cmd: command}); tools.wait({cell_id:"1"})'
    )
    assert script.calls == (call("wait", {"cell_id": "1"}),)
    assert not script.is_complete


@given(
    st.text()
    | st.lists(st.sampled_from(["tools.x(", "{", "}", ")", '"', "\\", "a:", "const a = ", "1", ",", "\n", ";"])).map("".join)
)
def test_no_text_breaks_it(code: str) -> None:
    """Whatever the code, the calls that are found are calls of tools."""
    assert len(read_script(code).calls) <= code.count("tools.")


def test_calls_in_strings_and_comments_are_none() -> None:
    """They are not made; but as one cannot be sure, the script is not complete."""
    script = read_script("""// don't tools.Read({a: 1})
        text('tools.Read({a: 2})'); tools.wait({cell_id: "3"})""")
    assert script.calls == (call("wait", {"cell_id": "3"}),)
    assert not script.is_complete
