"""Whose an object is: the module's, the default CR, a user's, another installation's, shared, or kept.

Every deletion takes the answer from here: delete, prune, uninstall, disable, adopt, and the operator's controllers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.gitops import git_source
from kymatui.domain.kubernetes.json_reader import JsonReader, mapping_at
from kymatui.domain.kubernetes.object_meta import LABEL_MANAGED_BY, OPERATOR, field_managers, read_meta
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.kyma_keeper import OWN_OPERATOR
from kymatui.domain.kyma.problems import Actor

LABEL_PART_OF: Final = "applyset.kubernetes.io/part-of"
ANNOTATION_RELEASE: Final = "meta.helm.sh/release-name"
ANNOTATION_RELEASE_NAMESPACE: Final = "meta.helm.sh/release-namespace"
LIFECYCLE_APPLIER: Final = "declarative.kyma-project.io/applier"
ANNOTATIONS_OWNED_BY: Final = (f"deprecated-{OPERATOR}/owned-by", f"{OPERATOR}/owned-by")
ANNOTATION_MANIFEST: Final = "kymatui.io/manifest"
"""The Manifest of an object that kymatui's operator installed, as "namespace/name". lifecycle-manager's own marks are
not used, as they mean that it manages the object."""
RESOURCE_POLICY: Final = "helm.sh/resource-policy"
ANNOTATION_RUN: Final = "kymatui.io/run"
_HOOK: Final = "helm.sh/hook"
_LONGEST_VALUE: Final = 40  # characters of an unknown value in a message


KYMA_CLI_MANAGER: Final = "cli"
DASHBOARD_MANAGER: Final = "unknown"  # what the server calls a client without a name, as the dashboard is
TOOL_MANAGERS: Final = {
    KYMA_CLI_MANAGER: "kyma CLI",
    DASHBOARD_MANAGER: "the dashboard",
    "kustomize-controller": "Flux",
    "argocd-controller": "Argo CD",
    **dict.fromkeys(("kubectl-client-side-apply", "kubectl", "kubectl-create", "kubectl-replace"), "kubectl"),
}
"""The tools that write whole objects and keep no record, by field manager; edits of kubectl have other managers."""
_WRITING_TOOLS: Final = {**TOOL_MANAGERS, "helm": "helm"}


def applying_tool(raw: object, own: Owner) -> str:
    """Return what wrote an object: the source in Git, an ApplySet, or a tool by its manager; "" for none of them.

    `own` is the ApplySet of kymatui, which stays on objects when its record is deleted.
    """
    if (source := git_source(raw)) is not None:
        return str(source)
    managers, part_of = field_managers(raw), read_meta(JsonReader(raw)).labels.get(LABEL_PART_OF, "")
    tool = next((tool for manager, tool in _WRITING_TOOLS.items() if manager in managers), "")
    return f"{tool} ApplySet {part_of}" if tool and part_of not in ("", own.name) else tool


class OwnerKind(StrEnum):
    """The installers that mark their objects."""

    HELM = "Helm release"
    APPLYSET = "set"
    LIFECYCLE_MANAGER = "lifecycle-manager"


class Owner(Struct, frozen=True):
    """An owner; `name` is "namespace/release", the id of an ApplySet, or a Manifest."""

    kind: OwnerKind
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind.value} {self.name}".strip()


def owner_text(owner: Owner) -> str:
    """Return an owner for a person, who knows Manifests by their names."""
    return f"Manifest {owner.name}" if owner.kind is OwnerKind.LIFECYCLE_MANAGER and owner.name else str(owner)


def read_owner(live: Mapping[str, Any]) -> Owner | None:
    """Return the owner of an object, None without marks.

    lifecycle-manager owns what it applies, whatever the other marks. Its label alone counts only without other
    marks, because modules that are installed by Manifests have it too.
    """
    labels, annotations = (mapping_at(live, "metadata", field) for field in ("labels", "annotations"))
    manifest = owning_manifest(live)
    if applying_keeper(live) is not None:
        return Owner(OwnerKind.LIFECYCLE_MANAGER, manifest)
    if annotations.get(ANNOTATION_RELEASE):
        namespace = annotations.get(ANNOTATION_RELEASE_NAMESPACE) or "default"
        return Owner(OwnerKind.HELM, f"{namespace}/{annotations[ANNOTATION_RELEASE]}")
    if labels.get(LABEL_PART_OF):
        return Owner(OwnerKind.APPLYSET, str(labels[LABEL_PART_OF]))
    if labels.get(LABEL_MANAGED_BY) == "kyma" or manifest:
        return Owner(OwnerKind.LIFECYCLE_MANAGER, manifest)
    return None


def owning_manifest(raw: object) -> str:
    """Return the Manifest, or of a Kyma the control plane's, that owns it by annotation: "namespace/name", or ""."""
    annotations = read_meta(JsonReader(raw)).annotations
    return next((annotations[name] for name in ANNOTATIONS_OWNED_BY if name in annotations), "")


def is_applied_from(raw: object, manifest: str) -> bool:
    """Return whether lifecycle-manager applied an object from a Manifest and so will delete it.

    `manifest` is "namespace/name".
    """
    return bool(manifest) and owning_manifest(raw) == manifest and applying_keeper(raw) is not None


def applying_keeper(raw: object) -> Actor | None:
    """Return what applies an object for a Kyma: lifecycle-manager or kymatui's operator; None if neither does.

    The operator also installs what Manifests of people request, which has no mark of a Kyma's module.
    """
    managers = field_managers(raw)
    if LIFECYCLE_APPLIER in managers:
        return Actor.KLM
    return Actor.OPERATOR if OWN_OPERATOR in managers and owning_manifest(raw) else None


def was_created_by_hook(live: Mapping[str, Any]) -> bool:
    """Return whether a hook of kymatui or helm created the object; the name alone may be a user's."""
    annotations = live["metadata"].get("annotations") or {}
    return ANNOTATION_RUN in annotations or _HOOK in annotations


def resource_policy(body: Mapping[str, Any]) -> str:
    """Return why an object outlives its installation by its own annotation, "" if it does not.

    helm trims the value and lowers its letters; an object with any other value is not deleted by helm either.
    """
    annotations = mapping_at(body, "metadata", "annotations")
    if RESOURCE_POLICY not in annotations:
        return ""
    value = str(annotations[RESOURCE_POLICY])
    if value.strip().lower() == "keep":
        return f"kept by its annotation {RESOURCE_POLICY}"
    return f"its annotation {RESOURCE_POLICY} is {value[:_LONGEST_VALUE]!r}; as helm, kymatui deletes no object with it"


_PROTECTIONS: Final = {"services.cloud.sap.com/preventDeletion": "the webhook of the SAP BTP service operator"}
"""Annotations that are "true" where a webhook refuses the deletion of the object, and whose webhook it is."""


def deletion_protection(body: Mapping[str, Any]) -> str:
    """Return why a server refuses to delete an object, as far as its annotations tell; "" if it does not."""
    annotations = mapping_at(body, "metadata", "annotations")
    names = [name for name in _PROTECTIONS if str(annotations.get(name, "")).lower() == "true"]
    return next((f"{_PROTECTIONS[name]} refuses to delete it: its annotation {name} is true" for name in names), "")


class ObjectOwnership(StrEnum):
    """Whose an object of a module's kinds is, seen from the module's deletion."""

    MODULE = "module"  # installed with it
    DEFAULT_CR = "default CR"
    USER = "user"  # deleted with consent only; without, it blocks the deletion
    OTHER = "another installation"  # not touched, and blocks nothing
    SHARED = "shared"  # of a kind that any software may use: never deleted, but it blocks without consent
    KEPT = "kept"  # the module's own, which stays
    KEPT_BY_USER = "kept by its user"  # a user's, which its annotation keeps

    @property
    def stays(self) -> bool:
        """Return whether the object outlives the deletion, whatever a person consents to."""
        return self not in (ObjectOwnership.MODULE, ObjectOwnership.DEFAULT_CR, ObjectOwnership.USER)


def ownership_of(*, installed: bool, default: bool, keeps: bool, any_software: bool) -> ObjectOwnership:
    """Return whose an object of a kind that a module handles is, as long as no other installation has the kind.

    installed     the module's inventory has it, or lifecycle-manager applied it from its Manifest
    default       it is the default CR
    keeps         it stays by its annotation, or its inventory says why
    any_software  its kind is Kubernetes' own
    """
    if installed or default:
        return ObjectOwnership.KEPT if keeps else ObjectOwnership.DEFAULT_CR if default else ObjectOwnership.MODULE
    if keeps:
        return ObjectOwnership.KEPT_BY_USER
    return ObjectOwnership.SHARED if any_software else ObjectOwnership.USER


class OwnedObject(Struct, frozen=True):
    """An object that a deletion asks consent for; `owner` is the other installation that has it, "" for none."""

    name: str
    kind: str
    ownership: ObjectOwnership = ObjectOwnership.USER
    owner: str = ""


def describe_objects(objects: Iterable[OwnedObject]) -> str:
    """Return what a deletion asks consent for, by kind and owner: `3 Functions of users and the default CR`."""
    some = list(objects)
    counts = Counter((owned.owner, owned.kind) for owned in some if owned.ownership is not ObjectOwnership.DEFAULT_CR)
    parts = [_counted(counts, owner) for owner in dict.fromkeys(owner for owner, _ in counts)]
    if defaults := sum(owned.ownership is ObjectOwnership.DEFAULT_CR for owned in some):
        parts.append("the default CR" if defaults == 1 else f"{defaults} default CRs")
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _counted(counts: Mapping[tuple[str, str], int], owner: str) -> str:
    kinds = [format_count(count, kind, _plural(kind)) for (name, kind), count in counts.items() if name == owner]
    return f"{', '.join(kinds)} of {f'the {owner}' if owner else 'users'}"


def _plural(kind: str) -> str:
    if kind.endswith(("s", "x", "ch", "sh")):
        return f"{kind}es"
    return f"{kind[:-1]}ies" if kind.endswith("y") and kind[-2:-1] not in "aeiou" else f"{kind}s"
