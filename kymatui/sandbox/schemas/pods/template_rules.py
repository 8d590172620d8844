"""Validation of ReplicationControllers, PodTemplates and ControllerRevisions."""

from __future__ import annotations

from kymatui.sandbox.schemas.pods.workload_rules import validate_template
from kymatui.schemas.objects.object_meta_rules import immutable, not_negative
from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import ApiFieldError, invalid_value, required

Errors = list[ApiFieldError]


def validate_replication_controller(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    errors = not_negative(spec, "replicas", "minReadySeconds", at="spec")
    selector, template = spec.get("selector") or {}, spec.get("template")
    if not selector:
        errors.append(required("spec.selector"))
    if template is None:
        return [*errors, required("spec.template")]
    labels: Object = (template.get("metadata") or {}).get("labels") or {}
    if selector and not selector.items() <= labels.items():
        text = "`selector` does not match template `labels`"
        errors.append(invalid_value("spec.template.metadata.labels", labels, text))
    return errors + validate_template(template, "spec.template")


def validate_pod_template(obj: Object) -> Errors:
    return validate_template(obj.get("template") or {}, "template")


def validate_revision(obj: Object) -> Errors:
    """Return the errors of a ControllerRevision."""
    errors = not_negative(obj, "revision", at="")
    return errors if obj.get("data") is not None else [*errors, required("data", "data is mandatory")]


def validate_revision_update(new: Object, old: Object) -> Errors:
    return immutable(new.get("data"), old.get("data"), "data")
