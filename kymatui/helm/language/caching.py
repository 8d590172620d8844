"""Sets of templates that are kept: the last used ones in memory, and their compiled code in a folder.

A file of the folder is named by the digest of everything that went into it (paths, texts, functions, this version of
the compiler and of Python), and begins with the digest of its content. The content is Python code: the folder must be
the user's own, as it is made here (mode 700), like the folders of .pyc files.
"""

from __future__ import annotations

import hashlib
import marshal
import os
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

_DIGEST: Final = hashlib.sha256().digest_size
MOST_FILES: Final = 256


class TemplateCache:
    """Template sets by what they are made of. Threads and processes may share the folder."""

    def __init__(self, functions: Mapping[str, Function], *, size: int = 16, folder: Path | None = None) -> None:
        self.functions = functions
        self.size = size
        self.folder = folder
        self._sets: OrderedDict[str, TemplateSet] = OrderedDict()
        self._kept: dict[str, int] = {}
        self._lock = threading.Lock()

    def get(self, files: Mapping[str, str | bytes]) -> TemplateSet:
        """The set of these files {path: text}, parsed if it must be; HelmError where that fails."""
        key = self.digest(files)
        with self._lock:
            if (found := self._sets.get(key)) is not None:
                self._sets.move_to_end(key)
                return found
        entries = self._load(key)
        texts = {path: text if isinstance(text, str) else from_bytes(text) for path, text in files.items()}
        made = TemplateSet.parse(texts, self.functions, entries)
        made.key = key
        with self._lock:
            self._kept[key] = _compiled(entries or {})
            self._sets[key] = made
            while len(self._sets) > self.size:
                old, _ = self._sets.popitem(last=False)
                self._kept.pop(old, None)
        return made

    def keep(self, templates: TemplateSet) -> None:
        """Writes what has been compiled of a set since it was read; a folder that cannot be written is no error."""
        if self.folder is None:
            return
        key = templates.key
        with self._lock:
            kept = self._kept.get(key, 0)
        entries = templates.entries()
        compiled = _compiled(entries)
        if compiled > kept:
            with suppress(OSError):
                self._write(self.folder, key, marshal.dumps(entries))
                self._prune(self.folder)
            with self._lock:
                self._kept[key] = compiled

    def digest(self, files: Mapping[str, str | bytes]) -> str:
        """What the code of these files depends on, as a file's name."""
        summary = hashlib.sha256(self._compiler)
        for path in sorted(files):
            for part in (path, files[path]):
                data = to_bytes(part) if isinstance(part, str) else part
                summary.update(len(data).to_bytes(8, "big") + data)
        return summary.hexdigest()

    @cached_property
    def _compiler(self) -> bytes:
        return _digest_compiler(self.functions)

    def _load(self, key: str) -> dict[str, list[Entry]] | None:
        if self.folder is None:
            return None
        path = self.folder / key
        try:
            data = path.read_bytes()
        except OSError:
            return None
        content = data[_DIGEST:]
        if hashlib.sha256(content).digest() != data[:_DIGEST]:
            return None
        entries: dict[str, list[Entry]] = marshal.loads(content)  # noqa: S302 - written by this class, for this user
        with suppress(OSError):
            os.utime(path)
        return entries

    @staticmethod
    def _write(folder: Path, key: str, content: bytes) -> None:
        import tempfile

        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=".")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(hashlib.sha256(content).digest() + content)
            Path(name).replace(folder / key)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise

    @staticmethod
    def _prune(folder: Path) -> None:
        """The files that were not used for the longest time make room."""
        files = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
        for path in files[: max(0, len(files) - MOST_FILES)]:
            path.unlink(missing_ok=True)


def _compiled(entries: Mapping[str, list[Entry]]) -> int:
    return sum(code is not None for templates in entries.values() for _, _, code in templates)


def _digest_compiler(functions: Mapping[str, Function]) -> bytes:
    """The functions' signatures, this Python, and this version of the compiler."""
    summary = hashlib.sha256(f"{sys.implementation.cache_tag} {sys.hexversion}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        summary.update(path.read_bytes())
    if callable(fingerprint := getattr(functions, "fingerprint", None)):
        return summary.digest() + bytes(fingerprint())
    for name in sorted(functions):
        function = functions[name]
        signature = name, function.params, function.variadic, function.takes_environment
        summary.update(repr(signature).encode())
    return summary.digest()
