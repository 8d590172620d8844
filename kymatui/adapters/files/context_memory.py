"""What the screen remembers of each context on this machine: its last use, and the modules pinned to the top.

One small JSON file for each context in the user's state folder. A file that cannot be used counts as missing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.adapters.files.user_files import write_own_file
from kymatui.json_input import read_json
from kymatui.own_files import read_own

_LARGEST: Final = 64 * 1024
"""Bytes of a file that are read."""
_MOST_CONTEXTS: Final = 1000  # files that are read for the list of contexts
MOST_PINNED: Final = 200  # modules of one context; the newest ones stay
_LONGEST_NAME: Final = 253  # characters of a Kubernetes object's name


class RememberedContext(Struct, frozen=True):
    """One context; `used` in Unix seconds, 0 for never."""

    name: str
    used: float = 0.0
    pinned: tuple[str, ...] = ()


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

    def _write(self, context: RememberedContext) -> None:
        body = {"context": context.name, "used": context.used, "pinned": list(context.pinned)}
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
    return RememberedContext(body["context"], moment, _names(body.get("pinned")))


def _names(value: Any) -> tuple[str, ...]:
    """Return the usable names, each once; the last ones where there are too many."""
    listed = value if isinstance(value, list) else []
    names = [name for name in listed if isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME]
    return tuple(dict.fromkeys(names))[-MOST_PINNED:]
