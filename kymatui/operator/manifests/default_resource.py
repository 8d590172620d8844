"""The default CR of a Manifest: its creation and deletion, the other objects of its kind, and the state by its rules.

Current lifecycle-manager takes a module's state from the workload alone, and writes the Manifest's `customStateCheck`
only for older modules. If it exists, kymatui reads it as the last lifecycle-manager did that supported it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.label_selectors import InvalidSelector, read_selector
from kymatui.domain.kubernetes.object_meta import ANNOTATION_STATE_CHECK, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE, Policy
from kymatui.domain.kyma.manifests import Manifest, default_resource, default_resource_body
from kymatui.domain.kyma.module_templates import StateCheckRule
from kymatui.domain.modules.state_checks import CheckInput, Evaluation, PathResult, StateDecision, evaluate
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Cluster, Object
from kymatui.errors import ConfigurationError, ConflictError, NotFoundError
from kymatui.json_input import read_json

_STATEFUL_SET: Final = GroupVersionKind("apps", "v1", "StatefulSet")
_POD: Final = GroupVersionKind("", "v1", "Pod")
_FIELDS: Final = ("jsonPath", "value", "mappedState")


def has_rules(manifest: Manifest) -> bool:
    """Return whether the default CR's state counts; an empty list means the built-in rules."""
    return bool(manifest.meta.annotations.get(ANNOTATION_STATE_CHECK, ""))


def read_rules(manifest: Manifest) -> tuple[StateCheckRule, ...]:
    """Return the rules of a Manifest. Raises ConfigurationError that names the Manifest and the fault."""
    where = f"the annotation {ANNOTATION_STATE_CHECK} of {manifest.ref}"
    try:
        entries = read_json(manifest.meta.annotations.get(ANNOTATION_STATE_CHECK, "[]"))
    except ValueError as error:
        raise ConfigurationError(f"{where} is not valid JSON: {error}") from error
    if not isinstance(entries, list):
        raise ConfigurationError(f"{where} is not a list", hint='write [{"jsonPath": …, "value": …, "mappedState": …}]')
    for number, entry in enumerate(entries):
        if not isinstance(entry, Mapping) or not all(isinstance(entry.get(key, ""), str) for key in _FIELDS):
            raise ConfigurationError(f"{where}: entry {number} is not a map of strings ({', '.join(_FIELDS)})")
    return tuple(
        StateCheckRule(*(entry.text(key) for key in _FIELDS))
        for entry in JsonReader({"rules": entries}).children("rules")
    )


def resource_ref(manifest: Manifest, cluster: Cluster, namespace: str = KYMA_NAMESPACE) -> ObjectRef | None:
    """Return the default CR's reference in a cluster, None for a Manifest without one.

    `namespace` is that of a CR that names none.
    """
    if not manifest.resource:
        return None
    kind = cluster.kind(read_ref(manifest.resource).kind)
    wide = kind is not None and not kind.namespaced
    return default_resource(manifest.resource, manifest.meta.name, cluster_scoped=wide, namespace=namespace)


def evaluate_state(manifest: Manifest, cluster: Cluster, ref: ObjectRef | None, now: float) -> Evaluation:
    """Return the state by the rules, after the workload is ready; with policy Ignore the CR is optional.

    Raises ConfigurationError for unreadable rules, and the errors of the cluster.
    """
    rules = read_rules(manifest)
    if ref is not None and (ref.kind.group, ref.kind.kind) == ("", "Secret"):
        raise ConfigurationError(f"{ref} has no state", hint=f"remove the annotation {ANNOTATION_STATE_CHECK}")
    live = cluster.get(ref) if ref is not None else None
    expected = ref is not None and (live is not None or manifest.policy != Policy.IGNORE)
    created = manifest.meta.created
    subject = CheckInput(live, expected=expected, age=now - created if created else 0.0)
    return evaluate(rules, subject)


def describe_evaluation(evaluation: Evaluation, ref: ObjectRef | None) -> str:
    """Return a sentence with the decision and each rule."""
    if evaluation.decision is StateDecision.NO_RESOURCE:
        return "installed and ready; there is no default CR to check"
    results = "; ".join(
        f"{rated.rule.path} is {_text(rated.value)}, {rated.rule.value!r} means {rated.rule.mapped_state} "
        f"({rated.result.value})"
        for rated in evaluation.rules
    )
    message = evaluation.message or f"{ref} is {evaluation.state}"
    return f"{message}: {results}" if results else message


def _text(value: PathResult) -> str:
    return repr(value.text) if value.found else value.type or value.kind.value


def stateful_pods(cluster: Cluster, workload: Object, cancel: threading.Event) -> list[Object]:
    """Return the Pods of a StatefulSet, whose own status hides why it is not ready; none of others."""
    ref, selector = read_ref(workload), read_selector(workload.get("spec", {}).get("selector") or {})
    if ref.kind != _STATEFUL_SET or isinstance(selector, InvalidSelector) or selector.empty:
        return []
    labels = ",".join(requirement.written for requirement in selector.requirements)
    return cluster.list(_POD, ref.namespace, labels=labels, cancel=cancel)


class ModuleResources(Struct, frozen=True):
    """The objects of a module's CR kind: its default CR, and the user's."""

    default: ObjectRef | None = None
    others: tuple[ObjectRef, ...] = ()


class DefaultResource:
    """The default CR of one Manifest on one runtime."""

    def __init__(self, manifest: Manifest, cluster: Cluster, cancel: threading.Event) -> None:
        self._manifest = manifest
        self._cluster = cluster
        self._cancel = cancel

    @property
    def is_owned(self) -> bool:
        """Return whether the Manifest creates and deletes a default CR."""
        return bool(self._manifest.resource) and self._manifest.policy != Policy.IGNORE

    def create(self) -> None:
        """Create the CR if it does not exist; one that exists stays as it is."""
        if not self._manifest.resource:
            return
        if self._cluster.kind(read_ref(self._manifest.resource).kind) is None:
            self._cluster.forget_kinds()  # its CRD may have been applied just now
        ref = resource_ref(self._manifest, self._cluster)
        if ref is None:
            return
        if self._cluster.get(ref, cancel=self._cancel) is not None:
            return
        with contextlib.suppress(ConflictError):  # created meanwhile, and one that exists stays as it is
            body = default_resource_body(self._manifest.resource, ref)
            self._cluster.create(body, manager=OPERATOR_FIELD_MANAGER, cancel=self._cancel)

    def find(self) -> ModuleResources:
        """Return what exists of the CR's kind, in all served versions and namespaces.

        With policy Ignore the default CR is one of the user's. A kind that is not served has no objects; the kinds are
        read again to be sure, because a list of kinds from before the CRD's creation would hide the user's objects.
        """
        if not self._manifest.resource:
            return ModuleResources()
        default = resource_ref(self._manifest, self._cluster)
        kind = read_ref(self._manifest.resource).kind
        if not self._cluster.kinds(kind.group, kind.kind):
            self._cluster.forget_kinds()
        existing: dict[tuple[str, str, str, str], ObjectRef] = {}
        for served in self._cluster.kinds(kind.group, kind.kind):
            for raw in self._cluster.list(served.gvk, cancel=self._cancel):
                ref = read_ref(raw)
                existing.setdefault(ref.key, ref)
        owned = existing.pop(default.key, None) if default is not None and self.is_owned else None
        return ModuleResources(owned, tuple(existing.values()))

    def delete(self, ref: ObjectRef) -> None:
        with contextlib.suppress(NotFoundError):
            self._cluster.delete(ref, propagation="Background", cancel=self._cancel)
