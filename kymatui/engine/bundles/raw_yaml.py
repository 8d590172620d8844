"""Raw YAML sources: inline, a file, a folder or a URL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kymatui.domain.inventories import Origin
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.engine.bundles.addresses import content_digest, digest_of_files, redact_address
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.bundles.yaml_objects import read_objects, unique_documents
from kymatui.engine.cluster.ports import Blobs
from kymatui.errors import SourceError
from kymatui.helm.yaml.limits import LARGEST_TEXT, YamlBudget

SUFFIXES: Final = (".yaml", ".yml", ".json")
MOST_FILES: Final = 5_000


def from_text(text: str | bytes, *, name: str, namespace: str = "default", source: str = "inline") -> Bundle:
    """Return the bundle of a text. Raises SourceError."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    objects = read_objects(data, source)
    return Bundle(name, namespace, Origin("raw", source, digest=content_digest(data)), objects=tuple(objects))


def from_url(address: str, blobs: Blobs, *, name: str, namespace: str = "default") -> Bundle:
    """Return the bundle at an https:// address. Raises SourceError, and the port's errors."""
    return from_text(blobs.url(address), name=name, namespace=namespace, source=redact_address(address))


def from_path(path: str | Path, *, name: str, namespace: str = "default", recursive: bool = False) -> Bundle:
    """Return the bundle of a file, or of a folder's YAML and JSON files by name. Raises SourceError."""
    root = Path(path)
    if not root.is_dir():
        return from_text(read_file(root), name=name, namespace=namespace, source=str(root))
    files = [(str(file), read_file(file)) for file in _files(root, recursive)]
    if not files:
        raise SourceError(f"{root} has no {', '.join(SUFFIXES)} file")
    budget = YamlBudget()
    objects = unique_documents(body for where, data in files for body in read_objects(data, where, budget=budget))
    relative = ((str(Path(where).relative_to(root)), data) for where, data in files)
    return Bundle(name, namespace, Origin("raw", str(root), digest=digest_of_files(relative)), objects=tuple(objects))


def _files(folder: Path, recursive: bool) -> Iterator[Path]:
    paths = folder.rglob("*") if recursive else folder.iterdir()
    names = sorted(path for path in paths if path.suffix in SUFFIXES and path.is_file())
    if len(names) > MOST_FILES:
        raise SourceError(f"{folder} has {format_count(len(names), 'file')}; at most {MOST_FILES} are allowed")
    yield from names


def read_file(path: Path) -> bytes:
    """Return the bytes of a user's file, limited in size. Raises SourceError."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_TEXT + 1)
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(data) > LARGEST_TEXT:
        raise SourceError(f"{path} is larger than {LARGEST_TEXT} bytes")
    return data
