"""Names of files and folders of manifests for the completion of commands."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import Final

_ENDINGS: Final = (".yaml", ".yml", ".json")
_MOST: Final = 200  # names, since a home directory has thousands
_DEPTH: Final = 2  # levels of folders


def manifest_paths(folder: str = ".") -> Sequence[str]:
    """Return folders and manifests of the working directory, two levels deep, as words of a command line.

    At most 200 names: a home directory has thousands. Hidden files and links are left out.
    """
    found: list[str] = []
    level = [folder]
    for _ in range(_DEPTH):
        below: list[str] = []
        for place in level:
            for name, is_folder in _entries(place):
                if len(found) == _MOST:
                    return found
                path = os.path.normpath(os.path.join(place, name))
                found.append(shlex.quote(f"{path}/" if is_folder else path))
                if is_folder:
                    below.append(path)
        level = below
    return found


def _entries(folder: str) -> list[tuple[str, bool]]:
    """Return names of a folder with whether they are folders; none of a folder that cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(
                (one.name, one.is_dir(follow_symlinks=False))
                for one in entries
                if not one.name.startswith(".")
                and (one.is_dir(follow_symlinks=False) or one.name.lower().endswith(_ENDINGS))
            )
    except OSError:  # an unreadable folder has no names to complete, and is no error while typing
        return []
