"""What the screen remembers of each context on this machine: its last use, pinned modules, and how lists were left.

One small JSON file for each context in the user's state folder. A file that cannot be used counts as missing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from kymatui.adapters.files.user_files import write_own_file
from kymatui.json_input import read_json
from kymatui.own_files import read_own

_LARGEST: Final = 64 * 1024
"""Bytes of a file that are read."""
_MOST_CONTEXTS: Final = 1000  # files that are read for the list of contexts
MOST_PINNED: Final = 200  # modules of one context; the newest ones stay
_LONGEST_NAME: Final = 253  # characters of a Kubernetes object's name
_LONGEST_TEXT: Final = 1000  # characters of a filter
_MOST_FILTERS: Final = 100
_VIEW_TEXTS: Final = ("sort", "filter", "group", "screen", "about")
_FILTERS: Final = ""
"""In the place of a context: what every context has."""
FLEET_OF_CONTEXTS: Final = " contexts"
"""In the place of a context: the list of all contexts."""


class RememberedView(Struct, frozen=True):
    """How a list was left: `sort` is a column, with `:desc` behind it if descending; `screen` the kind of the last one.

    `about` is what that screen was about.
    """

    sort: str = ""
    filter: str = ""
    columns: tuple[str, ...] = ()
    group: str = ""
    screen: str = ""
    about: str = ""


class RememberedContext(Struct, frozen=True):
    """One context; `used` in Unix seconds, 0 for never. `filters` are those that were saved under names."""

    name: str
    used: float = 0.0
    pinned: tuple[str, ...] = ()
    view: RememberedView = RememberedView()
    filters: Mapping[str, str] = {}


class ContextMemory:
    """Files below `folder`, by default the user's state folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self._given = folder

    @property
    def _folder(self) -> Path:
        if self._given is not None:
            return self._given
        import platformdirs  # takes its time to load, and no first paint waits for it

        return Path(platformdirs.user_state_dir("kymatui")) / "contexts"

    def of(self, name: str) -> RememberedContext:
        """Return what is remembered of a context."""
        remembered = _read(self._path(name))
        return remembered if remembered is not None and remembered.name == name else RememberedContext(name)

    def used(self) -> dict[str, float]:
        """Return when each context was used last, by name."""
        try:
            paths = sorted(self._folder.glob("*.json"))[:_MOST_CONTEXTS]
        except OSError:  # an unreadable folder counts as an empty one
            return {}
        return {remembered.name: remembered.used for path in paths if (remembered := _read(path)) is not None}

    def note_use(self, name: str, now: float) -> None:
        """Record that a context is used. Raise ConfigurationError if the file cannot be written."""
        self._write(replace(self.of(name), used=now))

    def pin(self, name: str, modules: Iterable[str]) -> None:
        """Record the pinned modules of a context. Raise ConfigurationError if the file cannot be written."""
        self._write(replace(self.of(name), pinned=_names(list(modules))))

    def leave(self, name: str, view: RememberedView) -> None:
        """Record how a context's list was left. Raise ConfigurationError if the file cannot be written."""
        self._write(replace(self.of(name), view=view))

    @property
    def filters(self) -> Mapping[str, str]:
        """Return the filters that were saved under names, for every context."""
        return self.of(_FILTERS).filters

    def save_filter(self, name: str, text: str) -> None:
        """Save a filter under a name, "" deletes it. Raise ConfigurationError if the file cannot be written."""
        filters = {key: value for key, value in self.filters.items() if key != name}
        newest = dict(list(filters.items())[-(_MOST_FILTERS - 1) :])
        self._write(replace(self.of(_FILTERS), filters={**newest, **({name: text} if text else {})}))

    def _write(self, context: RememberedContext) -> None:
        view = {key: value for key, value in to_builtins(context.view).items() if value}
        body = {
            "context": context.name,
            "used": context.used,
            "pinned": list(context.pinned),
            "view": view,
            "filters": dict(context.filters),
        }
        write_own_file(self._path(context.name), json.dumps(body, indent=1).encode())

    def _path(self, name: str) -> Path:
        readable = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:80] or "_"
        return self._folder / f"{readable}-{hashlib.sha256(name.encode()).hexdigest()[:12]}.json"


def _read(path: Path) -> RememberedContext | None:
    try:
        body: Any = read_json(read_own(path, _LARGEST))
    except (OSError, ValueError):
        return None
    if not isinstance(body, dict) or not isinstance(body.get("context"), str):
        return None
    used = body.get("used")
    moment = float(used) if isinstance(used, int | float) and 0 <= used < 1e12 else 0.0
    filters = _texts(body.get("filters"))
    return RememberedContext(body["context"], moment, _names(body.get("pinned")), _view(body.get("view")), filters)


def _view(value: Any) -> RememberedView:
    """Return what is usable of a view."""
    texts = _texts(value)
    columns = _names(value.get("columns")) if isinstance(value, dict) else ()
    return RememberedView(**{key: texts.get(key, "") for key in _VIEW_TEXTS}, columns=columns)


def _texts(value: Any) -> dict[str, str]:
    pairs = value.items() if isinstance(value, dict) else ()
    return {key: text for key, text in pairs if isinstance(text, str) and len(text) <= _LONGEST_TEXT}


def _names(value: Any) -> tuple[str, ...]:
    """Return the usable names, each once; the last ones where there are too many."""
    listed = value if isinstance(value, list) else []
    names = [name for name in listed if isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME]
    return tuple(dict.fromkeys(names))[-MOST_PINNED:]
