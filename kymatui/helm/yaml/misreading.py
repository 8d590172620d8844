"""Differences between go-yaml's scanner and libyaml at brackets, and Go's errors for collection keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

import yaml as pyyaml

from kymatui.patterns import deferred

_KEY_WANTED: Final = "did not find expected key"
_ENTRY_WANTED: Final = "did not find expected '-' indicator"
_EMPTY = deferred(r"[\[{](?:\s|#[^\n]*\n)*[\]}]")
_NO_COLON: Final = "found unexpected ':'"
_NO_SPACE: Final = "did not find expected whitespace or line break"
_NO_TAG: Final = "did not find expected tag URI"
_NO_ESCAPE: Final = "found unknown escape character"
_QUOTED: Final = deferred(r'"[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_ESCAPED: Final = deferred(r"\\(.)", re.DOTALL)
_IN_TAGS: Final = ",[]"
_TAG: Final = deferred(r"(?:&\S+\s+)?![^\s,\[\]{}]*")
_PROPERTY: Final = deferred(r"(?:^|[\[{,])[!&]\S*\Z")
_LONGEST_PROPERTY: Final = 1024  # characters; libyaml allows no longer key
COLON: Final = "\uf8c3"
"""Stands for a colon that libyaml refuses."""
HIDDEN_MARK: Final = "\uf8c4"
"""Stands for a byte order mark, which libyaml skips at the beginning of a line."""
_MARK: Final = "\ufeff".encode()
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_ENTRY = deferred(r"^[ \t]*-[ \t]*(?:#.*)?$", re.MULTILINE)


class SourceText(Protocol):
    """A text, as bytes and, in which marks count, as characters."""

    data: bytes

    @property
    def text(self) -> str:
        """Return the decoded text."""
        ...


class _Collection:
    __slots__ = ("event", "items")

    def __init__(self, event: Any) -> None:
        self.event = event
        self.items = 0

    @property
    def column(self) -> int:
        return int(self.event.start_mark.column)

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.event, pyyaml.MappingStartEvent)

    @property
    def wants_key(self) -> bool:
        return self.is_mapping and self.items % 2 == 0


def bracket_problem(error: pyyaml.YAMLError, source: SourceText, parse: Callable[[bytes], Any]) -> str | None:
    """Return Go's error for empty brackets where a block expects its next key or entry.

    libyaml searches for the colon after the brackets that would make them a key, and reports it missing. go-yaml
    forgets at the closing bracket that they could be one, so its parser refuses the opening one.
    """
    if getattr(error, "problem", "") != "could not find expected ':'":
        return None
    mark = getattr(error, "context_mark", None)
    text = source.text
    if mark is None or not _EMPTY.match(text, mark.index):
        return None
    open_blocks, end = _progress(parse(source.data))
    if not open_blocks or open_blocks[-1].event.flow_style:
        return None
    problem = _expected_token(open_blocks, text[end : mark.index])
    line = f"line {mark.line}: " if mark.line else ""
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
            blocks[-1].items += 1
        if opening:
            blocks.append(_Collection(event))
        elif isinstance(event, pyyaml.CollectionEndEvent):
            blocks.pop()
    return blocks, end


def _events(parser: Any) -> Iterator[Any]:
    try:
        while (event := parser.get_event()) is not None:
            yield event
    except pyyaml.YAMLError:
        return


def empty_key_problem(event: Any, text: str, container: Any, flow: bool) -> str | None:
    """Return Go's error for `[]: x` and `{}: x` in a collection, None if they can be a key."""
    if text[event.end_mark.index - 1 : event.end_mark.index] not in ("]", "}"):
        return None
    opening = "[" if isinstance(event, pyyaml.SequenceEndEvent) else "{"
    start = text.rfind(opening, 0, event.end_mark.index)
    end = start
    while end > 0 and text[end - 1].isspace():
        end -= 1
    before = text[max(end - _LONGEST_PROPERTY, 0) : end]  # not all of it, since a text may have many of these
    if before.endswith("?") or (before and _PROPERTY.search(before.rsplit(None, 1)[-1])):
        return None
    line = text.count("\n", 0, start)
    where = f"line {line}: " if line else ""
    if flow:
        closing = "]" if text.rfind("[", 0, start) > text.rfind("{", 0, start) else "}"
        return f"{where}did not find expected ',' or '{closing}'"
    return where + (_ENTRY_WANTED if isinstance(container, list) else _KEY_WANTED)


def scalar_problem(event: Any, source: SourceText, flow: bool, mapping: bool) -> str | None:
    r"""Return Go's error for `?` in a plain scalar in brackets and for `\/` in double quotes."""
    if flow and not event.style and "?" in event.value[1:]:
        line = event.start_mark.line
        where = f"line {line}: " if line else ""
        closing = "}" if mapping else "]"
        return f"{where}did not find expected ',' or '{closing}'"
    if event.style == '"' and "/" in event.value:
        written = source.text[event.start_mark.index : event.end_mark.index]
        if any(escape[1] == "/" for escape in _ESCAPED.finditer(written)):
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


def repair_syntax(error: pyyaml.YAMLError, source: SourceText) -> None:
    """Raise UnexpectedCharacterError if a substitute character lets libyaml continue."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", "")
    if mark is None or problem not in (_NO_COLON, _NO_SPACE, _NO_TAG, _NO_ESCAPE):
        return
    text = source.text
    if problem == _NO_ESCAPE:
        _unescape_apostrophes(text, mark.index, error)
        return
    character = text[mark.index : mark.index + 1]
    if character == ":" and problem == _NO_COLON:
        _replace(text, mark.index, COLON, error)
    elif character and character in _IN_TAGS and problem != _NO_COLON:
        _replace(text, mark.index, f"%{ord(character):02X}", error)


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


def repair_tag(event: Any, text: str) -> None:
    """Raise UnexpectedCharacterError for a tag in brackets, which libyaml ends at a comma or bracket."""
    tag = _TAG.match(text, event.start_mark.index)
    if tag is not None and (character := text[tag.end() : tag.end() + 1]) and character in _IN_TAGS:
        error = pyyaml.scanner.ScannerError(None, None, _NO_SPACE, event.start_mark)
        _replace(text, tag.end(), f"%{ord(character):02X}", error)


def _replace(text: str, index: int, instead: str, error: pyyaml.YAMLError) -> None:
    raise UnexpectedCharacterError((text[:index] + instead + text[index + 1 :]).encode(), error) from error
