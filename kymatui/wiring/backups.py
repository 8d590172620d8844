"""What is deleted, as YAML: written before it goes, and created again from it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kymatui.domain.objects import read_ref
from kymatui.domain.refs import ObjectRef
from kymatui.errors import ConfigurationError, ConflictError

if TYPE_CHECKING:
    from kymatui.engine.ports import Cluster

Object = dict[str, Any]


def write_backup(path: Path, refs: Iterable[ObjectRef], cluster: Cluster, heading: Sequence[str]) -> tuple[int, int]:
    """Keeps these objects as they are; how many, and how many Secrets are kept without their data.

    `heading` are lines of comment at the top.

    Raises ConfigurationError where the file cannot be written: then nothing is deleted.
    """
    import yaml

    from kymatui.engine.concurrency import each
    from kymatui.engine.ordering import clean
    from kymatui.wiring.files import keep_secret

    read = each(list(refs), cluster.get, threading.Event())
    live = [body for body in read if body is not None]
    bodies = [clean(_without_secrets(body), None, "") for body in live]
    secrets = sum(body.get("kind") == "Secret" for body in bodies)
    text = yaml.safe_dump_all(bodies, sort_keys=False, allow_unicode=True)
    comments = "".join(f"# {line}\n" for line in heading)
    keep_secret(path, f"{comments}{text}".encode())
    return len(bodies), secrets


def _without_secrets(body: Object) -> Object:
    """A Secret's values are written nowhere."""
    if body.get("kind") != "Secret" or body.get("apiVersion") != "v1":
        return body
    return {key: value for key, value in body.items() if key not in ("data", "stringData")}


def read_backup(path: Path) -> list[Object]:
    """The objects of a backup. Raises ConfigurationError that names file and line."""
    from kymatui.engine.sources.reading import read_objects

    try:
        return read_objects(path.read_bytes(), str(path))
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}") from error


def restore(objects: Sequence[Object], cluster: Cluster) -> tuple[list[ObjectRef], list[ObjectRef]]:
    """Creates what is missing, in the order of installation; what was created, and what was there."""
    from kymatui.engine.ordering import waves

    made, there = [], []
    for wave in waves(list(objects)):
        for body in wave:
            ref = read_ref(body)
            try:
                cluster.create(body)
            except ConflictError:
                there.append(ref)
            else:
                made.append(ref)
        cluster.forget_kinds()
    return made, there
