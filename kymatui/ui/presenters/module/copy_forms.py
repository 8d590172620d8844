"""What can be copied of a line: its object's name, a kubectl command, a JSON path."""

from __future__ import annotations

import json
from shlex import quote

from msgspec import Struct

from kymatui.domain.kubernetes.refs import ObjectRef


class LineSubject(Struct, frozen=True):
    """What a line is about; `ref` is the object whose YAML can be copied, None without one."""

    name: str
    kubectl: str = ""
    path: str = ""
    ref: ObjectRef | None = None


def object_subject(ref: ObjectRef, context: str, path: str = "") -> LineSubject:
    """Return the subject of a line about an object, or about the field of it at `path` ("status.state").

    Without a field, the path finds the object in a list. `context` is "" where no context leads to the cluster.
    """
    if path:
        field = "{." + path.removeprefix("$").removeprefix(".") + "}"
        return LineSubject(path, f"{_get(ref, context)} -o jsonpath={quote(field)}", field, ref)
    return LineSubject(
        ref.name, f"{_get(ref, context)} -o yaml", f"{{.items[?(@.metadata.name=={_text(ref.name)})]}}", ref
    )


def module_subject(module: str, kyma: ObjectRef | None, cr: ObjectRef | None, context: str) -> LineSubject:
    """Return the subject of a line about a module: its status in the Kyma, and the YAML of its module CR."""
    path = f"{{.status.modules[?(@.name=={_text(module)})]}}"
    command = f"{_get(kyma, context)} -o jsonpath={quote(path)}" if kyma is not None else ""
    return LineSubject(module, command, path if kyma is not None else "", cr)


def _get(ref: ObjectRef, context: str) -> str:
    words = ["kubectl"]
    words += ["--context", quote(context)] if context else []
    words += ["-n", quote(ref.namespace)] if ref.namespace else []
    kind = f"{ref.kind.kind.lower()}.{ref.kind.group}" if ref.kind.group else ref.kind.kind.lower()
    return " ".join([*words, "get", quote(kind), quote(ref.name)])


def _text(name: str) -> str:
    """Return a name as kubectl's JSONPath reads it, in double quotes."""
    return json.dumps(name, ensure_ascii=False)
