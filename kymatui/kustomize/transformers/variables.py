"""Variables (`vars`, deprecated by kustomize): `$(NAME)` becomes the value of a field of an object."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from kymatui.errors import SourceError
from kymatui.helm.govalues.floats import format_float
from kymatui.helm.yaml.limits import YamlBudget
from kymatui.kustomize.model.field_specs import FieldSpecs, change
from kymatui.kustomize.model.resmap import Gvk, KustomizeResource, ResId, ResMap
from kymatui.kustomize.model.strict_fields import StrictFields
from kymatui.kustomize.transformers.replacements import lookup_field, split_field_path

_INDEX: Final = re.compile(r"(.*)\[([0-9]+)\]")
_REFERENCE: Final = re.compile(r"\$(?:(\$)|\(([^)]*)\))")
Scalar = str | int | float | bool


class KustomizeVariable(Struct, frozen=True):
    """A variable and the object (by its name in its file) and field that have its value."""

    name: str
    target: ResId
    path: str
    where: str


def read_variable(fields: StrictFields) -> KustomizeVariable:
    reference, field = fields.child("objref"), fields.child("fieldref")
    group, version = reference.text("group"), reference.text("version")
    api_version = reference.text("apiVersion")
    if api_version.count("/") < 2 and api_version:
        prefix, slash, suffix = api_version.partition("/")
        group, version = (prefix, suffix) if slash else (group, prefix)
    variable = KustomizeVariable(
        fields.text("name"),
        ResId(Gvk(group, version, reference.text("kind")), reference.text("name"), reference.text("namespace")),
        field.text("fieldPath") or "metadata.name",
        fields.where,
    )
    for part in (reference, field, fields):
        part.finish()
    return variable


def add_variables(
    known: dict[str, KustomizeVariable], variables: Iterable[KustomizeVariable], resources: ResMap
) -> None:
    """Add variables, and mark the objects that have their values. Raises SourceError for a name that appears twice."""
    for variable in variables:
        for resource in _objects_of(variable, resources):
            resource.variables.append(variable.name)
        merge_variables(known, [variable])


def merge_variables(known: dict[str, KustomizeVariable], variables: Iterable[KustomizeVariable]) -> None:
    for variable in variables:
        if variable.name in known:
            raise SourceError(f"{variable.where}: variable {variable.name} is defined twice")
        known[variable.name] = variable


def _objects_of(variable: KustomizeVariable, resources: ResMap) -> list[KustomizeResource]:
    target = variable.target
    has_namespace = bool(target.namespace) or target.kind.is_cluster_scoped

    def is_target(res_id: ResId) -> bool:
        return res_id.equals(target) if has_namespace else (res_id.kind, res_id.name) == (target.kind, target.name)

    objects = resources.by_any_id(is_target)
    if len(objects) > 1:
        raise SourceError(f"{variable.where}: variable {variable.name} matches {len(objects)} objects, expected one")
    return objects


def resolve_variables(resources: ResMap, variables: Iterable[KustomizeVariable], specs: FieldSpecs) -> list[str]:
    """Replace the variables in all fields of the specs; return the names of those without a use."""
    values = {variable.name: _value(variable, resources) for variable in variables}
    if not values:
        return []
    expansion = _Expansion(values, resources.limits.budget)
    for resource in resources:
        for spec in specs:
            if not spec.kind.selects(resource.kind):
                continue
            try:
                change(resource.body, spec, None, expansion.replaced)
            except SourceError as error:
                raise SourceError(f"{resource.current}: {spec.path}: {error}") from error
    return sorted(values.keys() - expansion.used)


def _value(variable: KustomizeVariable, resources: ResMap) -> Any:
    holder = next((resource for resource in resources if variable.name in resource.variables), None)
    if holder is None:
        raise SourceError(
            f"{variable.where}: variable {variable.name} is a field of {variable.target}, which does not exist",
            hint="objref needs apiVersion, kind and name as they stand in the object's file",
        )
    parts: list[str] = []
    for part in split_field_path(variable.path):
        match = _INDEX.fullmatch(part)
        parts += [text for text in match.groups() if text] if match is not None else [part]
    try:
        value = lookup_field(holder.body, parts)
    except SourceError:
        value = None
    if value is None:
        raise SourceError(f"{variable.where}: variable {variable.name}: {holder.current} has no {variable.path}")
    return value


class _Expansion:
    """The replacement of references in texts; `used` are the names of the variables that it met."""

    def __init__(self, values: dict[str, Any], budget: YamlBudget) -> None:
        self._values, self._budget = values, budget
        self.used: set[str] = set()

    def replaced(self, value: Any) -> Any:
        """Return a text, or the texts of a list or map, with values in place of references."""
        if isinstance(value, str):
            return self._expanded(value)
        if isinstance(value, dict):
            return {key: self._expanded(part) if isinstance(part, str) else part for key, part in value.items()}
        if isinstance(value, list):
            if not all(isinstance(item, str) for item in value):
                raise SourceError("a list with variables has an element that is not a string")
            return [self._expanded(item) for item in value]
        return value

    def _expanded(self, text: str) -> Scalar:
        if "$" not in text:
            return text
        match = _REFERENCE.fullmatch(text)
        if match is not None and match[2] is not None:
            return self._resolved(match[2])
        expanded = _REFERENCE.sub(lambda match: match[1] or _printed(self._resolved(match[2])), text)
        self._budget.charge(1, len(expanded))
        return expanded

    def _resolved(self, name: str) -> Scalar:
        """Return the value of a variable; for other names, and for maps and lists, the reference as it is."""
        value = self._values.get(name)
        if not isinstance(value, Scalar):
            return f"$({name})"
        self.used.add(name)
        return value


def _printed(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return format_float(value) if isinstance(value, float) else str(value)
