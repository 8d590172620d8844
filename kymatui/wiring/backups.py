"""What is deleted, as YAML: written before it goes, and created again from it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kymatui.domain.objects import read_ref
from kymatui.domain.refs import ObjectRef
from kymatui.errors import (
    CancelledError,
    ConfigurationError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
)

if TYPE_CHECKING:
    from kymatui.engine.ports import Cluster

Object = dict[str, Any]
_LOOK = 0.5  # seconds between two looks for a kind that is not served yet


def write_backup(path: Path, refs: Iterable[ObjectRef], cluster: Cluster, heading: Sequence[str]) -> tuple[int, int]:
    """Keeps these objects as they are; how many, and how many Secrets are kept without their data.

    `heading` are lines of comment at the top.

    Raises ConfigurationError where the file cannot be written: then nothing is deleted.
    """
    from kymatui.engine.concurrency import each
    from kymatui.engine.ordering import clean
    from kymatui.wiring.dumping import dump_documents
    from kymatui.wiring.files import keep_secret

    read = each(list(refs), cluster.get, threading.Event())
    live = [body for body in read if body is not None]
    bodies = [clean(_without_secrets(body), None, "") for body in live]
    secrets = sum(body.get("kind") == "Secret" for body in bodies)
    text = dump_documents(bodies)
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


@dataclass(frozen=True, slots=True)
class Restored:
    """What came of a restoration; `failed` has the reasons."""

    made: tuple[ObjectRef, ...] = ()
    there: tuple[ObjectRef, ...] = ()
    failed: tuple[tuple[ObjectRef, str], ...] = ()


def present(objects: Sequence[Object], cluster: Cluster) -> tuple[ObjectRef, ...]:
    """Those that are there already; nothing is written."""
    from kymatui.engine.concurrency import each

    refs = [read_ref(body) for body in objects]
    live = each(refs, cluster.get, threading.Event())
    return tuple(ref for ref, body in zip(refs, live, strict=True) if body is not None)


def restore(
    objects: Sequence[Object],
    cluster: Cluster,
    *,
    tell: Callable[[str], None] = lambda words: None,
    cancel: threading.Event | None = None,
    timeout: float = 0.0,
) -> Restored:
    """Creates what is missing, in the order of installation, and leaves what is there as it is.

    What cannot be created keeps nothing else from it. A kind or a namespace that is not there yet is waited for, all in
    all `timeout` seconds. Raises CancelledError, which says how far it came; a second run goes on there.
    """
    from kymatui.engine.ordering import waves

    stop, deadline = cancel or threading.Event(), time.monotonic() + timeout
    made: list[ObjectRef] = []
    there: list[ObjectRef] = []
    failed: list[tuple[ObjectRef, str]] = []
    for wave in waves(list(objects)):
        for body in wave:
            if stop.is_set():
                raise CancelledError(
                    f"stopped: {len(made)} of {len(objects)} objects were created, and stay",
                    hint="restore again to go on",
                )
            ref = read_ref(body)
            try:
                is_new = _create(body, cluster, stop, deadline)
            except (NotFoundError, InvalidError, ForbiddenError) as error:
                failed.append((ref, str(error)))
            else:
                (made if is_new else there).append(ref)
                tell(f"{ref} {'created' if is_new else 'is there already'}")
        cluster.forget_kinds()
    return Restored(tuple(made), tuple(there), tuple(failed))


def _create(body: Object, cluster: Cluster, stop: threading.Event, deadline: float) -> bool:
    """Whether it was created; False where it is there."""
    while True:
        try:
            cluster.create(body)
        except ConflictError:
            return False
        except NotFoundError:
            if time.monotonic() >= deadline or stop.wait(_LOOK):
                raise
            cluster.forget_kinds()
        else:
            return True
