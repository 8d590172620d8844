"""Files of an exported fleet: JSON, or JSON in gzip by the name's ending.

Not zstd: Python has it from 3.14 on only, and no dependency brings it. 17 MB of 5,000 runtimes are 0.85 MB in gzip, and
0.86 MB in zstd at its default level.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from pathlib import Path
from typing import Final

from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.domain.whatif.fleet_document import fleet_document, read_fleet_document
from kymatui.domain.whatif.fleet_objects import FleetObjects
from kymatui.errors import ConfigurationError
from kymatui.json_input import read_json
from kymatui.own_files import write_file

LARGEST_FLEET: Final = 512 * 1024 * 1024
"""The most bytes of a fleet, unpacked: 5,000 runtimes have about 10 MiB."""
MOST_VALUES: Final = 5_000_000
"""The most JSON values of a fleet: 5,000 runtimes have about 850,000."""
_HINT: Final = "`kymatui fleet export FILE` writes one"


def require_fleet_name(path: Path) -> None:
    """Raise ConfigurationError for a name that promises zstd."""
    if path.suffix in (".zst", ".zstd"):
        raise ConfigurationError(f"{path}: zstd is not supported", hint=f"use {path.with_suffix('.gz')}")


def write_fleet_file(path: Path, fleet: FleetObjects, key: bytes) -> None:
    """Write a fleet that only its owner may read; with a `key`, ids are hashed. Raises ConfigurationError."""
    text = json.dumps(fleet_document(fleet, key), separators=(",", ":")).encode() + b"\n"
    try:
        write_file(path, gzip.compress(text, mtime=0) if path.suffix == ".gz" else text, private=True)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error_reason(error)}") from error


def read_fleet_file(path: Path) -> FleetObjects:
    """Return the fleet of a file. Raises ConfigurationError for a file that is no fleet, or too large."""
    require_fleet_name(path)
    try:
        content = _content(path)
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise ConfigurationError(f"{path} is not gzip: {error}", hint=_HINT) from error
    if len(content) > LARGEST_FLEET:
        raise ConfigurationError(f"{path} has more than {LARGEST_FLEET >> 20} MiB")
    try:
        return read_fleet_document(read_json(content, most=MOST_VALUES))
    except ValueError as error:
        raise ConfigurationError(f"{path} is not an exported fleet: {error}", hint=_HINT) from error


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        packed = file.read(LARGEST_FLEET + 1)
    if path.suffix != ".gz":
        return packed
    with gzip.open(io.BytesIO(packed)) as unpacked:
        return unpacked.read(LARGEST_FLEET + 1)
