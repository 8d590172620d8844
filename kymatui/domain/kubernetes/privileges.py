"""Dangerous permissions in roles: those that let a subject gain more than they seem to grant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import texts_at

_GAINING: Final = frozenset({"escalate", "bind", "impersonate"})
_READING: Final = frozenset({"get", "list", "watch", "*"})
_WRITING: Final = frozenset({"create", "update", "patch", "*"})
_ENTERING: Final = frozenset({"pods/exec", "pods/attach", "pods/portforward", "nodes/proxy"})
_HOOKS: Final = frozenset({"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "*"})
_RBAC: Final = "rbac.authorization.k8s.io"
_HOOK_GROUP: Final = "admissionregistration.k8s.io"
CLUSTER_ADMIN: Final = "everything (the role cluster-admin)"


class PrivilegeKind(StrEnum):
    """The kinds of dangerous permissions."""

    EVERYTHING = "everything"
    GAINING = "gaining rights"
    SECRETS = "secrets"
    ENTERING = "entering pods"
    TOKENS = "tokens"
    HOOKS = "webhooks"


class Privilege(Struct, frozen=True):
    """One dangerous permission from the rule at `index` of a role; -1 means the role itself."""

    kind: PrivilegeKind
    message: str
    index: int = -1


def find_privileges(kind: str, name: str, rules: Iterable[object]) -> Iterator[Privilege]:
    """Yield the dangerous permissions of a role, rule by rule; malformed rules grant nothing."""
    if kind == "ClusterRole" and name == "cluster-admin":
        yield Privilege(PrivilegeKind.EVERYTHING, CLUSTER_ADMIN)
    for index, rule in enumerate(rules):
        if isinstance(rule, Mapping):
            for which, words in _of_rule(rule):
                yield Privilege(which, words, index)


def _texts(rule: Mapping[str, Any], key: str) -> frozenset[str]:
    return frozenset(texts_at(rule, key))


def _of_rule(rule: Mapping[str, Any]) -> Iterator[tuple[PrivilegeKind, str]]:
    verbs, resources, groups = _texts(rule, "verbs"), _texts(rule, "resources"), _texts(rule, "apiGroups")
    names = sorted(_texts(rule, "resourceNames"))
    named = f" named {', '.join(names)}" if names else ""
    if "*" in verbs and "*" in resources:
        where = "all groups" if "*" in groups else ", ".join(sorted(group or "the core group" for group in groups))
        yield PrivilegeKind.EVERYTHING, f"everything in {where or 'no group'}"
        return
    if gained := sorted(verbs & _GAINING):
        yield (
            PrivilegeKind.GAINING,
            f"{', '.join(gained)} on {', '.join(sorted(resources))}: the module can give itself more rights",
        )
    elif "*" in verbs and (_RBAC in groups or "*" in groups) and resources & {"roles", "clusterroles"}:
        yield (
            PrivilegeKind.GAINING,
            "every verb on roles, including escalate and bind: the module can give itself more rights",
        )
    core = bool(groups & {"", "*"})
    if core and resources & {"secrets", "*"} and verbs & _READING:
        yield PrivilegeKind.SECRETS, f"reads Secrets{named}"
    if core and (entered := sorted(resources & _ENTERING)) and verbs & (_WRITING | {"get"}):
        inside = "runs commands in pods" if resources & {"pods/exec", "pods/attach"} else "accesses pods and nodes"
        yield PrivilegeKind.ENTERING, f"{inside} ({', '.join(entered)}){named}"
    if core and "serviceaccounts/token" in resources and verbs & {"create", "*"}:
        yield PrivilegeKind.TOKENS, f"creates tokens of ServiceAccounts{named}"
    if groups & {_HOOK_GROUP, "*"} and resources & _HOOKS and verbs & _WRITING and not names:
        yield PrivilegeKind.HOOKS, "writes admission webhooks: the module can read and change every written object"
