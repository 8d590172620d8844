"""Validation of pod updates: the few fields that may change."""

from __future__ import annotations

from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import ApiFieldError, forbidden
from kymatui.schemas.values.json_copy import copy_json

_TEXT = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def validate_pod_update(new: Object, old: Object) -> list[ApiFieldError]:
    spec, stored = copy_json(new["spec"]), copy_json(old["spec"])
    count = len(spec.get("containers") or ())
    if count != len(stored.get("containers") or ()):
        return [forbidden("spec.containers", "pod updates may not add or remove containers")]
    for pod_spec in (spec, stored):
        pod_spec.pop("activeDeadlineSeconds", None)
        for name in ("containers", "initContainers"):
            for container in pod_spec.get(name) or ():
                container.pop("image", None)
    old_tolerations, tolerations = stored.pop("tolerations", None) or [], spec.pop("tolerations", None) or []
    errors: list[ApiFieldError] = []
    if any(toleration not in tolerations for toleration in old_tolerations):
        errors.append(
            forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
        )
    if spec != stored:
        errors.append(forbidden("spec", _TEXT))
    return errors
