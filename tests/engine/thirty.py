"""A module of thirty objects with hooks: a chart, and the same as plain manifests."""

from __future__ import annotations

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.inventories import Origin
from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.engine import library
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.retries import RetryPolicy
from kymatui.engine.jobs.lease import LeaseTerms
from kymatui.engine.jobs.run import RunLimits
from tests.engine import objects as make
from tests.engine.charts import chart_in, hook
from tests.engine.places import Json

LIMITS = RunLimits(poll=1.0, lease=LeaseTerms(timeout=30.0), retry=RetryPolicy(20, Backoff(0.02, 0.5, 1.0, 1.25)))
OPTIONS = library.EngineOptions(limits=LIMITS)


def objects(namespace: str, group: str, version: str) -> tuple[Json, ...]:
    return (
        make.definition(group, "Thing"),
        make.definition(group, "Other", scope="Cluster"),
        make.service_account("manager"),
        *(make.cluster_role(f"{namespace}-role-{number}", make.rule("pods", "get")) for number in range(5)),
        *(make.config_map(f"settings-{number}", version=version) for number in range(10)),
        *(make.secret(f"secret-{number}", value=version) for number in range(4)),
        make.config_map(f"only-in-{version}"),
        make.deployment("manager", image=f"registry.example/manager:{version}"),
        make.deployment("webhook", image=f"registry.example/webhook:{version}"),
        *(make.custom(group, "Thing", f"own-{number}", size=1) for number in range(3)),
        make.custom(group, "Other", f"{namespace}-wide"),
    )


def as_chart(namespace: str, group: str, version: str) -> Bundle:
    hooks = (
        hook(make.job("prepare"), "pre-install", "pre-upgrade", weight=-5),
        hook(make.job("migrate"), "pre-upgrade", "pre-install", policies=("hook-succeeded",)),
        hook(make.job("announce"), "post-install", "post-upgrade"),
        hook(make.job("farewell"), "pre-delete", policies=("hook-succeeded",)),
    )
    default = make.custom(group, "Thing", "default", size=7)
    return chart_in(
        namespace, *objects(namespace, group, version), version=version, hooks=hooks, resource=default, name="thirty"
    )


def as_manifest(namespace: str, group: str, version: str) -> Bundle:
    default = make.custom(group, "Thing", "default", size=7)
    origin = Origin("raw", "thirty.yaml")
    return Bundle("thirty", namespace, origin, version, objects(namespace, group, version), resource=default)


def install(cluster: KubeCluster, bundle: Bundle) -> None:
    library.install(bundle, cluster, options=OPTIONS)


def uninstall(cluster: KubeCluster, name: str, namespace: str) -> None:
    library.uninstall(name, namespace, cluster, options=OPTIONS)
