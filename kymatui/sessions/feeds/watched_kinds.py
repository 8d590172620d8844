"""Which kinds a catalog is made of: Kyma's own, workloads that can be managers, definitions, modules' own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from kymatui.domain.installed import INVENTORIES, RELEASES
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.snapshot.cluster_index import INVENTORY_FEED, RELEASE_FEED

OPERATOR = "operator.kyma-project.io"
KYMA_NAMESPACE = "kyma-system"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


class WatchedKind(Struct, frozen=True):
    """A kind that is always wanted, with the name that its feed has even while nothing is known of the server.

    `labels` select some of its objects; with `metadata_only` the server sends no more than that.
    """

    feed: str
    group: str
    kind: str
    versions: tuple[str, ...]
    labels: str = ""
    metadata_only: bool = False


KYMA_KINDS = (
    WatchedKind(f"kymas.{OPERATOR}", OPERATOR, "Kyma", ("v1beta2", "v1beta1")),
    WatchedKind(f"moduletemplates.{OPERATOR}", OPERATOR, "ModuleTemplate", ("v1beta2", "v1beta1")),
    WatchedKind(f"modulereleasemetas.{OPERATOR}", OPERATOR, "ModuleReleaseMeta", ("v1beta2",)),
    WatchedKind(f"manifests.{OPERATOR}", OPERATOR, "Manifest", ("v1beta2", "v1beta1")),
)
WORKLOADS = (
    WatchedKind("deployments.apps", "apps", "Deployment", ("v1",)),
    WatchedKind("statefulsets.apps", "apps", "StatefulSet", ("v1",)),
    WatchedKind("daemonsets.apps", "apps", "DaemonSet", ("v1",)),
)
DEFINITION = WatchedKind(DEFINITIONS, "apiextensions.k8s.io", "CustomResourceDefinition", ("v1",), metadata_only=True)
RECORDS = (
    WatchedKind(INVENTORY_FEED, "", "ConfigMap", ("v1",), INVENTORIES),
    WatchedKind(RELEASE_FEED, "", "Secret", ("v1",), RELEASES, metadata_only=True),
)
"""What kymatui and helm installed; of Secrets no data is ever asked for."""
WATCHED_KINDS = (*KYMA_KINDS, *WORKLOADS, DEFINITION, *RECORDS)
_FIXED = {(fixed.group, fixed.kind) for fixed in (*KYMA_KINDS, *WORKLOADS, DEFINITION)}


def module_kinds(
    templates: Iterable[Mapping[str, Any]],
    outside: Iterable[Mapping[str, Any]] = (),
    installed: Iterable[GroupVersionKind] = (),
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the kinds of module CRs by group and kind, with the versions in templates.

    Templates may say anything: what names no kind is passed over here, and told of by the domain. Those from outside
    of the cluster, and the default CRs of what is `installed`, are not trusted to name built-in kinds: nobody wants
    every Secret listed for a file on the web.
    """
    kinds: dict[tuple[str, str], dict[str, None]] = {}
    trusted = [kind for template in templates if (kind := _data_kind(template)) is not None]
    others = [kind for template in outside if (kind := _data_kind(template)) is not None and _is_custom(kind)]
    others += filter(_is_custom, installed)
    for kind in (*trusted, *others):
        if (kind.group, kind.kind) not in _FIXED:
            kinds.setdefault((kind.group, kind.kind), {})[kind.version] = None
    return {key: tuple(versions) for key, versions in sorted(kinds.items())}


def _is_custom(kind: GroupVersionKind) -> bool:
    """Return whether a CRD defines the kind: its group has a dot and does not end in .k8s.io."""
    return "." in kind.group and not kind.group.endswith(".k8s.io")


def _data_kind(template: Mapping[str, Any]) -> GroupVersionKind | None:
    spec = template.get("spec")
    data = spec.get("data") if isinstance(spec, Mapping) else None
    if not isinstance(data, Mapping):
        return None
    api_version, kind = data.get("apiVersion"), data.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str) or not api_version or not kind:
        return None
    return GroupVersionKind.of(api_version, kind)
