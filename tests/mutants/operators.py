"""The small bugs that `make mutants` plants: mutmut's operators, and more of those that people make.

Not planted is what no test should repeat: what is logged, words of errors and help (a text with a space in it),
annotations, decorators and options of classes, imports, `encoding=`, `daemon=` and `strict=`. Nor is planted what any
call of the line finds, such as None in the place of an argument, and what changes nothing, such as the order of the
arguments of `max`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import libcst as cst
from libcst import matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation import mutators

OTHER_FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "append": "extend"}
OTHER_UNITS = {
    "days": "hours",
    "hours": "minutes",
    "minutes": "seconds",
    "seconds": "minutes",
    "milliseconds": "seconds",
}
SYMMETRIC_FUNCTIONS = {"min", "max", "minimum", "maximum", "equal", "not_equal", "and_", "or_", "isclose"}
LEFT_OUT_METHODS = {"strip", "lstrip", "rstrip", "lower", "casefold", "upper", "copy", "removeprefix", "removesuffix"}
LEFT_OUT_FUNCTIONS = {"abs", "round", "reversed", "sorted", "set"}
UNSEEN_ARGUMENTS = {
    "encoding",
    "daemon",
    "strict",
    "description",
    "help",
    "doc",
    "stacklevel",
    "frozen",
    "slots",
    "name",
}
# Statements, by their code, of which nothing is planted: words for people, and what is for type checkers.
UNSEEN = re.compile(
    r"_?log(ger)?\.|log_failure\(|__all__\b|__version__\b|message = |raise \w+\(|assert |from |import |if TYPE_CHECKING"
)
UNSEEN_NODES = (cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom, cst.FormattedString, cst.ConcatenatedString)


@dataclass(frozen=True)
class Mutant:
    """One place of a module with one thing in it that is different."""

    line: int  # of the place, from 1
    original: cst.CSTNode
    mutated: cst.CSTNode

    def source(self, module: cst.Module) -> str:
        """The module's text with the mutant in it."""
        changed = module.visit(_Replacement(self.original, self.mutated))
        assert isinstance(changed, cst.Module)
        return changed.code


def mutants_of(source: str) -> tuple[cst.Module, list[Mutant]]:
    """A module's tree, and all mutants of it."""
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    lines = wrapper.resolve(PositionProvider)
    found = _Finder(wrapper.module, {node: place.start.line for node, place in lines.items()})
    wrapper.module.visit(found)
    return wrapper.module, found.mutants


class _Finder(cst.CSTVisitor):
    """Walks a module and gathers its mutants."""

    def __init__(self, module: cst.Module, lines: dict[cst.CSTNode, int]) -> None:
        super().__init__()
        self.mutants: list[Mutant] = []
        self._module = module
        self._lines = lines
        self._line = 1
        self._other_attributes: dict[cst.CSTNode, cst.CSTNode] = {}

    def on_visit(self, node: cst.CSTNode) -> bool:
        self._line = self._lines.get(node, self._line)
        if self._is_unseen(node):
            return False
        for kind, operator in OPERATORS:
            if isinstance(node, kind):
                self.mutants += [Mutant(self._line, node, mutated) for mutated in operator(node)]
        if isinstance(node, cst.FunctionDef):
            self._other_attributes |= dict(other_attributes(node))
        if node in self._other_attributes:
            self.mutants.append(Mutant(self._line, node, self._other_attributes[node]))
        if isinstance(node, cst.ClassDef):  # not its bases and options
            node.body.visit(self)
            return False
        return True

    def _is_unseen(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.SimpleStatementLine):
            code = self._module.code_for_node(node.with_changes(leading_lines=[]))
            return bool(UNSEEN.match(code.strip())) or m.matches(
                node, m.SimpleStatementLine(body=[m.Expr(m.SimpleString() | m.Ellipsis())])
            )
        if isinstance(node, cst.If):
            return m.matches(node.test, m.Name("TYPE_CHECKING"))
        if isinstance(node, cst.Arg):
            return node.keyword is not None and node.keyword.value in UNSEEN_ARGUMENTS
        return isinstance(node, UNSEEN_NODES)


class _Replacement(cst.CSTTransformer):
    """Puts one node in the place of another."""

    def __init__(self, original: cst.CSTNode, mutated: cst.CSTNode) -> None:
        super().__init__()
        self._original = original
        self._mutated = mutated

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> Any:  # type: ignore[override]
        return self._mutated if original_node is self._original else updated_node


def wrong_key(node: cst.SimpleString) -> Iterator[cst.CSTNode]:
    """`"score"`: `"XXscoreXX"`; not of a text for people."""
    value = node.evaluated_value
    if isinstance(value, str) and value and " " not in value and node.quote in ("'", '"'):
        yield node.with_changes(value=f"{node.prefix}{node.quote}XX{node.raw_value}XX{node.quote}")


def other_number(node: cst.BaseNumber) -> Iterator[cst.CSTNode]:
    """`3`: `4`, or `2`; `50`: `100`, or `25`, as one more or less of a size is seen by nobody."""
    value = node.evaluated_value if isinstance(node, cst.Integer | cst.Float) else 0
    if value < 10:
        yield from mutators.operator_number(node)
    if isinstance(node, cst.Integer) and 1 < value < 10:
        yield node.with_changes(value=repr(value - 1))
    if value >= 10:
        yield node.with_changes(value=repr(value * 2))
        yield node.with_changes(value=repr(value // 2))


def left_out_statement(node: cst.SimpleStatementLine) -> Iterator[cst.CSTNode]:
    """A call, an attribute or an item that is set, an early return, `continue`: `pass`."""
    target = m.AssignTarget(m.Attribute() | m.Subscript())
    kinds = m.Expr(m.Call() | m.Await()) | m.AugAssign() | m.Assign([target]) | m.Continue() | m.Break() | m.Del()
    if m.matches(node, m.SimpleStatementLine(body=[kinds])):
        yield node.with_changes(body=[cst.Pass()])


def other_condition(node: cst.If) -> Iterator[cst.CSTNode]:
    """`if test`: `if not (test)`; without `else` also `if False`."""
    inside = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    if not m.matches(node.test, m.Comparison()):
        yield node.with_changes(test=cst.UnaryOperation(cst.Not(), inside))
    if node.orelse is None:
        yield node.with_changes(test=cst.Name("False"))


def left_out_operand(node: cst.BooleanOperation) -> Iterator[cst.CSTNode]:
    """`a and b`: `a`, or `b`."""
    for operand in (node.left, node.right):
        yield operand.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def no_filter(node: cst.CompFor) -> Iterator[cst.CSTNode]:
    """`for a in b if c`: `for a in b`."""
    if node.ifs:
        yield node.with_changes(ifs=node.ifs[1:])


def other_call(node: cst.Call) -> Iterator[cst.CSTNode]:
    """Another function, a normalisation that is left out, arguments that are left out or in the other order."""
    called = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
    name = called.value if isinstance(called, cst.Name) else ""
    if name in OTHER_FUNCTIONS:
        yield node.with_deep_changes(called, value=OTHER_FUNCTIONS[name])
    if isinstance(node.func, cst.Attribute) and name in LEFT_OUT_METHODS:
        yield node.func.value
    if isinstance(node.func, cst.Name) and name in LEFT_OUT_FUNCTIONS and len(node.args) == 1 and not node.args[0].star:
        yield node.args[0].value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    for number, argument in enumerate(node.args):
        keyword = argument.keyword.value if argument.keyword else None
        if keyword and keyword not in UNSEEN_ARGUMENTS:
            yield node.with_changes(args=[*node.args[:number], *node.args[number + 1 :]])
        if keyword in OTHER_UNITS and name == "timedelta":
            yield node.with_deep_changes(argument.keyword, value=OTHER_UNITS[keyword])
    if (
        name not in {"isinstance", *SYMMETRIC_FUNCTIONS}
        and len(node.args) >= 2
        and all(m.matches(a, m.Arg(keyword=None, star="")) for a in node.args[:2])
    ):
        first, second = node.args[:2]
        if not first.value.deep_equals(second.value):
            swapped = [first.with_changes(value=second.value), second.with_changes(value=first.value)]
            yield node.with_changes(args=[*swapped, *node.args[2:]])


def other_attributes(function: cst.FunctionDef) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """`row.begin`: another attribute that the function reads of `row`."""
    reads = list(m.findall(function.body, m.Attribute(value=m.Name())))
    called = {id(call.func) for call in m.findall(function.body, m.Call())}  # type: ignore[attr-defined]
    names: dict[str, set[str]] = {}
    for node in reads:
        if id(node) not in called:
            names.setdefault(node.value.value, set()).add(node.attr.value)  # type: ignore[attr-defined]
    for node in reads:
        others = sorted(names.get(node.value.value, set()) - {node.attr.value})  # type: ignore[attr-defined]
        if others and id(node) not in called:
            yield node, node.with_deep_changes(node.attr, value=others[0])  # type: ignore[attr-defined]


OPERATORS: list[tuple[type, Any]] = [
    (cst.BaseNumber, other_number),
    (cst.Name, mutators.operator_name),
    (cst.UnaryOperation, mutators.operator_remove_unary_ops),
    (cst.AugAssign, mutators.operator_augmented_assignment),
    (cst.Call, mutators.operator_symmetric_string_methods_swap),
    (cst.Call, mutators.operator_unsymmetrical_string_methods_swap),
    (cst.CSTNode, mutators.operator_keywords),
    (cst.CSTNode, mutators.operator_swap_op),
    (cst.Match, mutators.operator_match),
    (cst.IfExp, mutators.operator_if_exp),
    (cst.SimpleString, wrong_key),
    (cst.SimpleStatementLine, left_out_statement),
    (cst.If, other_condition),
    (cst.BooleanOperation, left_out_operand),
    (cst.CompFor, no_filter),
    (cst.Call, other_call),
]
