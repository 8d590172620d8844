"""Files of an unpacked artifact, written into a folder that has none yet."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by their relative path; the folder is created, and must be empty if it exists.

    Paths have been checked (`tar_archives.clean_path`), and no link in the folder can lead elsewhere, because there
    is none. Raises ConfigurationError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ConfigurationError(f"{folder} is not empty", hint="name a new folder")
        for path, content in files.items():
            target = folder.joinpath(*path.split("/"))
            target.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be written: {error_reason(error)}") from error
