"""Rules about permissions: dangerous ones that modules have, and ones that the user lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kymatui.domain.audit.findings import AuditFinding, AuditInput, AuditRule
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import parse_time, read_ref
from kymatui.domain.kubernetes.privileges import Privilege, PrivilegeKind, find_privileges
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.problems import Actor, Severity

EVERYTHING = AuditRule(
    "rights.everything",
    "a module may do everything",
    Severity.ERROR,
    "An attacker in the module's pods controls the cluster, or a whole API group.",
    "Ask the module's owner for a role with only the rights that it needs.",
)
ESCALATION = AuditRule(
    "rights.escalation",
    "a module can give itself more rights",
    Severity.WARNING,
    "With escalate, bind, impersonate, tokens or webhooks, the module can gain any right.",
    "Ask the module's owner to list the roles that it binds, or to give up these rights.",
)
BROAD = AuditRule(
    "rights.broad",
    "a module reads Secrets or accesses pods",
    Severity.WARNING,
    "Secrets and pods of other workloads hold passwords, tokens and running programs.",
    "Ask the module's owner to list the Secrets, or to use only its own namespace.",
)
LACKING = AuditRule(
    "access.lacking",
    "you lack a permission that actions on modules need",
    Severity.INFO,
    "Actions that need it are refused.",
    "Ask for the right if you need it.",
)
RULES = (EVERYTHING, ESCALATION, BROAD, LACKING)
_KINDS = {
    PrivilegeKind.EVERYTHING: EVERYTHING,
    PrivilegeKind.GAINING: ESCALATION,
    PrivilegeKind.TOKENS: ESCALATION,
    PrivilegeKind.HOOKS: ESCALATION,
    PrivilegeKind.SECRETS: BROAD,
    PrivilegeKind.ENTERING: BROAD,
}
_GROUP = "rbac.authorization.k8s.io"


def check(case: AuditInput) -> Iterator[AuditFinding]:
    for installation in case.inspection.installations:
        objects = [case.inspection.objects.get(ref) for ref in installation.refs if ref.kind.group == _GROUP]
        yield from _granted(installation.module, [raw for raw in objects if raw is not None])
    for right in case.inspection.lacking:
        where = f" in {right.namespace}" if right.namespace else ""
        words = f"you may not {right.verb} {right.resource}{where}, which {right.needed_for} needs"
        yield AuditFinding(LACKING, words, right.module, right.resource, "", right.verb, actor=Actor.CLUSTER)


def _granted(module: str, objects: list[Mapping[str, Any]]) -> Iterator[AuditFinding]:
    """Check roles, bound or not, and bindings to roles outside the module."""
    for raw in objects:
        ref = read_ref(raw)
        if ref.kind.kind in ("Role", "ClusterRole"):
            rules = raw.get("rules")
            for power in find_privileges(ref.kind.kind, ref.name, rules if isinstance(rules, list) else ()):
                yield _finding(module, ref, power, raw)
        elif ref.kind.kind in ("RoleBinding", "ClusterRoleBinding"):
            role = JsonReader(raw).child("roleRef")
            for power in find_privileges(role.text("kind"), role.text("name"), ()):
                yield _finding(module, ref, power, raw)


def _finding(module: str, ref: ObjectRef, power: Privilege, raw: Mapping[str, Any]) -> AuditFinding:
    path = f"rules[{power.index}]" if power.index >= 0 else "roleRef.name" if "roleRef" in raw else ""
    since = parse_time(JsonReader(raw).child("metadata").text("creationTimestamp"))
    words = f"{ref}: {power.message}"
    return AuditFinding(_KINDS[power.kind], words, module, str(ref), path, power.message, since, Actor.CATALOG)
