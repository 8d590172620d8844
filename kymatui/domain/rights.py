"""What may I, and which Role would allow it: permissions, the rules that grant them, and the words for what is missing.

Plans, disabled keys, audit and `kymatui rights` take their answers from here; the engine asks the server.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef

RBAC: Final = "rbac.authorization.k8s.io"
LIST_VERBS: Final = ("list", "watch")
_ANY: Final = "*"
_WRITES: Final = frozenset({_ANY, "create", "update", "patch", "delete", "deletecollection"})
_REVIEWED: Final = frozenset({"authorization.k8s.io", "authentication.k8s.io"})
"""API groups that every user may create objects of."""
_MOST_NAMES: Final = 5  # of the objects of a kind; a rule for more of them is for all of them
_UNNAMED: Final = frozenset({"create", "list", "watch", "deletecollection"})
"""Verbs that a rule with resourceNames does not allow, or not as kymatui uses them."""


class RequiredPermission(Struct, frozen=True):
    """A permission that an action needs; an empty namespace is the whole cluster, an empty name all objects."""

    verb: str
    kind: GroupVersionKind
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        where = f"in {self.namespace}" if self.namespace else "in the whole cluster"
        named = f" {self.name}" if self.name else ""
        return f"{self.verb} {self.kind}{named} {where}"


def patching(ref: ObjectRef) -> RequiredPermission:
    return RequiredPermission("patch", ref.kind, ref.namespace, ref.name)


def creating(ref: ObjectRef) -> RequiredPermission:
    return RequiredPermission("create", ref.kind, ref.namespace)


class MissingPermission(Struct, frozen=True):
    """A permission that the user lacks, and the operation that needs it."""

    verb: str
    resource: str
    namespace: str
    needed_for: str
    module: str = ""


class Rights(Struct, frozen=True):
    """The permission rules of one namespace.

    `incomplete` means that the server could not list every rule, so a missing rule proves nothing.
    """

    rules: tuple[Mapping[str, Any], ...]
    incomplete: bool

    def allow(self, verb: str, group: str, resource: str, name: str = "") -> bool:
        """Return whether a rule allows the request; `resource` may name a subresource ("pods/log")."""
        return any(_allows(rule, verb, group, resource, name) for rule in self.rules)

    @property
    def can_write(self) -> bool:
        """Return whether a rule allows to write; reviews of one's own rights store nothing."""
        return any(
            _WRITES.intersection(rule.get("verbs") or ()) and not _REVIEWED.issuperset(rule.get("apiGroups") or ())
            for rule in self.rules
        )


def _allows(rule: Mapping[str, Any], verb: str, group: str, resource: str, name: str) -> bool:
    part = resource.partition("/")[2]
    names = rule.get("resourceNames") or ()
    return (
        _has(rule, "verbs", verb)
        and _has(rule, "apiGroups", group)
        and (_has(rule, "resources", resource) or bool(part and f"*/{part}" in (rule.get("resources") or ())))
        and (not names or bool(name and name in names))
    )


def _has(rule: Mapping[str, Any], key: str, expected: str) -> bool:
    values: Sequence[str] = rule.get(key) or ()
    return expected in values or _ANY in values


# What actions need.


class ActionNeeds(Struct, frozen=True):
    """What an action needs beside the requests of its plan.

    lists          kinds of Kyma that it cannot work without, in the namespace of the Kyma
    cluster_lists  other kinds ("plural.group") whose lists it needs, in the whole cluster
    edits_kyma     whether it patches the Kyma
    edits_cr       whether it patches or creates the module CR
    reads_logs     whether it reads the logs of the module's manager
    is_planned     whether its plan says what else it needs
    """

    lists: tuple[str, ...] = ()
    cluster_lists: tuple[str, ...] = ()
    edits_kyma: bool = False
    edits_cr: bool = False
    reads_logs: bool = False
    is_planned: bool = True


_NAMING: Final = ("kymas", "moduletemplates", "modulereleasemetas")
_WORKLOADS: Final = ("deployments.apps", "statefulsets.apps", "daemonsets.apps")
_CRDS: Final = "customresourcedefinitions.apiextensions.k8s.io"
_EDIT: Final = ActionNeeds(_NAMING, edits_kyma=True)
_DIRECT: Final = ActionNeeds(
    ("kymas", "modulereleasemetas", "manifests"), cluster_lists=("moduletemplates.operator.kyma-project.io",)
)
"""Templates of community modules may be in any namespace."""
CATALOG: Final = "catalog"
ACTIONS: Final[Mapping[str, ActionNeeds]] = {
    CATALOG: ActionNeeds(is_planned=False),
    "enable": replace(_EDIT, cluster_lists=_WORKLOADS),
    **dict.fromkeys(("channel", "manage", "unmanage", "policy", "label"), _EDIT),
    "disable": replace(_EDIT, lists=(*_NAMING, "manifests"), cluster_lists=(_CRDS,)),
    **dict.fromkeys(("install", "upgrade", "manifest"), _DIRECT),
    "adopt": replace(_DIRECT, cluster_lists=(*_DIRECT.cluster_lists, *_WORKLOADS)),
    "delete": replace(
        _DIRECT,
        lists=("kymas", "modulereleasemetas"),
        cluster_lists=(*_DIRECT.cluster_lists, "manifests.operator.kyma-project.io", _CRDS),
    ),
    "finalizers": ActionNeeds(("manifests",), cluster_lists=_DIRECT.cluster_lists),
    **dict.fromkeys(("pull", "restore"), ActionNeeds()),
    "edit": ActionNeeds(_NAMING, edits_cr=True, is_planned=False),
    "restart": ActionNeeds(("moduletemplates",), cluster_lists=_WORKLOADS),
    "unpause": ActionNeeds((*_NAMING, "manifests"), cluster_lists=_WORKLOADS),
    "logs": ActionNeeds(("moduletemplates",), cluster_lists=_WORKLOADS, reads_logs=True, is_planned=False),
}
"""The actions whose permissions are known, by their command."""


def granting_permissions(body: Mapping[str, Any]) -> Iterator[RequiredPermission]:
    """Yield what a write of a role or binding needs of a user who does not hold the rights that it grants."""
    ref = read_ref(body)
    if ref.kind.group != RBAC:
        return
    if ref.kind.kind in ("Role", "ClusterRole"):
        yield RequiredPermission("escalate", ref.kind, ref.namespace, ref.name)
    elif ref.kind.kind in ("RoleBinding", "ClusterRoleBinding"):
        role = JsonReader(body).child("roleRef")
        kind = replace(ref.kind, kind=role.text("kind"))
        yield RequiredPermission("bind", kind, ref.namespace, role.text("name"))


# The Role that would allow it.


class Subject(Struct, frozen=True):
    """The user whom a binding names."""

    name: str

    @property
    def body(self) -> dict[str, str]:
        """Return the entry in `subjects` of a binding."""
        parts = self.name.split(":")
        if len(parts) == 4 and parts[:2] == ["system", "serviceaccount"]:
            return {"kind": "ServiceAccount", "namespace": parts[2], "name": parts[3]}
        return {"apiGroup": RBAC, "kind": "User", "name": self.name}


class GrantedRequest(Struct, frozen=True, order=True):
    """One request that a rule grants: the group and plural of a kind, a verb, and a name or ""."""

    group: str
    resource: str
    verb: str
    name: str = ""


def role_rules(requests: Iterable[GrantedRequest]) -> list[dict[str, list[str]]]:
    """Return the fewest rules that grant these requests and no other."""
    names: dict[tuple[str, str, str], set[str]] = {}
    for request in requests:
        key = request.group, request.resource, request.verb
        names.setdefault(key, set()).add("" if request.verb in _UNNAMED else request.name)
    written = {key[:2] for key, objects in names.items() if "" in objects and key[2] in _WRITES and key[1] != "secrets"}
    verbs: dict[tuple[str, str, tuple[str, ...]], set[str]] = {}
    for (group, resource, verb), objects in names.items():
        is_read = verb == "get" and (group, resource) in written  # whoever may write all of them may read one
        is_any = "" in objects or len(objects) > _MOST_NAMES or is_read
        verbs.setdefault((group, resource, () if is_any else tuple(sorted(objects))), set()).add(verb)
    resources: dict[tuple[str, tuple[str, ...], tuple[str, ...]], set[str]] = {}
    for (group, resource, named), allowed in verbs.items():
        ordered = tuple(sorted(allowed, key=_verb_order))
        resources.setdefault((group, named, ordered), set()).add(resource)
    return [
        {
            "apiGroups": [group],
            "resources": sorted(kinds),
            **({"resourceNames": list(named)} if named else {}),
            "verbs": list(ordered),
        }
        for (group, named, ordered), kinds in sorted(resources.items())
    ]


_VERB_ORDER: Final = ("get", "list", "watch", "create", "update", "patch", "delete")


def _verb_order(verb: str) -> tuple[int, str]:
    return (_VERB_ORDER.index(verb) if verb in _VERB_ORDER else len(_VERB_ORDER), verb)


def role_manifests(
    name: str, requests: Mapping[str, Sequence[GrantedRequest]], subject: Subject, new_namespaces: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Return a Role and its binding for each namespace, and a ClusterRole for "" (the whole cluster).

    `new_namespaces` are created first, because a Role needs its namespace.
    """
    manifests: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        for namespace in sorted(new_namespaces)
    ]
    everywhere = set(requests.get("", ()))
    for namespace in sorted(requests):
        own = [request for request in requests[namespace] if not namespace or request not in everywhere]
        if not own:
            continue
        kind = "Role" if namespace else "ClusterRole"
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        version = f"{RBAC}/v1"
        role_ref = {"apiGroup": RBAC, "kind": kind, "name": name}
        manifests += [
            {"apiVersion": version, "kind": kind, "metadata": metadata, "rules": role_rules(own)},
            {
                "apiVersion": version,
                "kind": f"{kind}Binding",
                "metadata": dict(metadata),
                "roleRef": role_ref,
                "subjects": [subject.body],
            },
        ]
    return manifests


LISTS_MISSING: Final = (
    "so versions and states are partly unknown. `--verbose` lists them, `kymatui rights` prints the Role."
)
"""The end of the line about several lists that the user may not read."""


def role_hint(*words: str) -> str:
    """Return the command that prints the Role for an action; `words` are that action and its arguments, if known."""
    known = words if words[:1] and words[0] in ACTIONS else ()
    same = " with the arguments of this command" if len(known) == 1 else ""
    return f"`{' '.join(('kymatui rights', *known))}`{same} prints the Role that allows it"
