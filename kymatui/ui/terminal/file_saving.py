"""Files that a screen saves. An existing file is never overwritten."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from kymatui.own_files import create_file


def save_file(name: str, exports: Mapping[str, Callable[[], str]]) -> str:
    """Write the export for the name's suffix and return its path.

    Raises ValueError with the problem.
    """
    path = Path(name).expanduser()
    ending = path.suffix.removeprefix(".").lower()
    form = {"markdown": "md", "yml": "yaml"}.get(ending, ending)
    if not name or form not in exports:
        raise ValueError(f"file name needs one of these endings: {', '.join(f'.{one}' for one in exports)}")
    body = exports[form]()
    return _save(path, name, body.encode(), private=False)


def as_file_name(text: str) -> str:
    """Return a text, which may have a name of a cluster in it, as the name of a file in the working folder."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).lstrip(".-") or "kymatui"


def save_new_file(name: str, content: bytes) -> str:
    """Write a file that only its owner may read and return its path.

    Raises ValueError with the problem.
    """
    return _save(Path(name), name, content, private=True)


def _save(path: Path, name: str, content: bytes, *, private: bool) -> str:
    try:
        create_file(path, content, private=private)
    except FileExistsError:
        raise ValueError(f"{name} already exists; not overwritten") from None
    except OSError as error:
        raise ValueError(f"cannot write {name}: {error.strerror or error}") from error
    return str(path)
