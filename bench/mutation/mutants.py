"""The small faults that are tried: each changes one place in the syntax tree of a file."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from types import CodeType

__all__ = ["Mutant", "mutants_of"]

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_OPPOSITES = {"min": "max", "max": "min", "any": "all", "all": "any"}
_WITHOUT_EFFECT = {"annotation", "returns", "decorator_list", "type_params", "bases"}
"""Fields that only say what something is: types, decorators, bases."""


@dataclass(frozen=True, eq=False)
class Mutant:
    """One fault: in this place of the tree there is another node."""

    path: Path
    line: int
    statement_line: int | None
    """Where the innermost statement begins; None if that runs while the file is imported."""
    before: str
    after: str
    tree: ast.Module
    place: tuple[ast.AST, str, int | None]
    """The node around it, and the field and position in it."""
    node: ast.AST | None
    """What is put there; None: nothing."""

    def code(self) -> CodeType:
        """The file with the fault in it, ready to run."""
        parent, field, at = self.place
        held = getattr(parent, field)
        changed = self.node if at is None else [*held[:at], *([self.node] if self.node else []), *held[at + 1 :]]
        setattr(parent, field, changed)
        try:
            return compile(ast.fix_missing_locations(self.tree), str(self.path), "exec", dont_inherit=True)
        finally:
            setattr(parent, field, held)

    def rank(self, seed: int, number: int) -> bytes:
        """Its place in a sample: by what it changes and not by its line, so that a sample stays when other code changes."""
        key = f"{seed}|{self.path.name}|{self.before}|{self.after}|{number}"
        return blake2b(key.encode(), digest_size=8).digest()


def mutants_of(path: Path) -> list[Mutant]:
    """Every fault that is tried in a file, from the top down."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        Mutant(path, line, statement, _shown(before), _shown(after), tree, place, after)
        for place, before, line, statement in _places(tree, None, None)
        for after in _faults(before, place)
    ]


def _places(
    node: ast.AST, statement: int | None, function: ast.AST | None
) -> Iterator[tuple[tuple[ast.AST, str, int | None], ast.AST, int, int | None]]:
    """Every node that may be changed, with its place, its line and that of its statement."""
    for field, value in ast.iter_fields(node):
        if field in _WITHOUT_EFFECT or (isinstance(node, ast.ClassDef) and field == "keywords"):
            continue
        for at, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_left_alone(child):
                continue
            inside = node if field == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
            begins = child.lineno if isinstance(child, ast.stmt) and inside else statement
            yield (node, field, at), child, getattr(child, "lineno", getattr(node, "lineno", 1)), begins
            yield from _places(child, begins, inside)


def _is_left_alone(node: ast.AST) -> bool:
    """Docstrings, lists of names, texts for people; what only type checkers look at."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom() | ast.JoinedStr():
            return True
        case ast.Assign(targets=[ast.Name(id="__all__" | "__slots__")]):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Call(func=ast.Name(id="TypeVar")) | ast.keyword(arg="strict"):
            return True
    return False


def _faults(node: ast.AST, place: tuple[ast.AST, str, int | None]) -> Iterator[ast.AST | None]:
    """What is put in the place of a node, one thing after the other."""
    if isinstance(node, ast.stmt):
        yield from _statement_faults(node)
    elif isinstance(node, ast.Constant):
        yield from _constant_faults(node, place[0])
    elif isinstance(node, ast.expr):
        yield from _expression_faults(node)
        yield from _call_faults(node)
    elif _may_be_left_out(node, place[0]):
        yield None
    if _is_condition(node, place):
        yield from (ast.Constant(value=value) for value in (True, False))


def _may_be_left_out(node: ast.AST, parent: ast.AST) -> bool:
    """Arguments given by name, whose default is then taken; one case of several."""
    if isinstance(node, ast.keyword):
        return node.arg is not None
    return isinstance(node, ast.match_case) and isinstance(parent, ast.Match) and len(parent.cases) > 1


def _is_condition(node: ast.AST, place: tuple[ast.AST, str, int | None]) -> bool:
    parent, field, _ = place
    if isinstance(node, ast.Constant):
        return False
    return (isinstance(parent, ast.If | ast.IfExp) and field == "test") or (
        isinstance(parent, ast.comprehension) and field == "ifs"
    )


def _statement_faults(node: ast.stmt) -> Iterator[ast.AST | None]:
    match node:
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield ast.Return(value=ast.Constant(value=None))
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Delete() | ast.Continue():
            yield ast.Pass()
        case ast.Break():
            yield ast.Continue()


def _constant_faults(node: ast.Constant, parent: ast.AST) -> Iterator[ast.AST | None]:
    """Another number, another truth, no word. Sentences are left alone: what people read is not behaviour to be pinned."""
    match node.value:
        case bool(value):
            yield ast.Constant(value=not value)
        case int(value):
            yield ast.Constant(value=value + 1)
            if isinstance(parent, ast.Compare):
                yield ast.Constant(value=value - 1)
        case float(value):
            yield ast.Constant(value=value * 2 or 1.0)
        case str(value) if " " not in value:
            yield ast.Constant(value="" if value else "x")


def _expression_faults(node: ast.expr) -> Iterator[ast.AST | None]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            for at, op in enumerate(ops):
                changed = [*ops[:at], _COMPARISONS[type(op)](), *ops[at + 1 :]]
                yield ast.Compare(left=left, ops=changed, comparators=others)
        case ast.BoolOp(op=op, values=values):
            for at in range(len(values)):
                rest = values[:at] + values[at + 1 :]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(op=op, values=rest)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            yield ast.BinOp(left=left, op=_OPERATORS[type(op)](), right=right)


def _call_faults(node: ast.expr) -> Iterator[ast.AST | None]:
    match node:
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in _OPPOSITES:
            yield ast.Call(func=ast.Name(id=_OPPOSITES[name], ctx=ast.Load()), args=args, keywords=keywords)
        case ast.Call(func=ast.Name(id="cast" | "isinstance")):
            return
        case ast.Call(func=func, args=[first, second, *rest], keywords=keywords):
            if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
                yield ast.Call(func=func, args=[second, first, *rest], keywords=keywords)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _shown(node: ast.AST | None) -> str:
    """In one line, as it is written."""
    return "nothing" if node is None else " ".join(ast.unparse(node).split())
