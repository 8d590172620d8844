"""A chart with objects that outlive it, beside what a second release and users have: for walks over every request.

Its deletion, and an upgrade that drops nearly all of it, leave what is kept and shared, with namespaces and CRDs.
"""

from __future__ import annotations

from typing import Final

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.ownership import RESOURCE_POLICY
from kymatui.engine import library
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.plans.plan import Intent
from tests.engine import objects as make
from tests.engine.charts import chart_in
from tests.engine.places import Json
from tests.engine.thirty import OPTIONS

NAMESPACE: Final = "walked"
GROUP: Final = "walked.example.org"
DATA, SHARED, SECOND = (f"{NAMESPACE}-{name}" for name in ("data", "shared", "second"))
PROTECTED: Final = (
    f"namespaces /{DATA}",
    f"namespaces /{SHARED}",
    f"namespaces /{SECOND}",
    f"configmaps {DATA}/kept",
    f"configmaps {SHARED}/users",
    f"configmaps {SECOND}/second",
    f"customresourcedefinitions.apiextensions.k8s.io /owns.{GROUP}",
    f"customresourcedefinitions.apiextensions.k8s.io /parts.{GROUP}",
    f"owns.{GROUP} {DATA}/kept",
    f"parts.{GROUP} {SECOND}/second",
    f"parts.{GROUP} {SECOND}/users",
)
"""What every run leaves, as `forking.contents` names it."""


def kept(body: Json) -> Json:
    return {**body, "metadata": {**body["metadata"], "annotations": {RESOURCE_POLICY: " Keep"}}}


def crds() -> tuple[Json, ...]:
    return (make.definition(GROUP, "Part"),)


def first(version: str) -> Bundle:
    objects: tuple[Json, ...] = (make.config_map("settings", version=version),)
    if version == "1":
        objects += (
            make.namespace(DATA),
            make.namespace(SHARED),
            make.namespace(f"{NAMESPACE}-gone"),
            kept(make.config_map("kept", DATA)),
            make.config_map("dropped", DATA),
            make.config_map("dropped", SHARED),
            make.config_map("dropped", f"{NAMESPACE}-gone"),
            make.definition(GROUP, "Own"),
            make.definition(GROUP, "Gone"),
            kept(make.custom(GROUP, "Own", "kept", DATA)),
            make.custom(GROUP, "Own", "dropped", DATA),
        )
    return chart_in(NAMESPACE, *objects, name="first", version=version, crds=crds() if version == "1" else ())


def install(cluster: KubeCluster, version: str) -> None:
    """Install the first version, the second release and what users have; or upgrade, pruning all that may go."""
    intent = Intent(first(version), prune_definitions=True, prune_namespaces=True)
    library.install(intent, cluster, options=OPTIONS)
    if version != "1":
        return
    second = (make.config_map("second"), make.custom(GROUP, "Part", "second"))
    library.install(chart_in(SECOND, *second, name="second", crds=crds()), cluster, options=OPTIONS)
    for body in (kept(make.config_map("users", SHARED)), make.custom(GROUP, "Part", "users", SECOND)):
        cluster.apply(body, manager="user", force=True)


def uninstall(cluster: KubeCluster) -> None:
    library.uninstall("first", NAMESPACE, cluster, cascade=True, delete_crds=True, options=OPTIONS)
