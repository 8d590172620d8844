"""Cache of template sets: recent ones in memory, compiled code in a folder.

The name of a file is the digest of all its inputs: paths, texts, functions, versions of the compiler and of Python.
See `storing` for the required owner of the folder.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from kymatui.helm.govalues.text import from_bytes, to_bytes
from kymatui.helm.govalues.types import Function
from kymatui.helm.language.storing import CodeFolder
from kymatui.helm.language.templates import TemplateSet
from kymatui.helm.language.units import Entry


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
            if (found := self._sets.get(key)) is not None:
                self._sets.move_to_end(key)
                return found
        entries, given = self._load(key)
        texts = {path: text if isinstance(text, str) else from_bytes(text) for path, text in files.items()}
        made = TemplateSet.parse(texts, self.functions, entries, given)
        made.key = key
        with self._lock:
            self._kept[key] = _compiled(entries or {}), frozenset(given)
            self._sets[key] = made
            while len(self._sets) > self.size:
                old, _ = self._sets.popitem(last=False)
                self._kept.pop(old, None)
        return made

    def keep(self, templates: TemplateSet) -> None:
        """Store the newly compiled templates of a set; an unwritable folder is no error."""
        if self.folder is None:
            return
        key = templates.key
        with self._lock:
            kept, known = self._kept.get(key, (0, frozenset()))
        entries, given = templates.entries(), templates.text_entries()
        compiled = _compiled(entries)
        if compiled > kept or not known.issuperset(given):
            self.folder.write(key, marshal.dumps((entries, given)))
            with self._lock:
                self._kept[key] = compiled, frozenset(given)

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
        entries, given = marshal.loads(content)  # noqa: S302 - CodeFolder knows who wrote it
        return entries, given


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
    """Return names, sizes and times of a folder's modules, as Python checks .pyc files."""
    found = [
        (entry.name, status.st_size, status.st_mtime_ns)
        for entry in os.scandir(folder)
        if entry.name.endswith(".py") and (status := entry.stat())
    ]
    return repr((folder, sorted(found))).encode()
