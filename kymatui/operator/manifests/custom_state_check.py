"""The state of a module's default CR by the Manifest's `customStateCheck`.

Current lifecycle-manager takes the state from the workload alone, and writes the rules only for older modules. If
they exist, kymatui reads them as the last lifecycle-manager did that supported them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import ANNOTATION_STATE_CHECK, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE, Policy
from kymatui.domain.kyma.manifests import Manifest, default_resource
from kymatui.domain.kyma.module_templates import StateCheckRule
from kymatui.domain.modules.state_checks import CheckInput, Evaluation, StateDecision, evaluate
from kymatui.domain.modules.status_paths import PathResult
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import ConfigurationError
from kymatui.json_input import read_json

_FIELDS: Final = ("jsonPath", "value", "mappedState")


def has_rules(manifest: Manifest) -> bool:
    """Return whether the default CR's state counts; an empty list means the built-in rules."""
    return bool(manifest.meta.annotations.get(ANNOTATION_STATE_CHECK, ""))


def read_rules(manifest: Manifest) -> tuple[StateCheckRule, ...]:
    """Return the rules of a Manifest. Raises ConfigurationError that names the Manifest and the fault."""
    where = f"the annotation {ANNOTATION_STATE_CHECK} of {manifest.ref}"
    try:
        found = read_json(manifest.meta.annotations.get(ANNOTATION_STATE_CHECK, "[]"))
    except ValueError as error:
        raise ConfigurationError(f"{where} is not valid JSON: {error}") from error
    if not isinstance(found, list):
        raise ConfigurationError(f"{where} is not a list", hint='write [{"jsonPath": …, "value": …, "mappedState": …}]')
    for number, entry in enumerate(found):
        if not isinstance(entry, Mapping) or not all(isinstance(entry.get(key, ""), str) for key in _FIELDS):
            raise ConfigurationError(f"{where}: entry {number} is not a map of strings ({', '.join(_FIELDS)})")
    return tuple(
        StateCheckRule(*(entry.text(key) for key in _FIELDS))
        for entry in JsonReader({"rules": found}).children("rules")
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
    found = "; ".join(
        f"{one.rule.path} is {_shown(one.value)}, {one.rule.value!r} means {one.rule.mapped_state} ({one.result.value})"
        for one in evaluation.rules
    )
    said = evaluation.message or f"{ref} is {evaluation.state}"
    return f"{said}: {found}" if found else said


def _shown(value: PathResult) -> str:
    return repr(value.text) if value.found else value.type or value.kind.value
