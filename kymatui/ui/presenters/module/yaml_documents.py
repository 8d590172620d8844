"""Objects as YAML in the usual order, without noise, and never with the data of a Secret."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from kymatui.domain.kubernetes.object_meta import LAST_APPLIED
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.errors import ForbiddenError, KymatuiError, NotFoundError
from kymatui.ui.viewmodels.display_text import clock_time

_FIRST = ("apiVersion", "kind", "metadata", "spec", "data", "status")


def as_yaml(value: Mapping[str, Any]) -> str:
    """Return the object as YAML without managedFields; Secret values are replaced by their length."""
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    body = yaml.dump(_readable(value), Dumper=dumper, sort_keys=False, allow_unicode=True, width=10_000)
    return str(body)


def _readable(value: Mapping[str, Any]) -> dict[str, Any]:
    keys = [*(key for key in _FIRST if key in value), *(key for key in value if key not in _FIRST)]
    readable = {key: value[key] for key in keys}
    metadata = readable.get("metadata")
    if isinstance(metadata, Mapping):
        readable["metadata"] = {key: item for key, item in metadata.items() if key != "managedFields"}
    if readable.get("kind") == "Secret":
        readable["metadata"] = _without_applied(readable.get("metadata"))
        for part in ("data", "stringData"):
            if isinstance(readable.get(part), Mapping):
                readable[part] = {
                    key: f"({format_count(len(str(item)), 'character')})" for key, item in readable[part].items()
                }
    return readable


def _without_applied(metadata: object) -> object:
    """Return a Secret's metadata without its data, which `kubectl apply` repeats in an annotation."""
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if not isinstance(metadata, Mapping) or not isinstance(annotations, Mapping) or LAST_APPLIED not in annotations:
        return metadata
    hidden = f"({format_count(len(str(annotations[LAST_APPLIED])), 'character')})"
    return {**metadata, "annotations": {**annotations, LAST_APPLIED: hidden}}


class DocumentReading(Enum):
    """How the content of an object is known."""

    WATCHED = "watched"
    LOADING = "loading"
    READ = "read"
    GONE = "gone"
    FORBIDDEN = "forbidden"
    FAILED = "failed"


def reading_of(error: KymatuiError) -> DocumentReading:
    """Return the meaning of an error for the requested object."""
    if isinstance(error, NotFoundError):
        return DocumentReading.GONE
    return DocumentReading.FORBIDDEN if isinstance(error, ForbiddenError) else DocumentReading.FAILED


def reading_line(
    reading: DocumentReading, error: str, *, at: float, has_body: bool, is_secret: bool
) -> tuple[str, str]:
    """Return the line above an object with its tone: its source, and what to do if it is unknown."""
    hidden = "; kymatui does not read a Secret's data" if is_secret else ""
    last = f"; last read at {clock_time(at)} UTC" if has_body else ""
    match reading:
        case DocumentReading.WATCHED:
            return f"watched{hidden}", "muted"
        case DocumentReading.LOADING:
            return f"loading{last}", "processing"
        case DocumentReading.READ:
            return f"read at {clock_time(at)} UTC{hidden}; ctrl-r reads it again", "muted"
        case DocumentReading.GONE:
            return f"not found: {sanitize(error)}{last}", "warning"
        case DocumentReading.FORBIDDEN:
            return f"forbidden: {sanitize(error)}{last}", "warning"
        case DocumentReading.FAILED:
            return f"cannot be read: {sanitize(error)}{last}; ctrl-r retries", "error"
