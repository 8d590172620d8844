"""Compiler of CEL expressions to Python closures over variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kymatui.schemas.cel.cel_costs import LARGEST_EXPRESSION, CostError, count_arguments, counted, evaluated
from kymatui.schemas.cel.cel_functions import FUNCTIONS, METHODS, RESULTS, compute, contains, index, select
from kymatui.schemas.cel.cel_lexer import CelSyntaxError, CelToken, string_value, tokens
from kymatui.schemas.cel.cel_values import (
    DYN,
    NOTHING,
    TYPE_NAMES,
    CelError,
    CelType,
    Optional,
    compare_problem,
    equal,
    indexed,
    iterated,
    select_optional,
    selected,
    some,
    truth,
)

Environment = dict[str, Any]
Evaluate = Callable[[Environment], Any]
Build = Callable[[Evaluate, str, list[Evaluate]], Evaluate]


def has(target: Evaluate, field: str) -> Evaluate:
    """Return an evaluator of whether a field is present."""

    def evaluate(env: Environment) -> bool:
        value = target(env)
        if isinstance(value, Optional):
            return select_optional(value, field).filled
        if not isinstance(value, dict):
            raise CelError("no such overload")
        return field in value

    return evaluate


def _items(value: Any) -> Iterable[Any]:
    """Yield the items of a list or the keys of a map, and count them."""
    if isinstance(value, (list, dict)):
        return counted(value)
    raise CelError("no such overload")


def _quantifier(stops_at: bool) -> Build:
    """Build all (stops at the first false) or exists (at the first true).

    An error counts only if no item decides the result.
    """

    def build(target: Evaluate, name: str, bodies: list[Evaluate]) -> Evaluate:
        body = bodies[0]

        def evaluate(env: Environment) -> bool:
            failure: CelError | None = None
            for item in _items(target(env)):
                try:
                    if truth(body({**env, name: item})) is stops_at:
                        return stops_at
                except CostError:
                    raise
                except CelError as error:
                    failure = error
            if failure is not None:
                raise failure
            return not stops_at

        return evaluate

    return build


def _exists_one(target: Evaluate, name: str, bodies: list[Evaluate]) -> Evaluate:
    body = bodies[0]
    return lambda env: sum(1 for item in _items(target(env)) if truth(body({**env, name: item}))) == 1


def _filter(target: Evaluate, name: str, bodies: list[Evaluate]) -> Evaluate:
    body = bodies[0]
    return lambda env: [item for item in _items(target(env)) if truth(body({**env, name: item}))]


def _map(target: Evaluate, name: str, bodies: list[Evaluate]) -> Evaluate:
    body = bodies[-1]
    if len(bodies) == 1:
        return lambda env: [body({**env, name: item}) for item in _items(target(env))]
    test = bodies[0]
    return lambda env: [body({**env, name: item}) for item in _items(target(env)) if truth(test({**env, name: item}))]


def _optional_map(target: Evaluate, name: str, bodies: list[Evaluate]) -> Evaluate:
    body = bodies[0]

    def evaluate(env: Environment) -> Any:
        optional = target(env)
        return some(body({**env, name: optional.value})) if optional.filled else NOTHING

    return evaluate


def _optional_flat_map(target: Evaluate, name: str, bodies: list[Evaluate]) -> Evaluate:
    body = bodies[0]

    def evaluate(env: Environment) -> Any:
        optional = target(env)
        return body({**env, name: optional.value}) if optional.filled else NOTHING

    return evaluate


MACROS: dict[str, tuple[int, int, Build]] = {
    "all": (1, 1, _quantifier(stops_at=False)),
    "exists": (1, 1, _quantifier(stops_at=True)),
    "exists_one": (1, 1, _exists_one),
    "existsOne": (1, 1, _exists_one),
    "filter": (1, 1, _filter),
    "map": (1, 2, _map),
    "optMap": (1, 1, _optional_map),
    "optFlatMap": (1, 1, _optional_flat_map),
}
"""Name to the least and the most bodies, and what builds it."""


_DEEPEST = 50
_EXPECTING = (
    " expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
    "IDENTIFIER}"
)
_LITERAL_TYPES = {"string": "string", "float": "double", "int": "int"}


def compile_expression(text: str, names: Iterable[str]) -> Evaluate:
    """Return the evaluator of an expression over the variables `names`. Raise `CelSyntaxError`."""
    return check_expression(text, dict.fromkeys(names, DYN))[0]


def check_expression(text: str, names: Mapping[str, CelType]) -> tuple[Evaluate, CelType]:
    """Return the evaluator and the result type, checked with the variables' types."""
    if len(text) > LARGEST_EXPRESSION:
        raise CelSyntaxError(f"expression code point size exceeds limit: size: {len(text)}, limit {LARGEST_EXPRESSION}")
    parser = _Parser(tokens(text), names)
    try:
        evaluate = parser.expression()
    except RecursionError:
        raise CelSyntaxError("expression recursion limit exceeded") from None
    parser.expect("end", "")
    return evaluated(evaluate), parser.types.get(evaluate, DYN)


class _Parser:
    def __init__(self, lexemes: list[CelToken], names: Mapping[str, CelType]) -> None:
        self._tokens = lexemes
        self._at = 0
        self._names: list[Mapping[str, CelType]] = [names]
        self._depth = 0
        self.fields: dict[Evaluate, tuple[Evaluate, str]] = {}
        self.types: dict[Evaluate, CelType] = {}

    def _as(self, kind: CelType, evaluate: Evaluate) -> Evaluate:
        self.types[evaluate] = kind
        return evaluate

    def _type(self, evaluate: Evaluate) -> CelType:
        return self.types.get(evaluate, DYN)

    @property
    def _token(self) -> CelToken:
        return self._tokens[self._at]

    def _next(self) -> CelToken:
        token = self._token
        self._at += 1
        return token

    def _take(self, *texts: str) -> str:
        """Consume and return the current operator if it is one of these, else ""."""
        token = self._token
        if token.kind == "op" and token.text in texts:
            self._at += 1
            return token.text
        return ""

    def expect(self, kind: str, text: str) -> CelToken:
        token = self._token
        if token.kind != kind or (text and token.text != text):
            shown = token.text or "<EOF>"
            raise CelSyntaxError(f"Syntax error: mismatched input '{shown}'{_EXPECTING}", token.at)
        return self._next()

    # -- operators

    def expression(self) -> Evaluate:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise CelSyntaxError("expression recursion limit exceeded")
        condition = self._either()
        if self._take("?"):
            yes = self._either()
            self.expect("op", ":")
            no = self.expression()
            self._depth -= 1
            return lambda env: yes(env) if truth(condition(env)) else no(env)
        self._depth -= 1
        return condition

    def _either(self) -> Evaluate:
        operand = self._both()
        while self._take("||"):
            operand = self._as("bool", _logical(operand, self._both(), stops_at=True))
        return operand

    def _both(self) -> Evaluate:
        operand = self._relation()
        while self._take("&&"):
            operand = self._as("bool", _logical(operand, self._relation(), stops_at=False))
        return operand

    def _relation(self) -> Evaluate:
        left = self._sum()
        while True:
            if self._token.kind == "name" and self._token.text == "in":
                self._next()
                left = self._as("bool", _pair(left, self._sum(), contains))
                continue
            at = self._token.at
            operator = self._take("==", "!=", "<=", ">=", "<", ">")
            if not operator:
                return left
            right = self._sum()
            problem = compare_problem(operator, self._type(left), self._type(right))
            if problem:
                raise CelSyntaxError(problem, at)
            left = self._as("bool", _compared(left, right, operator))

    def _sum(self) -> Evaluate:
        operand = self._product()
        while operator := self._take("+", "-"):
            operand = self._sum_of(operand, self._product(), operator)
        return operand

    def _product(self) -> Evaluate:
        operand = self._unary()
        while operator := self._take("*", "/", "%"):
            operand = self._sum_of(operand, self._unary(), operator)
        return operand

    def _unary(self) -> Evaluate:
        if self._take("!"):
            operand = self._unary()
            return self._as("bool", lambda env: not truth(operand(env)))
        if self._take("-"):
            operand = self._unary()
            return self._as(self._type(operand), lambda env: compute("-", 0, operand(env)))
        return self._member()

    def _sum_of(self, left: Evaluate, right: Evaluate, operator: str) -> Evaluate:
        """Return the evaluator of an operator; two scalars of one type give the same type."""
        kind = self._type(left)
        same = isinstance(kind, str) and kind == self._type(right)
        return self._as(kind if same else DYN, _computed(left, right, operator))

    # -- members and calls

    def _member(self) -> Evaluate:
        target = self._primary()
        while True:
            at = self._token.at
            if self._take("."):
                target = self._perhaps(target) if self._take("?") else self._selected(target, at)
            elif self._take("["):
                combine = select_optional if self._take("?") else index
                position = self.expression()
                self.expect("op", "]")
                kind = indexed(self._type(target)) if combine is index else DYN
                target = self._as(kind, _pair(target, position, combine))
            else:
                return target

    def _perhaps(self, target: Evaluate) -> Evaluate:
        """Parse `.?field`."""
        field = unescaped(self.expect("name", "").text)
        return lambda env: _invoke(select_optional, target(env), field)

    def _selected(self, target: Evaluate, at: int) -> Evaluate:
        token = self.expect("name", "")
        name = token.text
        opening = self._token.at
        if not self._take("("):
            return self._field(target, unescaped(name), at)
        if name in MACROS:
            return self._macro(target, name)
        method = METHODS.get(name)
        if method is None:
            raise CelSyntaxError(f"undeclared reference to '{name}' (in container '')", opening)
        arguments = self._arguments()
        return self._as(
            RESULTS.get(name, DYN), lambda env: _invoke(method, target(env), *(argument(env) for argument in arguments))
        )

    def _field(self, target: Evaluate, field: str, at: int) -> Evaluate:
        def chosen(env: Environment) -> Any:
            return select(target(env), field)

        kind, problem = selected(self._type(target), field)
        if problem:
            raise CelSyntaxError(problem, at)
        self.fields[chosen] = (target, field)
        return self._as(kind, chosen)

    def _arguments(self) -> list[Evaluate]:
        arguments: list[Evaluate] = []
        if self._take(")"):
            return arguments
        while True:
            arguments.append(self.expression())
            if self._take(")"):
                return arguments
            self.expect("op", ",")

    def _macro(self, target: Evaluate, name: str) -> Evaluate:
        variable = self.expect("name", "").text
        kind = DYN if name.startswith("opt") else iterated(self._type(target))
        self.expect("op", ",")
        bodies: list[Evaluate] = []
        while True:
            self._names.append({**self._names[-1], variable: kind})
            bodies.append(self.expression())
            self._names.pop()
            if self._take(")"):
                break
            self.expect("op", ",")
        low, high, build = MACROS[name]
        if not low <= len(bodies) <= high:
            raise CelSyntaxError(f"found no matching overload for '{name}'")
        return self._as(RESULTS.get(name, DYN), build(target, variable, bodies))

    def _primary(self) -> Evaluate:
        token = self._next()
        if token.kind == "op" and token.text == "(":
            inner = self.expression()
            self.expect("op", ")")
            return inner
        if token.kind == "op" and token.text == "[":
            return self._list()
        if token.kind == "op" and token.text == "{":
            return self._map()
        if token.kind == "name":
            return self._name(token)
        return self._as(_LITERAL_TYPES.get(token.kind, DYN), _literal(token))

    def _list(self) -> Evaluate:
        items: list[Evaluate] = []
        while not self._take("]"):
            items.append(self.expression())
            if not self._take(","):
                self.expect("op", "]")
                break
        return lambda env: [item(env) for item in items]

    def _map(self) -> Evaluate:
        items: list[tuple[Evaluate, Evaluate]] = []
        while not self._take("}"):
            key = self.expression()
            self.expect("op", ":")
            items.append((key, self.expression()))
            if not self._take(","):
                self.expect("op", "}")
                break
        return lambda env: _invoke(dict, [(key(env), value(env)) for key, value in items])

    def _name(self, token: CelToken) -> Evaluate:
        name = token.text
        constants = {"true": True, "false": False, "null": None}
        if name in constants:
            value = constants[name]
            return self._as("null" if value is None else "bool", lambda env: value)
        if self._take("("):
            return self._call(token)
        if name not in self._names[-1]:
            member = self._namespaced(name)
            if member is not None:
                return member
            if name in TYPE_NAMES:
                return lambda env: name
            raise CelSyntaxError(f"undeclared reference to '{name}' (in container '')", token.at)
        return self._as(self._names[-1][name], lambda env: env[name])

    def _namespaced(self, name: str) -> Evaluate | None:
        """Parse a call such as `optional.of(x)`; return None if the name is no namespace."""
        dot, member = self._tokens[self._at : self._at + 2] if self._at + 1 < len(self._tokens) else (None, None)
        if dot is None or member is None or dot.text != "." or f"{name}.{member.text}" not in FUNCTIONS:
            return None
        self._at += 2
        self.expect("op", "(")
        function = FUNCTIONS[f"{name}.{member.text}"]
        arguments = self._arguments()
        return lambda env: _invoke(function, *(argument(env) for argument in arguments))

    def _call(self, token: CelToken) -> Evaluate:
        if token.text == "has":
            argument = self.expression()
            self.expect("op", ")")
            if argument not in self.fields:
                raise CelSyntaxError("invalid argument to has() macro", token.at + len("has"))
            target, field = self.fields[argument]
            return self._as("bool", has(target, field))
        function = FUNCTIONS.get(token.text)
        if function is None:
            raise CelSyntaxError(f"undeclared reference to '{token.text}' (in container '')", token.at)
        arguments = self._arguments()
        return self._as(
            RESULTS.get(token.text, DYN), lambda env: _invoke(function, *(argument(env) for argument in arguments))
        )


def _invoke(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; arguments of wrong types raise `CelError`, "no such overload"."""
    count_arguments(arguments)
    try:
        return function(*arguments)
    except CelError:
        raise
    except (TypeError, AttributeError, ValueError, KeyError, ArithmeticError):
        raise CelError("no such overload") from None


def unescaped(name: str) -> str:
    """Return the field name of CEL's escapes (`__dash__`, `__dot__`), also for reserved words."""
    for code, char in (("__underscores__", "__"), ("__dot__", "."), ("__dash__", "-"), ("__slash__", "/")):
        name = name.replace(code, char)
    if name.startswith("__") and name.endswith("__") and len(name) > 4:
        return name[2:-2]
    return name


def _literal(token: CelToken) -> Evaluate:
    value: Any
    if token.kind == "string":
        value = string_value(token)
    elif token.kind == "float":
        value = float(token.text)
    elif token.kind == "int":
        value = _integer(token)
    else:
        shown = token.text or "<EOF>"
        raise CelSyntaxError(f"Syntax error: mismatched input '{shown}'{_EXPECTING}", token.at)
    return lambda env: value


def _integer(token: CelToken) -> int:
    digits = token.text.rstrip("uU")
    try:
        value = int(digits, 16 if digits[1:2] in ("x", "X") else 10)
    except ValueError:  # Python reads 4,300 digits at most
        value = -1
    if not 0 <= value < 1 << 64:
        raise CelSyntaxError(f"invalid int literal: {digits[:40]}", token.at)
    return value


def _pair(left: Evaluate, right: Evaluate, combine: Callable[[Any, Any], Any]) -> Evaluate:
    return lambda env: _invoke(combine, left(env), right(env))


def _computed(left: Evaluate, right: Evaluate, operator: str) -> Evaluate:
    return lambda env: _invoke(compute, operator, left(env), right(env))


def _compared(left: Evaluate, right: Evaluate, operator: str) -> Evaluate:
    if operator == "==":
        return lambda env: _invoke(equal, left(env), right(env))
    if operator == "!=":
        return lambda env: not _invoke(equal, left(env), right(env))
    return lambda env: _invoke(compute, operator, left(env), right(env))


def _logical(left: Evaluate, right: Evaluate, *, stops_at: bool) -> Evaluate:
    """Combine two conditions; an error on one side counts only if the other does not decide."""

    def evaluate(env: Environment) -> bool:
        try:
            first = truth(left(env))
        except CostError:
            raise
        except CelError as error:
            if truth(right(env)) is stops_at:
                return stops_at
            raise error from None
        return stops_at if first is stops_at else truth(right(env))

    return evaluate
