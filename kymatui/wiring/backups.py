"""What is deleted, as YAML: written before it goes, and created again from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kymatui.domain.objects import read_ref
from kymatui.domain.refs import ObjectRef
from kymatui.errors import ConfigurationError, ConflictError

if TYPE_CHECKING:
    from kymatui.engine.ports import Cluster
    from kymatui.engine.removals import Removal

Object = dict[str, Any]


def write_backup(path: Path, found: Removal, cluster: Cluster) -> tuple[int, int]:
    """Keeps every object that a removal may delete; how many, and how many Secrets are kept without their data.

    Raises ConfigurationError where the file cannot be written: then nothing is deleted.
    """
    import yaml

    from kymatui.engine.ordering import clean
    from kymatui.wiring.files import keep_secret

    refs = [*(one.ref for one in found.remaining.instances), *(step.ref for step in found.deletions)]
    live = [body for ref in dict.fromkeys(refs) if (body := cluster.get(ref)) is not None]
    bodies = [clean(_without_secrets(body), None, "") for body in live]
    secrets = sum(body.get("kind") == "Secret" for body in bodies)
    text = yaml.safe_dump_all(bodies, sort_keys=False, allow_unicode=True)
    keep_secret(path, text.encode())
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
