"""Files of an unpacked artifact, written into a folder that has none yet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError
from kymatui.own_files import create_file, create_folder


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by their relative path; the folder is created, and must be empty if it exists.

    Paths have been checked (`tar_archives.clean_path`), and no link in the folder can lead elsewhere, because there
    is none. Raises ConfigurationError.
    """
    try:
        create_folder(folder)
        if any(folder.iterdir()):
            raise ConfigurationError(f"{folder} is not empty", hint="name a new folder")
        for path, content in files.items():
            target = folder.joinpath(*path.split("/"))
            create_folder(target.parent)
            create_file(target, content, private=False)
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be written: {error_reason(error)}") from error
