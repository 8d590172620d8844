"""Functions on slash-separated paths as in Go's path package; they read no file system.

The "os" functions are the same, because charts are rendered as by Helm on Linux.
"""

from __future__ import annotations

from typing import Final

from kymatui.helm.functions.declaring import declare, table


def clean(path: str) -> str:
    """Return the shortest equivalent path."""
    if not path:
        return "."
    rooted = path.startswith("/")
    parts: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            parts.append(part)
        elif parts and parts[-1] != "..":
            parts.pop()
        elif not rooted:
            parts.append(part)
    cleaned = "/".join(parts)
    return f"/{cleaned}" if rooted else cleaned or "."


def base(path: str) -> str:
    """Return the last element."""
    if not path:
        return "."
    stripped = path.rstrip("/")
    return stripped.rpartition("/")[2] if stripped else "/"


def directory(path: str) -> str:
    """Return all but the last element, cleaned."""
    return clean(path[: path.rfind("/") + 1])


def extension(path: str) -> str:
    """Return the last element's text from its last dot on."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return name[dot:] if dot >= 0 else ""


def is_absolute(path: str) -> bool:
    return path.startswith("/")


FUNCTIONS: Final = table(
    (
        declare("base(string)", base),
        declare("dir(string)", directory),
        declare("clean(string)", clean),
        declare("ext(string)", extension),
        declare("isAbs(string)", is_absolute),
        declare("osBase(string)", base),
        declare("osDir(string)", directory),
        declare("osClean(string)", clean),
        declare("osExt(string)", extension),
        declare("osIsAbs(string)", is_absolute),
    )
)
