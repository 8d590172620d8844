"""What a module's default resource says of its state, by the `customStateCheck` that stands on the Manifest.

Today's lifecycle-manager takes the state from the workload alone, and writes the rules there only for modules of older
generations. Where they stand, they are read as the last lifecycle-manager did that read them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from kymatui.domain.catalog.assessment import ANNOTATION_STATE_CHECK
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma.manifests import Manifest, default_resource
from kymatui.domain.kyma.module_templates import StateCheckRule
from kymatui.domain.modules.state_checks import CheckInput, Evaluation, StateDecision, evaluate
from kymatui.domain.modules.status_paths import PathResult
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import ConfigurationError

_FIELDS: Final = ("jsonPath", "value", "mappedState")


def has_rules(manifest: Manifest) -> bool:
    """Whether the state of the default resource counts; an empty list stands for the rules that everybody has."""
    return bool(manifest.meta.annotations.get(ANNOTATION_STATE_CHECK, ""))


def read_rules(manifest: Manifest) -> tuple[StateCheckRule, ...]:
    """The rules that stand on a Manifest. Raises ConfigurationError that names it, and what is wrong with them."""
    where = f"the annotation {ANNOTATION_STATE_CHECK} of {manifest.ref}"
    try:
        found = json.loads(manifest.meta.annotations.get(ANNOTATION_STATE_CHECK, "[]"))
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{where} is no JSON: {error}") from error
    if not isinstance(found, list):
        raise ConfigurationError(f"{where} is no list", hint='write [{"jsonPath": …, "value": …, "mappedState": …}]')
    for number, entry in enumerate(found):
        if not isinstance(entry, Mapping) or not all(isinstance(entry.get(key, ""), str) for key in _FIELDS):
            raise ConfigurationError(f"{where}: entry {number} is no map of texts ({', '.join(_FIELDS)})")
    return tuple(
        StateCheckRule(*(entry.text(key) for key in _FIELDS))
        for entry in JsonReader({"rules": found}).children("rules")
    )


def resource_ref(manifest: Manifest, cluster: Cluster) -> ObjectRef | None:
    """The default resource by the name that it has in a cluster; None for a Manifest without one."""
    if not manifest.resource:
        return None
    kind = cluster.kind(read_ref(manifest.resource).kind)
    wide = kind is not None and not kind.namespaced
    return default_resource(manifest.resource, manifest.meta.name, cluster_scoped=wide)


def evaluate_state(manifest: Manifest, cluster: Cluster, ref: ObjectRef | None, now: float) -> Evaluation:
    """The state by the rules, once the workload is ready. With the policy Ignore no resource need be there.

    Raises ConfigurationError for rules that cannot be read, and the errors of the cluster.
    """
    rules = read_rules(manifest)
    live = cluster.get(ref) if ref is not None else None
    expected = ref is not None and (live is not None or manifest.policy != Policy.IGNORE)
    created = manifest.meta.created
    subject = CheckInput(live, expected=expected, age=now - created if created else 0.0)
    return evaluate(rules, subject)


def describe_evaluation(evaluation: Evaluation, ref: ObjectRef | None) -> str:
    """A sentence on what decided, with each rule that did not pass as it should."""
    if evaluation.decision is StateDecision.NO_RESOURCE:
        return "installed and ready; there is no default resource to judge by"
    found = "; ".join(
        f"{one.rule.path} is {_shown(one.look)}, {one.rule.value!r} means {one.rule.mapped_state} ({one.result.value})"
        for one in evaluation.rules
    )
    said = evaluation.message or f"{ref} is {evaluation.state}"
    return f"{said}: {found}" if found else said


def _shown(look: PathResult) -> str:
    return repr(look.text) if look.found else look.type or look.kind.value
