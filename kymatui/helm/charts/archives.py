"""Packed charts: reads a .tgz into memory within limits; never writes a file.

The checks are Helm's (names, sizes) and more: links that lead outside, irregular files, several roots, and high
compression ratios are refused; nested archives share one budget.
"""

from __future__ import annotations

import gzip
import io
import posixpath
import re
import struct
import zlib
from typing import Final, NamedTuple

from kymatui.errors import HelmError
from kymatui.helm.govalues.quoting import quote
from kymatui.helm.yaml.limits import YamlBudget
from kymatui.tar_entries import TarEntry, TarFormatError, TarKind, read_content, read_entries

MIB: Final = 1 << 20
MAX_CHART: Final = 100 * MIB
MAX_FILE: Final = 5 * MIB
MAX_ENTRIES: Final = 20_000
MAX_RATIO: Final = 200
"""How many bytes one packed byte may become, once more than FREE_SIZE have come out."""
FREE_SIZE: Final = 8 * MIB

_BOM: Final = b"\xef\xbb\xbf"
_DRIVE: Final = re.compile(r"[a-zA-Z]:/")
_BROKEN: Final = (
    EOFError, zlib.error, struct.error, ValueError, OverflowError, IndexError, KeyError, OSError,
)  # fmt: skip


class ChartFile(NamedTuple):
    """A file of a chart: its path within the chart, with "/", and its content."""

    name: str
    data: bytes


class Budget:
    """The limits of one chart, shared by all archives within it, and by all of its YAML."""

    __slots__ = ("depth", "entries", "remaining", "yaml")

    def __init__(self) -> None:
        self.yaml = YamlBudget()
        self.remaining = MAX_CHART
        self.entries = MAX_ENTRIES
        self.depth = 16

    def take(self, size: int) -> None:
        self.remaining -= size
        self.entries -= 1
        if self.remaining < 0:
            raise HelmError(f"decompressed chart is larger than the maximum size {MAX_CHART}")
        if self.entries < 0:
            raise HelmError(f"chart has more than {MAX_ENTRIES} files")


def is_gzip(data: bytes) -> bool:
    return data.startswith(b"\x1f\x8b\x08")


def read_archive(data: bytes, budget: Budget | None = None) -> list[ChartFile]:
    """Return the files of a packed chart, with paths below its root folder. Raise HelmError."""
    budget = budget or Budget()
    if not is_gzip(data):
        raise HelmError("gzip: invalid header", hint="A packed chart is a gzipped tar archive (.tgz).")
    files: list[ChartFile] = []
    roots: set[str] = set()
    try:
        archive = _unpack(data, budget)
        for entry in read_entries(archive):
            if entry.kind is TarKind.FOLDER:
                continue
            _check_entry(entry, budget)
            name, root = _path(entry.name)
            roots.add(root)
            if len(roots) > 1:
                raise HelmError(f"chart archive has more than one root: {', '.join(map(quote, sorted(roots)))}")
            content = read_content(archive, entry)
            budget.take(len(content))
            files.append(ChartFile(name, content.removeprefix(_BOM)))
    except TarFormatError as error:
        raise HelmError(f"chart archive {error}") from error
    except _BROKEN as error:
        raise HelmError(f"chart archive is damaged: {error}") from error
    if not files:
        raise HelmError("no files in chart archive")
    return files


def _unpack(data: bytes, budget: Budget) -> io.BytesIO:
    """Return the uncompressed tar within limits; tar headers count about as much as small files."""
    limit = budget.remaining + 2048 * MAX_ENTRIES
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
        while chunk := packed.read(MIB):
            out.write(chunk)
            size = out.tell()
            if size > limit:
                raise HelmError(f"decompressed chart is larger than the maximum size {MAX_CHART}")
            if size > FREE_SIZE and size > MAX_RATIO * len(data):
                raise HelmError(f"chart archive unpacks to more than {MAX_RATIO} times its size")
    out.seek(0)
    return out


def _check_entry(entry: TarEntry, budget: Budget) -> None:
    if entry.size > budget.remaining:
        raise HelmError(f"decompressed chart is larger than the maximum size {MAX_CHART}")
    if entry.size > MAX_FILE:
        raise HelmError(f"decompressed chart file {quote(entry.name)} is larger than the maximum file size {MAX_FILE}")
    if entry.kind in (TarKind.LINK, TarKind.SYMLINK):
        target = entry.target.replace("\\", "/")
        base = posixpath.dirname(entry.name) if entry.kind is TarKind.SYMLINK else ""
        resolved = posixpath.normpath(posixpath.join(base, target))
        if target.startswith("/") or _DRIVE.match(target) or resolved.split("/")[0] == "..":
            raise HelmError(f"chart archive has a link that leads out of it: {quote(entry.name)}")
    elif entry.kind is not TarKind.FILE:
        raise HelmError(f"chart archive has an irregular file: {quote(entry.name)}")


def _path(name: str) -> tuple[str, str]:
    """Return (path below the root, root) of an entry name. Raise HelmError with Helm's message."""
    delimiter = "\\" if "\\" in name else "/"
    root, *rest = name.split(delimiter)
    path = delimiter.join(rest).replace(delimiter, "/")
    if name.startswith("/") or path.startswith("/"):
        raise HelmError("chart illegally contains absolute paths")
    path = posixpath.normpath(path) if path else "."
    if path == ".":
        raise HelmError(f"chart illegally contains content outside the base directory: {quote(name)}")
    if path.startswith("..") or root == "..":
        raise HelmError("chart illegally references parent directory")
    if _DRIVE.match(path) or _DRIVE.match(name):
        raise HelmError("chart contains illegally named files")
    if root == "Chart.yaml":
        raise HelmError("chart yaml not in base directory")
    return path, root
