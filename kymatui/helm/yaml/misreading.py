"""Differences between go-yaml's scanner and libyaml at brackets, and Go's errors for collection keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import yaml as pyyaml

from kymatui.helm.govalues.printf import sprintf
from kymatui.helm.govalues.types import TypedMap
from kymatui.helm.yaml.errors import BadKey

_KEY_WANTED: Final = "did not find expected key"
_ENTRY_WANTED: Final = "did not find expected '-' indicator"
_EMPTY = re.compile(r"[\[{](?:\s|#.*)*[\]}]")
_INT: Final = 1 << 63
_NO_COLON: Final = "found unexpected ':'"
_NO_SPACE: Final = "did not find expected whitespace or line break"
_NO_TAG: Final = "did not find expected tag URI"
_NO_ESCAPE: Final = "found unknown escape character"
_SLASH: Final = re.compile(r"(?:[^\\]|\\[^/])*\\/", re.DOTALL)
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_IN_TAGS: Final = ",[]"
_TAG: Final = re.compile(r"(?:&\S+\s+)?![^\s,\[\]{}]*")
_PROPERTY: Final = re.compile(r"(?:^|[\s\[{,])[!&]\S*\Z")
COLON: Final = "\uf8c3"
"""Stands for a colon that libyaml refuses."""
HIDDEN_MARK: Final = "\uf8c4"
"""Stands for a byte order mark, which libyaml skips at the beginning of a line."""
_MARK: Final = "\ufeff".encode()
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_ENTRY = re.compile(r"^[ \t]*-[ \t]*(?:#.*)?$", re.MULTILINE)


class _Collection(NamedTuple):
    event: Any
    items: list[Any]

    @property
    def column(self) -> int:
        return int(self.event.start_mark.column)

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.event, pyyaml.MappingStartEvent)

    @property
    def wants_key(self) -> bool:
        return self.is_mapping and len(self.items) % 2 == 0


def bracket_problem(error: pyyaml.YAMLError, data: bytes, parse: Callable[[bytes], Any]) -> str | None:
    """Return Go's error for empty brackets where a block expects its next key or entry.

    libyaml searches for the colon after the brackets that would make them a key, and reports it missing. go-yaml
    forgets at the closing bracket that they could be one, so its parser refuses the opening one.
    """
    if getattr(error, "problem", "") != "could not find expected ':'":
        return None
    place = getattr(error, "context_mark", None)
    text = data.decode("utf-8-sig", "replace")
    if place is None or not _EMPTY.match(text, place.index):
        return None
    open_blocks, end = _progress(parse(data))
    if not open_blocks or open_blocks[-1].event.flow_style:
        return None
    problem = _expected_token(open_blocks, text[end : place.index])
    line = f"line {place.line}: " if place.line else ""
    return f"{line}{problem}" if problem else None


def _expected_token(blocks: list[_Collection], gap: str) -> str | None:
    block = blocks[-1]
    if block.is_mapping:
        return _KEY_WANTED if block.wants_key else None
    if _ENTRY.search(gap):
        return None
    # A sequence at the column of its key has no end mark of its own: the mapping continues.
    indentless = len(blocks) > 1 and blocks[-2].is_mapping and blocks[-2].column == block.column
    return _KEY_WANTED if indentless else _ENTRY_WANTED


def _progress(parser: Any) -> tuple[list[_Collection], int]:
    """Return the open collections at the failure, and the end of the last element before it."""
    blocks: list[_Collection] = []
    end = 0
    for event in _events(parser):
        opening = isinstance(event, pyyaml.CollectionStartEvent)
        end = (event.start_mark if opening else event.end_mark).index
        if isinstance(event, pyyaml.NodeEvent) and blocks:
            blocks[-1].items.append(event)
        if opening:
            blocks.append(_Collection(event, []))
        elif isinstance(event, pyyaml.CollectionEndEvent):
            blocks.pop()
    return blocks, end


def _events(parser: Any) -> Iterator[Any]:
    try:
        while (event := parser.get_event()) is not None:
            yield event
    except pyyaml.YAMLError:
        return


def empty_key_problem(event: Any, data: bytes, container: Any, flow: bool) -> str | None:
    """Return Go's error for `[]: x` and `{}: x` in a collection, None if they can be a key."""
    text = data.decode("utf-8-sig", "replace")
    if text[event.end_mark.index - 1 : event.end_mark.index] not in ("]", "}"):
        return None
    opening = "[" if isinstance(event, pyyaml.SequenceEndEvent) else "{"
    start = text.rfind(opening, 0, event.end_mark.index)
    before = text[:start].rstrip()
    if before.endswith("?") or _PROPERTY.search(before):
        return None
    line = text.count("\n", 0, start)
    where = f"line {line}: " if line else ""
    if flow:
        closing = "]" if text.rfind("[", 0, start) > text.rfind("{", 0, start) else "}"
        return f"{where}did not find expected ',' or '{closing}'"
    return where + (_ENTRY_WANTED if isinstance(container, list) else _KEY_WANTED)


def scalar_problem(event: Any, data: bytes, flow: bool, mapping: bool) -> str | None:
    r"""Return Go's error for `?` in a plain scalar in brackets and for `\/` in double quotes."""
    if flow and not event.style and "?" in event.value[1:]:
        line = event.start_mark.line
        where = f"line {line}: " if line else ""
        closing = "}" if mapping else "]"
        return f"{where}did not find expected ',' or '{closing}'"
    if event.style == '"' and "/" in event.value:
        source = data.decode("utf-8-sig", "replace")[event.start_mark.index : event.end_mark.index]
        if _SLASH.match(source):
            line = event.start_mark.line + 1
            return (f"line {line}: " if line > 1 else "") + _NO_ESCAPE
    return None


class UnexpectedCharacterError(Exception):
    r"""libyaml refuses what go-yaml accepts: a substitute for that character makes it readable.

    `{a:}` contains "a:"; a comma or bracket after a tag belongs to the tag; `\'` is an escape in double quotes.
    """

    def __init__(self, repaired: bytes, error: pyyaml.YAMLError) -> None:
        super().__init__()
        self.repaired = repaired
        self.error = error


def repair_syntax(error: pyyaml.YAMLError, data: bytes) -> None:
    """Raise UnexpectedCharacterError if a substitute character lets libyaml continue."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", "")
    if mark is None or problem not in (_NO_COLON, _NO_SPACE, _NO_TAG, _NO_ESCAPE):
        return
    text = data.decode("utf-8-sig", "replace")
    if problem == _NO_ESCAPE:
        _unescape_apostrophes(text, mark.index, error)
        return
    found = text[mark.index : mark.index + 1]
    if found == ":" and problem == _NO_COLON:
        _replace(text, mark.index, COLON, error)
    elif found and found in _IN_TAGS and problem != _NO_COLON:
        _replace(text, mark.index, f"%{ord(found):02X}", error)


def hide_marks(data: bytes) -> tuple[bytes, bool]:
    """Return the text with a substitute for byte order marks after its beginning, and whether it has some.

    go-yaml skips one only at the beginning of the text; all others are characters like any other.
    """
    start = 0
    while data.startswith(_MARK, start):
        start += len(_MARK)
    if data.find(_MARK, start) < 0 or data.startswith(_UTF16):
        return data, False
    return data[:start] + data[start:].replace(_MARK, HIDDEN_MARK.encode()), True


def _unescape_apostrophes(text: str, index: int, error: Any) -> None:
    r"""Raise UnexpectedCharacterError without the backslash of each `\'` in this double-quoted scalar."""
    start = getattr(error.context_mark, "index", -1)
    if text[index : index + 2] != "\\'" or (scalar := _QUOTED.match(text, start)) is None:
        return
    # All of them, since each repair reads the text from its beginning again.
    plain = _ESCAPED.sub(lambda escape: "'" if escape[1] == "'" else escape[0], scalar[0])
    raise UnexpectedCharacterError((text[:start] + plain + text[scalar.end() :]).encode(), error) from error


def repair_tag(event: Any, data: bytes) -> None:
    """Raise UnexpectedCharacterError for a tag in brackets, which libyaml ends at a comma or bracket."""
    text = data.decode("utf-8-sig", "replace")
    tag = _TAG.match(text, event.start_mark.index)
    if tag is not None and (found := text[tag.end() : tag.end() + 1]) and found in _IN_TAGS:
        error = pyyaml.scanner.ScannerError(None, None, _NO_SPACE, event.start_mark)
        _replace(text, tag.end(), f"%{ord(found):02X}", error)


def _replace(text: str, index: int, instead: str, error: pyyaml.YAMLError) -> None:
    raise UnexpectedCharacterError((text[:index] + instead + text[index + 1 :]).encode(), error) from error


def shown_key(value: Any) -> str:
    """Return Go's %#v of a value as go-yaml has it."""
    return sprintf("%#v", in_go(value))


def in_go(value: Any) -> Any:
    if isinstance(value, dict):
        return TypedMap("map[interface {}]interface {}", {in_go(key): in_go(part) for key, part in value.items()})
    if isinstance(value, list):
        return [in_go(part) for part in value]
    if isinstance(value, BadKey):
        return value.value
    whole = isinstance(value, float) and value.is_integer() and abs(value) < _INT
    return int(value) if whole else value
