"""CRDs and custom resources checked by the rules of the sandbox's API server."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from kymatui.engine.cluster.ports import Object
from kymatui.publishing.lint_rules import FieldFault
from kymatui.schemas.customresources.crd_rules import validate_definition
from kymatui.schemas.customresources.custom_resource_rules import custom_errors
from kymatui.schemas.objects.pruning import read_custom
from kymatui.schemas.objects.schema_constraints import UNCHECKED
from kymatui.schemas.objects.structural_schemas import crd_schema
from kymatui.schemas.objects.typed_decoding import DecodeError


class ServerRules:
    """Implements `CrdCheck`."""

    def definition(self, crd: Object) -> Sequence[str]:
        """Return what the server would refuse of a CRD, after its defaults."""
        definition = copy.deepcopy(crd)
        spec = definition.get("spec")
        if definition.get("apiVersion") != "apiextensions.k8s.io/v1":
            return [f"apiVersion: {definition.get('apiVersion')} is not served; use apiextensions.k8s.io/v1"]
        if not isinstance(spec, dict):
            return ["spec: must be a map"]
        names = spec.get("names")
        if isinstance(names, dict) and isinstance(names.get("kind"), str):
            names.setdefault("singular", names["kind"].lower())
            names.setdefault("listKind", f"{names['kind']}List")
        conversion = spec.setdefault("conversion", {})
        if isinstance(conversion, dict):
            conversion.setdefault("strategy", "None")
        try:
            return list(map(str, validate_definition(definition)))
        except (AttributeError, KeyError, TypeError, ValueError):  # a field of another type, which a decoder refuses
            return ["spec: a field has the wrong type"]

    def resource(self, crd: Object, custom_resource: Object) -> Sequence[FieldFault]:
        """Return what the server would refuse or drop of a custom resource of this CRD."""
        version = str(custom_resource["apiVersion"]).rpartition("/")[2]
        versions: list[dict[str, Any]] = crd["spec"].get("versions") or []
        served = {served_version["name"]: served_version for served_version in versions if served_version.get("served")}
        if version not in served:
            message = f"apiVersion: {version} is not served; the CRD serves {', '.join(served) or 'no version'}"
            return [FieldFault("apiVersion", message)]
        schema = crd_schema((served[version].get("schema") or {}).get("openAPIV3Schema"))
        try:
            pruned, unknown = read_custom(schema, copy.deepcopy(custom_resource))
        except DecodeError as error:
            return [FieldFault("", str(error))]
        errors = [
            FieldFault(fault.field, str(fault)) for fault in custom_errors(schema, pruned, None) if fault != UNCHECKED
        ]
        return [*errors, *(FieldFault(path, f"{path}: is not a field of the CRD") for path in unknown)]
