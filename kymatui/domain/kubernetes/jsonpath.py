"""JSONPath in kubectl's dialect: paths of printer columns and of --sort-by, templates of -o jsonpath."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from typing import Any

from kymatui.patterns import deferred

JsonPathStep = Callable[[list[Any]], list[Any]]
_TOKEN = deferred(
    r"""(?P<deep>\.\.)?\.?(?:(?P<name>(?:\\.|[A-Za-z0-9_\-/$:])+)|(?P<star>\*)|\[(?P<index>(?:'[^']*'|"[^"]*"|[^\]'"])+)\])""",
    re.VERBOSE,
)
_FILTER = deferred(r"^\?\(\s*@\.(?P<path>[^=!<>\s]+)\s*(?:(?P<operator>==|!=|<=|>=|<|>)\s*(?P<value>.+?)\s*)?\)$")


class JsonPathError(ValueError):
    """A malformed path."""


@functools.lru_cache(maxsize=512)
def compile_path(text: str) -> tuple[JsonPathStep, ...]:
    """Return the steps of `.status.conditions[?(@.type=="Ready")].status`. Raise `JsonPathError`."""
    rest = text.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    steps: list[JsonPathStep] = []
    position = 0
    while position < len(rest):
        match = _TOKEN.match(rest, position)
        if match is None or match.end() == position:
            raise JsonPathError(f"unrecognized character in path {text!r} at {position}")
        if match["deep"]:
            steps.append(_descendants)
        if match["name"]:
            steps.append(_field(match["name"].replace("\\", "")))
        elif match["star"]:
            steps.append(_every)
        else:
            steps.append(_bracket(match["index"].strip()))
        position = match.end()
    return tuple(steps)


def find_values(text: str, obj: Any) -> list[Any]:
    """Return all values at a path. Raise `JsonPathError`."""
    values = [obj]
    for step in compile_path(text):
        values = step(values)
    return values


def render_template(template: str, obj: Any) -> str:
    """Return what `kubectl -o jsonpath=TEMPLATE` prints of a JSON value. Raise `JsonPathError`.

    `{.path}` prints its values separated by spaces, `{"text"}` a text, `{range .path}…{end}` its contents once for
    each value. A template without braces is one path. What does not exist prints nothing.
    """
    text = template if "{" in template else f"{{{template}}}"
    written, end = _render(_pieces(text), 0, obj, obj, text)
    if end >= 0:
        raise JsonPathError("{end} without {range}")
    return written


_PIECE = deferred(r"""\{((?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^{}"'])*)\}|([^{}]+)""", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def _pieces(text: str) -> list[tuple[bool, str]]:
    """Return the parts of a template: whether each stands in braces, and its text."""
    pieces: list[tuple[bool, str]] = []
    position = 0
    while position < len(text):
        match = _PIECE.match(text, position)
        if match is None:
            raise JsonPathError(f"unclosed or stray brace in {text!r} at {position}")
        pieces.append((match[2] is None, match[1].strip() if match[2] is None else match[2]))
        position = match.end()
    return pieces


def _render(pieces: list[tuple[bool, str]], at: int, root: Any, here: Any, text: str) -> tuple[str, int]:
    """Return the text up to the next {end}, and the place behind it, -1 at the end of the template."""
    written: list[str] = []
    while at < len(pieces):
        is_action, body = pieces[at]
        at += 1
        if not is_action:
            written.append(body)
        elif body == "end":
            return "".join(written), at
        elif body.startswith("range ") or body == "range":
            items = find_values(_path(body.removeprefix("range").strip()), _start(body, root, here))
            after = _render(pieces, at, root, None, text)[1]  # once for its end, also where there is no item
            if after < 0:
                raise JsonPathError(f"{{range}} without {{end}} in {text!r}")
            written += (_render(pieces, at, root, item, text)[0] for item in items)
            at = after
        elif body[:1] in ("'", '"'):
            written.append(re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), body[1:-1]))
        else:
            written.append(" ".join(map(_printed, find_values(_path(body), _start(body, root, here)))))
    return "".join(written), -1


def _start(body: str, root: Any, here: Any) -> Any:
    return root if body.removeprefix("range").strip().startswith("$") else here


def _path(text: str) -> str:
    """Return a path as `find_values` reads it; raise `JsonPathError` for none."""
    if not text:
        raise JsonPathError("empty path")
    text = text.removeprefix("@")
    return text if text[:1] in (".", "[", "$", "") else f".{text}"


def _printed(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _field(name: str) -> JsonPathStep:
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def _every(values: list[Any]) -> list[Any]:
    parts: list[Any] = []
    for value in values:
        parts += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return parts


def _descendants(values: list[Any]) -> list[Any]:
    parts: list[Any] = []
    for value in values:
        parts.append(value)
        parts += _descendants(_every([value]))
    return parts


def _bracket(text: str) -> JsonPathStep:
    if text[0] in "'\"":
        return _field(text[1:-1])
    if text == "*":
        return _every
    if text.startswith("?"):
        return _selection(text)
    if re.fullmatch(r"-?\d+", text):
        index = int(text)
        return lambda values: [
            value[index] for value in values if isinstance(value, list) and -len(value) <= index < len(value)
        ]
    if re.fullmatch(r"-?\d*(:-?\d*){1,2}", text):
        parts = [int(part) if part else None for part in text.split(":")]
        return lambda values: [item for value in values if isinstance(value, list) for item in value[slice(*parts)]]
    raise JsonPathError(f"cannot read [{text}]")


def _selection(text: str) -> JsonPathStep:
    match = _FILTER.match(text)
    if match is None:
        raise JsonPathError(f"cannot read [{text}]")
    path, operator, value = "." + match["path"], match["operator"], match["value"]

    def chosen(item: Any) -> bool:
        values = find_values(path, item)
        if operator is None:
            return bool(values)
        return bool(values) and _compare(values[0], operator, _literal(value))

    return lambda values: [item for item in _every(values) if chosen(item)]


def _literal(text: str) -> Any:
    if text[0] in "'\"":
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def _compare(left: Any, operator: str, right: Any) -> bool:
    if operator in ("==", "!="):
        return (left == right) is (operator == "==")
    if isinstance(left, bool) or isinstance(right, bool) or type(left) is not type(right):
        return False
    if not isinstance(left, (int, float, str)):
        return False
    order: dict[str, Callable[[Any, Any], bool]] = {
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
    }
    return order[operator](left, right)
