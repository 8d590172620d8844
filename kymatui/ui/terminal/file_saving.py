"""Texts that a screen saves in a file, which is never overwritten, or copies to the clipboard."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from textual.app import App

from kymatui.own_files import create_file


def copy_text(app: App[Any], text: str, name: str, *, note: str = "", seconds: float = 3) -> None:
    """Send a text to the clipboard and notify the user of it as `name`; `note` says why it was not opened instead."""
    app.copy_to_clipboard(text)
    needs = " (tmux passes it on only with set-clipboard on)" if os.environ.get("TMUX") else ""
    sent = f"sent {name} to the terminal's clipboard{needs}"
    app.notify(f"{note}; {sent}" if note else sent, timeout=seconds)


def save_file(name: str, exports: Mapping[str, Callable[[], str]]) -> str:
    """Write the export for the name's suffix and return its path.

    Raises ValueError with the problem.
    """
    path = Path(name).expanduser()
    ending = path.suffix.removeprefix(".").lower()
    form = {"markdown": "md", "yml": "yaml"}.get(ending, ending)
    if not name or form not in exports:
        raise ValueError(f"file name needs one of these endings: {', '.join(f'.{export}' for export in exports)}")
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


_ENDINGS: Final = (".yaml", ".yml", ".json")
_MOST: Final = 200  # names, since a home directory has thousands
_DEPTH: Final = 2  # levels of folders


def manifest_paths(folder: str = ".") -> Sequence[str]:
    """Return folders and manifests of the working directory, two levels deep, as words of a command line.

    At most 200 names: a home directory has thousands. Hidden files and links are left out.
    """
    paths: list[str] = []
    level = [folder]
    for _ in range(_DEPTH):
        below: list[str] = []
        for file_name in level:
            for name, is_folder in _entries(file_name):
                if len(paths) == _MOST:
                    return paths
                path = os.path.normpath(os.path.join(file_name, name))
                paths.append(shlex.quote(f"{path}/" if is_folder else path))
                if is_folder:
                    below.append(path)
        level = below
    return paths


def _entries(folder: str) -> list[tuple[str, bool]]:
    """Return names of a folder with whether they are folders; none of a folder that cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry in entries
                if not entry.name.startswith(".")
                and (entry.is_dir(follow_symlinks=False) or entry.name.lower().endswith(_ENDINGS))
            )
    except OSError:  # an unreadable folder has no names to complete, and is no error while typing
        return []
