"""Validation of persistent volumes, CSI drivers, CSI nodes and attachments."""

from __future__ import annotations

from kymatui.schemas.objects.object_meta_rules import immutable, one_of
from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import (
    ApiFieldError,
    duplicate,
    forbidden,
    invalid_value,
    required,
    unsupported,
)
from kymatui.schemas.values.name_rules import dns_subdomain
from kymatui.schemas.values.quantity import amount

Errors = list[ApiFieldError]
_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_NO_SOURCES = frozenset(
    (
        "capacity",
        "accessModes",
        "claimRef",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "mountOptions",
        "volumeMode",
        "nodeAffinity",
        "volumeAttributesClassName",
    )
)
_NEEDED = {"csi": ("driver", "volumeHandle"), "hostPath": ("path",), "local": ("path",), "nfs": ("server", "path")}


def validate_volume(obj: Object) -> Errors:
    """Return the errors of a PersistentVolume."""
    spec: Object = obj["spec"]
    modes: list[str] = spec.get("accessModes") or []
    errors = [] if modes else [required("spec.accessModes")]
    errors += [unsupported("spec.accessModes", mode, _MODES) for mode in modes if mode not in _MODES]
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        text = "may not use ReadWriteOncePod with other access modes"
        errors.append(forbidden("spec.accessModes", text))
    errors += _validate_capacity(spec.get("capacity"))
    errors += one_of(spec, "persistentVolumeReclaimPolicy", ("Delete", "Recycle", "Retain"), "spec")
    errors += _validate_sources(spec)
    name = spec.get("storageClassName") or ""
    errors += [
        invalid_value("spec.storageClassName", name, problem) for problem in (dns_subdomain(name) if name else ())
    ]
    return errors + one_of(spec, "volumeMode", ("Block", "Filesystem"), "spec")


def _validate_capacity(capacity: Object | None) -> Errors:
    errors = [] if capacity else [required("spec.capacity")]
    if not capacity or set(capacity) != {"storage"}:
        errors.append(unsupported("spec.capacity", capacity, ("storage",)))
    for name, value in (capacity or {}).items():
        if amount(value) <= 0:
            errors.append(invalid_value(f"spec.capacity[{name}]", value, "must be greater than zero"))
    return errors


def _validate_sources(spec: Object) -> Errors:
    sources = [name for name in spec if name not in _NO_SOURCES and spec[name] is not None]
    if not sources:
        return [required("spec", "must specify a volume type")]
    errors: Errors = []
    for index, source in enumerate(sources):
        at = f"spec.{source}"
        if index:
            errors.append(forbidden(at, "may not specify more than 1 volume type"))
            continue
        volume_source: Object = spec[source]
        errors += [required(f"{at}.{name}") for name in _NEEDED.get(source, ()) if not volume_source.get(name)]
        if ".." in (volume_source.get("path") or "").split("/"):
            errors.append(invalid_value(f"{at}.path", volume_source["path"], "must not contain '..'"))
    if "local" in sources and spec.get("nodeAffinity") is None:
        errors.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
    return errors


def validate_volume_update(new: Object, old: Object) -> Errors:
    """Return the errors of a changed source; a real server also adds a diff of its structs."""
    errors: Errors = []
    changed = [name for name in {**new["spec"], **old["spec"]} if new["spec"].get(name) != old["spec"].get(name)]
    if any(name not in _NO_SOURCES for name in changed):
        text = "spec.persistentvolumesource is immutable after creation"
        errors.append(forbidden("spec.persistentvolumesource", text))
    return errors + immutable(new["spec"].get("volumeMode"), old["spec"].get("volumeMode"), "spec.volumeMode")


def validate_driver(obj: Object) -> Errors:
    """Return the errors of a CSIDriver."""
    spec: Object = obj["spec"]
    choices = ("Persistent", "Ephemeral")
    errors = one_of(spec, "fsGroupPolicy", ("File", "None", "ReadWriteOnceWithFSType"), "spec")
    modes: list[str] = spec.get("volumeLifecycleModes") or []
    return errors + [unsupported("spec.volumeLifecycleModes", mode, choices) for mode in modes if mode not in choices]


def validate_driver_update(new: Object, old: Object) -> Errors:
    errors: Errors = []
    for name in ("attachRequired", "volumeLifecycleModes"):
        errors += immutable(new["spec"].get(name), old["spec"].get(name), f"spec.{name}")
    return errors


def validate_node_drivers(obj: Object) -> Errors:
    """Return the errors of a CSINode."""
    errors: Errors = []
    names: set[str] = set()
    for index, driver in enumerate(obj["spec"].get("drivers") or ()):
        at = f"spec.drivers[{index}]"
        errors += [required(f"{at}.{name}") for name in ("name", "nodeID") if not driver.get(name)]
        name = driver.get("name") or ""
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        names.add(name)
    return errors


def validate_attachment(obj: Object) -> Errors:
    """Return the errors of a VolumeAttachment."""
    spec: Object = obj["spec"]
    source: Object = spec.get("source") or {}
    errors = [] if spec.get("attacher") else [required("spec.attacher")]
    text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    sources = [name for name in ("inlineVolumeSpec", "persistentVolumeName") if source.get(name)]
    if not sources:
        errors.append(required("spec.source", text))
    elif len(sources) > 1:
        errors.append(forbidden("spec.source", text))
    node = spec.get("nodeName") or ""
    return errors + [invalid_value("spec.nodeName", node, problem) for problem in dns_subdomain(node)]


def validate_attachment_update(new: Object, old: Object) -> Errors:
    if new["spec"] == old["spec"]:
        return []
    source: Object = new["spec"].get("source") or {}
    shown = {"PersistentVolumeName": source.get("persistentVolumeName")}
    shown["InlineVolumeSpec"] = source.get("inlineVolumeSpec")
    spec = {"Attacher": new["spec"].get("attacher"), "Source": shown, "NodeName": new["spec"].get("nodeName")}
    return immutable(spec, None, "spec")
