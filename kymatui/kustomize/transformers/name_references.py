"""Name references: fields with names of other objects follow their renaming."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kymatui.errors import SourceError
from kymatui.kustomize.model.field_specs import FieldSpec, TransformerConfig, change
from kymatui.kustomize.model.resmap import NOWHERE, Gvk, KustomizeResource, ResMap

Sieve = Callable[[KustomizeResource], bool]


def fix_references(resources: ResMap, config: TransformerConfig) -> None:
    """Update all fields that name other objects. Raises SourceError if a reference is ambiguous."""
    for resource in resources:
        candidates: list[KustomizeResource] | None = None
        original = resource.original.kind
        for kind, specs in config.references:
            for spec in specs:
                if not spec.kind.selects(original):
                    continue
                if candidates is None:
                    candidates = list(_reachable(resource, resources))
                _Reference(resource, spec, kind, candidates).fix()


def _reachable(referrer: KustomizeResource, resources: ResMap) -> Iterator[KustomizeResource]:
    """Yield the objects that an object may refer to: in its namespace, or cluster-scoped."""
    own = referrer.current.effective_namespace
    accounts = _account_namespaces(referrer)
    for resource in resources:
        effective_namespace = resource.current.effective_namespace
        if NOWHERE in (own, effective_namespace) or effective_namespace == own or resource.namespace in accounts:
            yield resource


def _account_namespaces(referrer: KustomizeResource) -> set[str]:
    """Return the namespaces of a RoleBinding's accounts, which may be other ones."""
    if referrer.kind.kind != "RoleBinding":
        return set()
    subjects = referrer.body.get("subjects")
    return {
        subject["namespace"]
        for subject in (subjects if isinstance(subjects, list) else ())
        if isinstance(subject, dict)
        and subject.get("kind") == "ServiceAccount"
        and isinstance(subject.get("namespace"), str)
    }


class _Reference:
    """One field of one object that may refer to objects of a kind."""

    def __init__(
        self, referrer: KustomizeResource, spec: FieldSpec, target: Gvk, candidates: list[KustomizeResource]
    ) -> None:
        self._referrer, self._spec, self._target, self._candidates = referrer, spec, target, candidates

    def fix(self) -> None:
        path = FieldSpec(self._spec.path)
        try:
            change(self._referrer.body, path, None, self._changed)
        except SourceError as error:
            raise SourceError(f"{self._referrer.current}: {self._spec.path}: {error}") from error

    def _changed(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._in_map(value)
        if isinstance(value, list):
            return [self._in_map(entry) if isinstance(entry, dict) else self._name(entry) for entry in value]
        return self._name(value)

    def _name(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        resource = self._choose(value, self._candidates, with_namespace=False)
        return value if resource is None else resource.name

    def _in_map(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the map with the new name; its namespace, if any, selects the object."""
        if "name" not in value:
            raise SourceError("the reference has no name")
        if not isinstance(value["name"], str):
            return value
        candidates = self._candidates
        namespace = value.get("namespace")
        if namespace is not None:
            before = [candidate for candidate in candidates if candidate.original.effective_namespace == namespace]
            candidates = before or [
                candidate for candidate in candidates if candidate.current.effective_namespace == namespace
            ]
        resource = self._choose(value["name"], candidates, with_namespace=True)
        if resource is None or (resource.name == value["name"] and not resource.namespace):
            return value
        return {**value, "name": resource.name, **({"namespace": resource.namespace} if resource.namespace else {})}

    def _choose(
        self, name: str, candidates: list[KustomizeResource], *, with_namespace: bool
    ) -> KustomizeResource | None:
        """Return the only object with this previous name, None if there is none."""
        fitting = _sieved(
            candidates,
            lambda candidate: any(old.name == name for old in candidate.ids[:-1]),
            lambda candidate: any(self._target.selects(old.kind) for old in candidate.ids[:-1]),
            self._is_role,
            self._is_near,
        )
        if len(fitting) == 1:
            return fitting[0]
        fitting = _sieved(fitting, lambda resource: resource.has_same_affixes(self._referrer, or_none=True))
        if len(fitting) > 1:
            fitting = _sieved(fitting, lambda resource: resource.has_same_affixes(self._referrer, or_none=False))
        called = {(resource.name, resource.namespace if with_namespace else "") for resource in fitting}
        if len(called) > 1:
            raise SourceError(
                f"the name {name!r} is ambiguous: {' or '.join(str(resource.current) for resource in fitting)}"
            )
        return fitting[0] if fitting else None

    def _is_role(self, resource: KustomizeResource) -> bool:
        """Return whether an object matches the kind in a roleRef."""
        role = self._referrer.body.get("roleRef")
        if not self._spec.path.endswith("roleRef/name") or not isinstance(role, dict):
            return True
        if role.get("apiGroup") is None or role.get("kind") is None:
            return True
        gvk = Gvk(str(role["apiGroup"]), "", str(role["kind"]))
        return any(gvk.selects(old.kind) for old in resource.ids[:-1])

    def _is_near(self, resource: KustomizeResource) -> bool:
        own, other = self._referrer.current, resource.current
        if own.kind.is_cluster_scoped or other.kind.is_cluster_scoped or resource.kind.kind == "ServiceAccount":
            return True
        return own.effective_namespace == other.effective_namespace


def _sieved(resources: Iterable[KustomizeResource], *sieves: Sieve) -> list[KustomizeResource]:
    return [resource for resource in resources if all(sieve(resource) for sieve in sieves)]
