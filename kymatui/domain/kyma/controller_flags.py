"""lifecycle-manager's configuration, read from its Deployment: maintenance policy and flags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.maintenance_windows import MIN_DURATION
from kymatui.moments import parse_duration

POLICY_FOLDER = "/etc/maintenance-policy"
POLICY_KEY = "policy.json"
_RESTRICTED = "restricted-default-modules"
_LEAST = "min-maintenance-window-size"


class ControllerFlags(Struct, frozen=True):
    """The configuration; `policy` is a ConfigMap's name, "" if not mounted; `least` is in seconds."""

    deployment: ObjectRef
    policy: str
    least: float
    restricted: frozenset[str]


def read_controller_flags(raw: Mapping[str, Any]) -> ControllerFlags | None:
    """Read the configuration from a Deployment, None if it is not lifecycle-manager's."""
    pod = JsonReader(raw).child("spec").child("template").child("spec")
    containers = pod.children("containers")
    flags = {name: value for container in containers for name, value in _flags(container)}
    volumes = [
        mount.text("name")
        for container in containers
        for mount in container.children("volumeMounts")
        if mount.text("mountPath").rstrip("/") == POLICY_FOLDER
    ]
    policy = next(
        (
            volume.child("configMap").text("name")
            for volume in pod.children("volumes")
            if volume.text("name") in volumes and volume.child("configMap").text("name")
        ),
        "",
    )
    if not policy and not flags.keys() & {_RESTRICTED, _LEAST} and not _is_named_so(raw):
        return None
    names = (name.strip() for name in flags.get(_RESTRICTED, "").split(","))
    return ControllerFlags(
        read_ref(raw), policy, parse_duration(flags.get(_LEAST, "")) or MIN_DURATION, frozenset(filter(None, names))
    )


def _is_named_so(raw: Mapping[str, Any]) -> bool:
    """Return whether the label or the default name identifies lifecycle-manager."""
    meta = JsonReader(raw).child("metadata")
    labelled = meta.labels("labels").get("app.kubernetes.io/name") == "lifecycle-manager"
    return labelled or meta.text("name") == "klm-controller-manager"


def _flags(container: JsonReader) -> Iterator[tuple[str, str]]:
    """Yield flags of `--name=value` and `--name value` with one or two dashes, as Go parses them."""
    words = [*container.texts("command")[1:], *container.texts("args")]
    for word, after in pairwise((*words, "")):
        if word.startswith("-"):
            name, sign, value = word.lstrip("-").partition("=")
            yield name, value if sign else after
