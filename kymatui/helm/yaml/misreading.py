"""Where go-yaml's scanner and libyaml's part over brackets, and what Go says of a map or list that is a key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import yaml as pyyaml

from kymatui.helm.govalues.types import TypedMap
from kymatui.helm.yaml.conversions import BadKey

_KEY_WANTED: Final = "did not find expected key"
_ENTRY_WANTED: Final = "did not find expected '-' indicator"
_EMPTY = re.compile(r"[\[{](?:\s|#.*)*[\]}]")
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
    """Go's words, with the line, for empty brackets that stand where a block wants its next key or entry.

    libyaml looks behind the brackets for the colon that would make them a key, and misses that. go-yaml forgets with
    the closing bracket that they could be one, so its parser refuses the opening one.
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
    problem = _wanted(open_blocks, text[end : place.index])
    line = f"line {place.line}: " if place.line else ""
    return f"{line}{problem}" if problem else None


def _wanted(blocks: list[_Collection], gap: str) -> str | None:
    block = blocks[-1]
    if block.is_mapping:
        return _KEY_WANTED if block.wants_key else None
    if _ENTRY.search(gap):
        return None
    # A sequence at the column of its key has no end of its own: the mapping goes on.
    indentless = len(blocks) > 1 and blocks[-2].is_mapping and blocks[-2].column == block.column
    return _KEY_WANTED if indentless else _ENTRY_WANTED


def _progress(parser: Any) -> tuple[list[_Collection], int]:
    """The collections that are open where the text fails, and where the last thing before that ended."""
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


def shown_key(value: Any) -> str:
    """Go's %#v of a map or a list as go-yaml has it."""
    from kymatui.helm.govalues.printf import sprintf

    return sprintf("%#v", _in_go(value))


def _in_go(value: Any) -> Any:
    if isinstance(value, dict):
        return TypedMap("map[interface {}]interface {}", {_in_go(key): _in_go(part) for key, part in value.items()})
    if isinstance(value, list):
        return [_in_go(part) for part in value]
    if isinstance(value, BadKey):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else value
