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
    for one in resources:
        candidates: list[KustomizeResource] | None = None
        original = one.original.kind
        for kind, specs in config.references:
            for spec in specs:
                if not spec.kind.selects(original):
                    continue
                if candidates is None:
                    candidates = list(_reachable(one, resources))
                _Reference(one, spec, kind, candidates).fix()


def _reachable(referrer: KustomizeResource, resources: ResMap) -> Iterator[KustomizeResource]:
    """Yield the objects that an object may refer to: in its namespace, or cluster-scoped."""
    own = referrer.current.effective_namespace
    accounts = _account_namespaces(referrer)
    for one in resources:
        there = one.current.effective_namespace
        if NOWHERE in (own, there) or there == own or one.namespace in accounts:
            yield one


def _account_namespaces(referrer: KustomizeResource) -> set[str]:
    """Return the namespaces of a RoleBinding's accounts, which may be other ones."""
    if referrer.kind.kind != "RoleBinding":
        return set()
    subjects = referrer.body.get("subjects")
    return {
        one["namespace"]
        for one in (subjects if isinstance(subjects, list) else ())
        if isinstance(one, dict) and one.get("kind") == "ServiceAccount" and isinstance(one.get("namespace"), str)
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
            return [self._in_map(one) if isinstance(one, dict) else self._name(one) for one in value]
        return self._name(value)

    def _name(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        found = self._choose(value, self._candidates, with_namespace=False)
        return value if found is None else found.name

    def _in_map(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the map with the new name; its namespace, if any, selects the object."""
        if "name" not in value:
            raise SourceError("the reference has no name")
        if not isinstance(value["name"], str):
            return value
        candidates = self._candidates
        namespace = value.get("namespace")
        if namespace is not None:
            before = [one for one in candidates if one.original.effective_namespace == namespace]
            candidates = before or [one for one in candidates if one.current.effective_namespace == namespace]
        found = self._choose(value["name"], candidates, with_namespace=True)
        if found is None or (found.name == value["name"] and not found.namespace):
            return value
        return {**value, "name": found.name, **({"namespace": found.namespace} if found.namespace else {})}

    def _choose(
        self, name: str, candidates: list[KustomizeResource], *, with_namespace: bool
    ) -> KustomizeResource | None:
        """Return the only object with this previous name, None if there is none."""
        fitting = _sieved(
            candidates,
            lambda one: any(old.name == name for old in one.ids[:-1]),
            lambda one: any(self._target.selects(old.kind) for old in one.ids[:-1]),
            self._is_role,
            self._is_near,
        )
        if len(fitting) == 1:
            return fitting[0]
        fitting = _sieved(fitting, lambda one: one.has_same_affixes(self._referrer, or_none=True))
        if len(fitting) > 1:
            fitting = _sieved(fitting, lambda one: one.has_same_affixes(self._referrer, or_none=False))
        called = {(one.name, one.namespace if with_namespace else "") for one in fitting}
        if len(called) > 1:
            raise SourceError(f"the name {name!r} is ambiguous: {' or '.join(str(one.current) for one in fitting)}")
        return fitting[0] if fitting else None

    def _is_role(self, one: KustomizeResource) -> bool:
        """Return whether an object matches the kind in a roleRef."""
        role = self._referrer.body.get("roleRef")
        if not self._spec.path.endswith("roleRef/name") or not isinstance(role, dict):
            return True
        if role.get("apiGroup") is None or role.get("kind") is None:
            return True
        wanted = Gvk(str(role["apiGroup"]), "", str(role["kind"]))
        return any(wanted.selects(old.kind) for old in one.ids[:-1])

    def _is_near(self, one: KustomizeResource) -> bool:
        own, there = self._referrer.current, one.current
        if own.kind.is_cluster_scoped or there.kind.is_cluster_scoped or one.kind.kind == "ServiceAccount":
            return True
        return own.effective_namespace == there.effective_namespace


def _sieved(found: Iterable[KustomizeResource], *sieves: Sieve) -> list[KustomizeResource]:
    return [one for one in found if all(sieve(one) for sieve in sieves)]
