"""Cache of template sets: recent ones in memory, compiled code in a folder.

The name of a file is the digest of all its inputs: paths, texts, functions, versions of the compiler and of Python.
See `CodeFolder` for the required owner of the folder.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import stat
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final

from kymatui.helm.govalues.text import from_bytes, to_bytes
from kymatui.helm.govalues.types import Function
from kymatui.helm.language.templates import TemplateSet
from kymatui.helm.language.units import Entry
from kymatui.own_files import write_own

MOST_FILES: Final = 256
_DIGEST: Final = hashlib.sha256().digest_size
_NO_LINKS: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class TemplateCache:
    """Template sets by content. Threads and processes may share the folder."""

    def __init__(self, functions: Mapping[str, Function], *, size: int = 16, folder: Path | None = None) -> None:
        self.functions = functions
        self.size = size
        self.folder = CodeFolder(folder) if folder else None
        self._sets: OrderedDict[str, TemplateSet] = OrderedDict()
        self._kept: dict[str, tuple[int, frozenset[str]]] = {}
        self._lock = threading.Lock()

    def get(self, files: Mapping[str, str | bytes]) -> TemplateSet:
        """Return the set of the files {path: text}, parsed if necessary. Raise HelmError."""
        key = self.digest(files)
        with self._lock:
            if (cached := self._sets.get(key)) is not None:
                self._sets.move_to_end(key)
                return cached
        entries, text_entries = self._load(key)
        texts = {path: text if isinstance(text, str) else from_bytes(text) for path, text in files.items()}
        templates = TemplateSet.parse(texts, self.functions, entries, text_entries)
        templates.key = key
        with self._lock:
            self._kept[key] = _compiled(entries or {}), frozenset(text_entries)
            self._sets[key] = templates
            while len(self._sets) > self.size:
                old, _ = self._sets.popitem(last=False)
                self._kept.pop(old, None)
        return templates

    def keep(self, templates: TemplateSet) -> None:
        """Store the newly compiled templates of a set; an unwritable folder is no error."""
        if self.folder is None:
            return
        key = templates.key
        with self._lock:
            kept, known = self._kept.get(key, (0, frozenset()))
        entries, text_entries = templates.entries(), templates.text_entries()
        compiled = _compiled(entries)
        if compiled > kept or not known.issuperset(text_entries):
            self.folder.write(key, marshal.dumps((entries, text_entries)))
            with self._lock:
                self._kept[key] = compiled, frozenset(text_entries)

    def digest(self, files: Mapping[str, str | bytes]) -> str:
        """Return the digest of everything the code depends on, as a file name."""
        summary = hashlib.sha256(self._compiler)
        for path in sorted(files):
            for part in (path, files[path]):
                data = to_bytes(part) if isinstance(part, str) else part
                summary.update(len(data).to_bytes(8, "big") + data)
        return summary.hexdigest()

    @cached_property
    def _compiler(self) -> bytes:
        return _digest_compiler(self.functions)

    def _load(self, key: str) -> tuple[dict[str, list[Entry]] | None, dict[str, list[Entry]]]:
        """Return the stored templates of the files (None without any), and those of texts for `tpl`."""
        content = self.folder.read(key) if self.folder else None
        if content is None:
            return None, {}
        entries, text_entries = marshal.loads(content)  # noqa: S302 - CodeFolder knows who wrote it
        return entries, text_entries


def _compiled(entries: Mapping[str, list[Entry]]) -> int:
    return sum(code is not None for templates in entries.values() for _, _, code in templates)


def _digest_compiler(functions: Mapping[str, Function]) -> bytes:
    """Return the digest of function signatures, Python version and compiler version."""
    summary = hashlib.sha256(f"{sys.implementation.cache_tag} {sys.hexversion}".encode())
    summary.update(signature_of_sources(os.path.dirname(__file__)))
    if callable(fingerprint := getattr(functions, "fingerprint", None)):
        return summary.digest() + bytes(fingerprint())
    for name in sorted(functions):
        function = functions[name]
        signature = name, function.params, function.variadic, function.takes_environment
        summary.update(repr(signature).encode())
    return summary.digest()


def signature_of_sources(folder: str) -> bytes:
    """Return names, sizes and times of the modules below a folder, as Python checks .pyc files."""
    paths = []
    for directory, _, names in os.walk(folder):
        for path in (os.path.join(directory, name) for name in names if name.endswith(".py")):
            status = os.stat(path)
            paths.append((path, status.st_size, status.st_mtime_ns))
    return repr((folder, sorted(paths))).encode()


class CodeFolder:
    """Content by key. Threads and processes may share it: files are written aside and renamed.

    Write access to its files allows running Python as the user, as with folders of .pyc files. So the folder and its
    files must belong to the user and be unwritable for others; otherwise they are neither read nor written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, key: str) -> bytes | None:
        """Return the content of a key; None if it is missing or not trusted."""
        path = os.path.join(self.path, key)
        try:
            if not self._is_ours():
                return None
            with open(os.open(path, os.O_RDONLY | _NO_LINKS), "rb") as file:
                status = os.fstat(file.fileno())
                data = file.read() if stat.S_ISREG(status.st_mode) and _is_private(status) else b""
        except OSError:
            return None
        content = data[_DIGEST:]
        if hashlib.sha256(content).digest() != data[:_DIGEST]:
            return None
        with suppress(OSError):
            os.utime(path)
        return content

    def write(self, key: str, content: bytes) -> None:
        """Store content; create a missing folder, ignore one that is unwritable or not trusted."""
        with suppress(OSError):
            write_own(Path(self.path, key), hashlib.sha256(content).digest() + content)
            self._prune()

    def _is_ours(self) -> bool:
        status = os.lstat(self.path)
        return stat.S_ISDIR(status.st_mode) and _is_private(status)

    def _prune(self) -> None:
        """Delete the least recently used files."""
        names = os.listdir(self.path)
        if len(names) <= MOST_FILES:
            return
        paths = [os.path.join(self.path, name) for name in names]
        for path in sorted(paths, key=os.path.getmtime)[: len(paths) - MOST_FILES]:
            os.unlink(path)


def _is_private(status: os.stat_result) -> bool:
    """Return whether only the user can write it. Outside POSIX, the user profile is protected by default."""
    return os.name != "posix" or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)
