"""Validation of CRDs (k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation).

The server validates its internal form, where parts that all versions share are at the top: `spec.validation`,
`spec.subresources`, `spec.additionalPrinterColumns` and `spec.selectableFields`.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from kymatui.schemas.customresources.crd_schema_rules import validate_document
from kymatui.schemas.objects.object_meta_rules import immutable
from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import ApiFieldError, forbidden, invalid_value, required, unsupported
from kymatui.schemas.values.name_rules import dns_old_label, dns_subdomain

Errors = list[ApiFieldError]
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_APPROVAL = "api-approved.kubernetes.io"
_SELECTABLE = ("boolean", "integer", "string")
_LONGEST_WARNING = 256


def validate_definition(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    name = obj["metadata"].get("name") or ""
    errors: Errors = []
    if name != f"{(spec.get('names') or {}).get('plural') or ''}.{spec.get('group') or ''}":
        errors.append(invalid_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    errors += validate_definition_spec(obj)
    storage = next((version.get("name") for version in spec.get("versions") or () if version.get("storage")), None)
    errors += _stored_versions(None if storage is None else [storage], spec.get("versions") or [])
    errors += _approval(obj["metadata"], spec.get("group") or "")
    if spec.get("preserveUnknownFields"):
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        errors.append(invalid_value("spec.preserveUnknownFields", True, text))
    return errors


def validate_definition_spec(obj: Object) -> Errors:
    """Return the errors of a new or changed spec."""
    spec: Object = obj["spec"]
    names: Object = spec.get("names") or {}
    versions: list[Object] = spec.get("versions") or []
    shared = _shared(versions)
    errors = _group(spec.get("group") or "") + _choice("spec.scope", spec.get("scope"), ("Cluster", "Namespaced"))
    errors += [
        required(f"spec.versions[{index}].schema.openAPIV3Schema")
        for index, version in enumerate(versions)
        if not (version.get("schema") or {}).get("openAPIV3Schema") and not _has_document(version)
    ]
    errors += _versions(spec.get("versions"), shared)
    errors += _names(names)
    if versions:
        errors += _shared_parts(versions, shared)
    return errors + _conversion(spec.get("conversion") or {})


def _has_document(version: Object) -> bool:
    """Return whether the version has a schema; an empty one counts."""
    return isinstance((version.get("schema") or {}).get("openAPIV3Schema"), dict)


def _shared(versions: list[Object]) -> frozenset[str]:
    """Return the parts that are equal in all versions."""
    return frozenset(
        part
        for part in ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
        if all(version.get(part) == versions[0].get(part) for version in versions)
    )


def _shared_parts(versions: list[Object], shared: frozenset[str]) -> Errors:
    first = versions[0]
    errors: Errors = []
    if "schema" in shared:
        errors += _document(first, "spec.validation", has_status=any(map(_has_status, versions)))
    if "subresources" in shared:
        errors += _subresources(first.get("subresources"), "spec.subresources")
    if "additionalPrinterColumns" in shared:
        errors += _columns(first, "spec")
    if "selectableFields" in shared:
        errors += _selectable(first, "spec")
    return errors


def _has_status(version: Object) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _document(version: Object, at: str, *, has_status: bool) -> Errors:
    document = (version.get("schema") or {}).get("openAPIV3Schema")
    return [] if document is None else validate_document(document, f"{at}.openAPIV3Schema", has_status=has_status)


def _group(group: str) -> Errors:
    if not group:
        return [required("spec.group")]
    problems = dns_subdomain(group)
    if problems:
        return [invalid_value("spec.group", group, ",".join(problems))]
    return [] if "." in group else [invalid_value("spec.group", group, "should be a domain with at least one dot")]


def _choice(at: str, value: Any, choices: tuple[str, ...]) -> Errors:
    if not value:
        return [required(at)]
    return [unsupported(at, value, choices)] if value not in choices else []


def _approval(metadata: Object, group: str) -> Errors:
    """Return the errors of protected groups (*.k8s.io), which need an approval annotation."""
    if not (group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))):
        return []
    value = (metadata.get("annotations") or {}).get(_APPROVAL) or ""
    at, see = f"metadata.annotations[{_APPROVAL}]", "https://github.com/kubernetes/enhancements/pull/1111"
    if not value:
        return [required(at, f'protected groups must have approval annotation "{_APPROVAL}", see {see}')]
    if value.startswith("unapproved") or urlsplit(value).netloc:
        return []
    text = "protected groups must have approval annotation "
    return [
        invalid_value(
            at, value, f'{text}"{_APPROVAL}" with either a URL or a reason starting with "unapproved", see {see}'
        )
    ]


# -- versions


def _versions(crd_versions: list[Object] | None, shared: frozenset[str]) -> Errors:
    errors: Errors = []
    versions = crd_versions or []
    for index, version in enumerate(versions):
        errors += _version(version, f"spec.versions[{index}]", shared)
    names = [version.get("name") or "" for version in versions]
    if len(set(names)) != len(names):
        errors.append(_versions_error(versions, shared, "must contain unique version names"))
    if sum(1 for version in versions if version.get("storage")) != 1:
        text = "must have exactly one version marked as storage version"
        errors.append(_versions_error(crd_versions, shared, text))
    if names and names[0]:
        errors += [invalid_value("spec.version", names[0], problem) for problem in dns_old_label(names[0])]
    return errors


def _version(version: Object, at: str, shared: frozenset[str]) -> Errors:
    name = version.get("name") or ""
    problems = dns_old_label(name)
    errors = [invalid_value(f"{at}.name", name, ",".join(problems))] if problems else []
    errors += _deprecation(version, at)
    if "schema" not in shared:
        errors += _document(version, f"{at}.schema", has_status=_has_status(version))
    if "subresources" not in shared:
        errors += _subresources(version.get("subresources"), f"{at}.subresources")
    if "additionalPrinterColumns" not in shared:
        errors += _columns(version, at)
    if "selectableFields" not in shared:
        errors += _selectable(version, at)
    return errors


def _deprecation(version: Object, at: str) -> Errors:
    warning, field = version.get("deprecationWarning"), f"{at}.deprecationWarning"
    if warning is None:
        return []
    errors: Errors = []
    if not version.get("deprecated"):
        errors.append(invalid_value(field, warning, "can only be set for deprecated versions"))
    if len(warning) > _LONGEST_WARNING:
        errors.append(invalid_value(field, warning, f"must be <= {_LONGEST_WARNING} characters long"))
    if not warning:
        errors.append(invalid_value(field, warning, "must not be an empty string"))
    return errors


def _versions_error(versions: list[Object] | None, shared: frozenset[str], text: str) -> ApiFieldError:
    """Return the error with the server's internal structs."""
    if versions is None:
        return invalid_value("spec.versions", None, text)
    shown = [
        {
            "Name": version.get("name") or "",
            "Served": bool(version.get("served")),
            "Storage": bool(version.get("storage")),
            "Deprecated": bool(version.get("deprecated")),
            "DeprecationWarning": version.get("deprecationWarning"),
            "Schema": None if "schema" in shared else version.get("schema"),
            "Subresources": None if "subresources" in shared else version.get("subresources"),
            "AdditionalPrinterColumns": None,
            "SelectableFields": None,
        }
        for version in versions
    ]
    value = json.dumps(shown, separators=(",", ":"))
    return ApiFieldError("Invalid", "spec.versions", f"Invalid value: {value}: {text}")


# -- names


def _names(names: Object) -> Errors:
    fields = ("plural", "singular", "kind", "listKind")
    errors = [required(f"spec.names.{name}") for name in fields if not names.get(name)]
    for name in fields:
        value = names.get(name) or ""
        folds = name in ("kind", "listKind")
        problems = dns_old_label(value.lower() if folds else value) if value else []
        if problems:
            text = ",".join(problems)
            text = f"may have mixed case, but should otherwise match: {text}" if folds else text
            errors.append(invalid_value(f"spec.names.{name}", value, text))
    for index, short in enumerate(names.get("shortNames") or ()):
        errors += [invalid_value(f"spec.names.shortNames[{index}]", short, problem) for problem in dns_old_label(short)]
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        errors.append(invalid_value("spec.names.listKind", names["listKind"], "kind and listKind may not be the same"))
    for index, category in enumerate(names.get("categories") or ()):
        errors += [
            invalid_value(f"spec.names.categories[{index}]", category, problem) for problem in dns_old_label(category)
        ]
    return errors


# -- subresources, columns, selectable fields


def _path(path: str, at: str) -> Errors:
    """Return the errors of a simple JSON path: fields separated by dots."""
    if not path.startswith("."):
        return [invalid_value(at, path, "must be a simple json path starting with .")]
    return []


def _under(path: Any, at: str, roots: tuple[str, ...], text: str) -> Errors:
    if not path:
        return [required(at)]
    errors = _path(path, at)
    if not errors and not path.startswith(roots):
        errors.append(invalid_value(at, path, text))
    return errors


def _subresources(subresources: Any, at: str) -> Errors:
    scale = (subresources or {}).get("scale")
    if scale is None:
        return []
    at += ".scale"
    errors = _under(
        scale.get("specReplicasPath"), f"{at}.specReplicasPath", (".spec.",), "should be a json path under .spec"
    )
    errors += _under(
        scale.get("statusReplicasPath"),
        f"{at}.statusReplicasPath",
        (".status.",),
        "should be a json path under .status",
    )
    if scale.get("labelSelectorPath"):
        text = "should be a json path under either .spec or .status"
        errors += _under(scale["labelSelectorPath"], f"{at}.labelSelectorPath", (".spec.", ".status."), text)
    return errors


def _columns(version: Object, at: str) -> Errors:
    errors: Errors = []
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        errors += _column(column, f"{at}.additionalPrinterColumns[{index}]")
    return errors


def _column(column: Object, at: str) -> Errors:
    errors = [] if column.get("name") else [required(f"{at}.name")]
    kind, form, path = column.get("type"), column.get("format"), column.get("jsonPath")
    listed = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        errors.append(required(f"{at}.type", listed))
    elif kind not in _COLUMN_TYPES:
        errors.append(invalid_value(f"{at}.type", kind, listed))
    if form and form not in _COLUMN_FORMATS:
        errors.append(invalid_value(f"{at}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}"))
    return errors + (_path(path, f"{at}.JSONPath") if path else [required(f"{at}.JSONPath")])


def _selectable(version: Object, at: str) -> Errors:
    document = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    errors: Errors = []
    visited: set[str] = set()
    for index, field in enumerate(version.get("selectableFields") or ()):
        path, location = field.get("jsonPath") or "", f"{at}.selectableFields[{index}].jsonPath"
        if not path:
            errors.append(required(location))
            continue
        errors += _selected(path, document, location)
        if path in visited:
            errors.append(ApiFieldError("Duplicate", location, f'Duplicate value: "{path}"'))
        visited.add(path)
    return errors


def _selected(path: str, document: Object, at: str) -> Errors:
    """Return the errors of a selectable field, which must be a scalar of the schema."""
    if not path.startswith("."):
        return [invalid_value(at, path, f"is an invalid path: expected [ or . but got: {path.split('.')[0]}")]
    node: Any = document
    for name in path[1:].split("."):
        node = (node.get("properties") or {}).get(name) if isinstance(node, dict) else None
    if node is None or path.startswith(".metadata"):
        return [invalid_value(at, path, "is an invalid path: does not refer to a valid field")]
    if node.get("type") not in _SELECTABLE:
        text = "must point to a field of type string, boolean or integer. "
        return [invalid_value(at, path, f"{text}Enum string fields and strings with formats are allowed.")]
    return []


# -- conversion

_MISPLACED = "should not be set when strategy is not set to Webhook"


def _conversion(conversion: Object) -> Errors:
    strategy, webhook = conversion.get("strategy"), conversion.get("webhook") or {}
    config, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    errors = _choice("spec.conversion.strategy", strategy, ("None", "Webhook"))
    client, reviews = "spec.conversion.webhookClientConfig", "spec.conversion.conversionReviewVersions"
    if strategy != "Webhook":
        errors += [forbidden(client, _MISPLACED)] if config is not None else []
        return errors + ([forbidden(reviews, _MISPLACED)] if versions else [])
    errors += _client(config, client)
    if not versions:
        errors.append(required(reviews))
    elif not {"v1", "v1beta1"} & set(versions):
        errors.append(invalid_value(reviews, versions, "must include at least one of v1, v1beta1"))
    return errors


def _client(config: Any, at: str) -> Errors:
    if config is None:
        return [required(at, "required when strategy is set to Webhook")]
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(at, "exactly one of url or service is required")]
    if url is not None:
        scheme = urlsplit(url).scheme
        text = "'https' is the only allowed URL scheme; desired format: https://host[/path]"
        return [] if scheme == "https" else [invalid_value(f"{at}.url", scheme, text)]
    errors = [required(f"{at}.service.{name}") for name in ("name", "namespace") if not service.get(name)]
    path = service.get("path")
    return errors + (_service_path(path, f"{at}.service.path") if path else [])


def _service_path(path: str, at: str) -> Errors:
    errors = [] if path.startswith("/") else [invalid_value(at, path, "must start with a '/'")]
    steps = path.removeprefix("/").removesuffix("/").split("/") if path != "/" else []
    for index, step in enumerate(steps):
        if not step:
            errors.append(invalid_value(at, path, f"segment[{index}] may not be empty"))
            continue
        errors += [invalid_value(at, path, f"segment[{index}]: {problem}") for problem in dns_subdomain(step)]
    return errors


# -- stored versions and updates


def _stored_versions(stored: list[str] | None, versions: list[Object]) -> Errors:
    if not stored:
        return [invalid_value("status.storedVersions", stored, "must have at least one stored version")]
    errors: Errors = []
    remaining = {name: index for index, name in enumerate(stored)}
    for version in versions:
        name = version.get("name") or ""
        if remaining.pop(name, None) is None and version.get("storage"):
            errors.append(invalid_value("status.storedVersions", stored, f"must have the storage version {name}"))
    for gone, index in remaining.items():
        text = (
            f"missing from spec.versions; {gone} was previously a storage version, and must remain in "
            f"spec.versions until a storage migration ensures no data remains persisted in {gone} and removes "
            f"{gone} from status.storedVersions"
        )
        errors.append(invalid_value(f"status.storedVersions[{index}]", gone, text))
    return errors


def validate_definition_update(new: Object, old: Object) -> Errors:
    errors = validate_definition_spec(new)
    established = any(
        condition.get("type") == "Established" and condition.get("status") == "True"
        for condition in (old.get("status") or {}).get("conditions") or ()
    )
    spec, stored = new["spec"], old["spec"]
    if established:
        errors += immutable(spec.get("scope"), stored.get("scope"), "spec.scope")
        errors += immutable(spec["names"].get("kind"), stored["names"].get("kind"), "spec.names.kind")
    errors += immutable(spec.get("group"), stored.get("group"), "spec.group")
    errors += immutable(spec["names"].get("plural"), stored["names"].get("plural"), "spec.names.plural")
    versions: list[str] = list((old.get("status") or {}).get("storedVersions") or ())
    storage = next((version.get("name") for version in spec.get("versions") or () if version.get("storage")), None)
    if storage and storage not in versions:
        versions.append(storage)
    return errors + _stored_versions(versions, spec.get("versions") or [])
