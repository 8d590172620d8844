"""Takes every real module the whole way, by the library and by a Manifest: installed, checked, upgraded, uninstalled.

    python -m tests.benchmarks.every_module SHARED [raw] [charts] [samples] [NAME...]

SHARED is the folder of reference data. Prints a line for each module and way, what the rules keep, and a summary; ends
with 1 where anything failed. After every way the whole cluster is compared with what it held before.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.crds import read_crds
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.engine.apply.planner import plan
from kymatui.engine.bundles import yaml_objects
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.jobs.run import SystemClock
from kymatui.engine.plans.plan import Intent
from kymatui.engine.sources import chart_source
from kymatui.engine.sources.render_target import chart_target
from kymatui.errors import KymatuiError
from kymatui.sandbox.sandbox_process import RunningSandbox, start_sandbox
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.engine import walking
from tests.engine.samples import Repository, Samples
from tests.engine.walking import Desk, Subject, Trouble

NAMESPACE = "walk"


def raw_subjects(shared: Path) -> Iterator[Subject]:
    folders = (shared / "kyma" / "catalog" / "derived" / "raw-manifests", shared / "kyma" / "raw-manifests")
    for path in sorted(path for folder in folders for path in folder.glob("*.yaml")):
        yield raw_subject(path)


def raw_subject(path: Path) -> Subject:
    texts = (path.read_bytes(), walking.with_config_map(path.read_bytes(), "kyma-system"))
    name = path.stem.replace(".", "-").replace("_", "-")

    def make(version: int, cluster: KubeCluster) -> Bundle:
        return yaml_objects.from_text(texts[version], name=name, namespace="kyma-system", source=path.name)

    return Subject(name, "kyma-system", make, texts, "raw")


def chart_subjects(shared: Path) -> Iterator[Subject]:
    for path in sorted((shared / "helm" / "charts").glob("*.tgz")):
        yield chart_subject(path.stem, path.read_bytes())
    for folder in sorted((shared / "kyma" / "helm-charts").iterdir()):
        yield chart_subject(folder.name, walking.packed(folder))


def chart_subject(title: str, archive: bytes) -> Subject:
    archives = (archive, walking.newer_chart(archive))
    name = title.lower().replace(".", "-").replace("_", "-")[:40].strip("-")

    def make(version: int, cluster: KubeCluster) -> Bundle:
        loaded = chart_source.from_archive(archives[version], title)
        target = chart_target(cluster, installed=version > 0, revision=version + 1)
        return chart_source.chart_bundle(loaded, name=name, namespace=NAMESPACE, target=target)

    return Subject(name, NAMESPACE, make, archives, "chart")


MADE_BY_CODE = {
    "istio-ztunnel": ("ConfigMap", "istio-ca-root-cert"),  # istiod, which is another chart
    "kedacore-keda": ("Secret", "kedaorg-certs"),  # its own operator
    "kubernetes-ingress-nginx": ("Secret", "kubernetes-ingress-nginx-admission"),  # the program of a hook's Job
}
"""What pods of a chart wait for, and only running code makes: a sandbox has no containers, so the walk makes it.

As in a real cluster they wait for ever without it, in the words of a kubelet: "not found".
"""


class Walk:
    """All subjects of a kind on one cluster."""

    def __init__(self, cluster: KubeCluster, desk: Desk) -> None:
        self._cluster, self._desk = cluster, desk
        self.failed: list[str] = []
        self.counts: dict[tuple[str, str], Counter[str]] = {}

    def walk(self, subject: Subject) -> None:
        """What the library refuses, a Manifest has to refuse, too: in words, and with nothing written."""
        if subject.name in MADE_BY_CODE:
            kind, name = MADE_BY_CODE[subject.name]
            body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}}
            self._cluster.apply(body, manager="code")
        if self._refused(subject):
            self._way("library", subject, lambda: walking.refused_by_library(subject, self._cluster), "refused")
            self._way("Manifest", subject, lambda: walking.refused_by_manifest(subject, self._desk), "refused")
            return
        self._way("library", subject, lambda: walking.by_library(subject, self._cluster))
        self._way("Manifest", subject, lambda: walking.by_manifest(subject, self._desk))

    def _refused(self, subject: Subject) -> bool:
        """Whether it is nothing to install here: it does not render, or asks for kinds that nobody serves."""
        try:
            bundle = subject.make(0, self._cluster)
            return bool(plan(Intent(bundle), self._cluster, SystemClock()).blockers)
        except KymatuiError:
            return True

    def _way(self, way: str, subject: Subject, go: Callable[[], set[str]], good: str = "ok") -> None:
        before, began = walking.holdings(self._cluster), time.monotonic()
        try:
            kept = go() | walking.same_again(self._cluster, before)
            words, result = "; ".join(sorted(kept)), good
        except (KymatuiError, Trouble) as error:
            words, result = f"{type(error).__name__}: {error}", "FAIL"
            self.failed.append(f"{way} {subject.name}")
        seconds = time.monotonic() - began
        print(f"{result:8} {way:8} {subject.name:48} {seconds:6.1f} s  {words[:900]!r}", flush=True)
        self.counts.setdefault((subject.kind, way), Counter())[result] += 1
        walking.sweep(self._cluster, before)


def main() -> None:
    shared, wanted = Path(sys.argv[1]), set(sys.argv[2:])
    kinds = wanted & {"raw", "charts", "samples"} or {"raw", "charts", "samples"}
    names = wanted - {"raw", "charts", "samples"}
    failed: list[str] = []
    with (
        start_sandbox(clusters=("new", "old", "jan23", "feb23"), empty=True) as sandbox,
        tempfile.TemporaryDirectory() as cache,
    ):
        if "raw" in kinds:
            failed += walked(sandbox, "new", raw_subjects(shared), names, Path(cache), shared)
        if "charts" in kinds:
            failed += walked(sandbox, "old", chart_subjects(shared), names, Path(cache), shared)
        if "samples" in kinds:
            for context, generation in (("jan23", "jan23"), ("feb23", "feb23")):
                failed += sampled(sandbox, context, generation, Path(cache), shared)
    print("failed:", ", ".join(failed) or "none")
    sys.exit(1 if failed else 0)


def walked(
    sandbox: RunningSandbox, context: str, subjects: Iterator[Subject], names: set[str], cache: Path, shared: Path
) -> list[str]:
    cluster = open_cluster(SessionOptions(kubeconfig=str(sandbox.kubeconfig), context=context))
    prepare(cluster, shared, "feb23" if context == "old" else "")
    with Desk(cluster, sandbox.registry, cache) as desk:
        walk = Walk(cluster, desk)
        for subject in subjects:
            if not names or any(name in subject.name for name in names):
                walk.walk(subject)
    for (kind, way), count in sorted(walk.counts.items()):
        print(f"{kind:8} by {way:8}: {count['ok']} good, {count['refused']} refused, {count['FAIL']} failed")
    return walk.failed


def sampled(sandbox: RunningSandbox, context: str, generation: str, cache: Path, shared: Path) -> list[str]:
    """The samples of the module-manager, with the definitions of one of its generations; each upgraded once."""
    cluster = open_cluster(SessionOptions(kubeconfig=str(sandbox.kubeconfig), context=context))
    prepare(cluster, shared, generation)
    failed: list[str] = []
    with Desk(cluster, sandbox.registry, cache) as desk, Repository() as repository:
        samples = Samples(shared, desk, repository)
        ways: dict[str, list[walking.Json]] = {
            "everything": [samples.everything(0), samples.everything(1)],
            "kustomization": [samples.layered_kustomization()] * 2,
            "published": [samples.module_manager()] * 2,
        }
        for name, bodies in ways.items():
            if name == "published":  # its definition is not its own: it has to be there before
                folder = shared / "kyma" / "crds" / "module-manager-v1alpha1"
                for body in walking.definitions_in(folder / f"{generation}-sample_crd.yaml"):
                    cluster.apply(body, manager="walk")
            before, began, result, words = walking.holdings(cluster), time.monotonic(), "ok", ""
            try:
                for body in bodies:
                    ref = desk.put(body)
                    desk.settle(ref)
                desk.gone(ref)
                words = "; ".join(sorted(walking.same_again(cluster, before)))
            except (KymatuiError, Trouble) as error:
                result, words = "FAIL", f"{type(error).__name__}: {error}"
                failed.append(f"{generation} {name}")
                walking.sweep(cluster, before)
            print(
                f"{result:8} Manifest {generation} {name:42} {time.monotonic() - began:6.1f} s  {words!r}", flush=True
            )
    return failed


def prepare(cluster: KubeCluster, shared: Path, generation: str) -> None:
    """Kyma's definitions, or those of a generation of the first module-manager, and the namespaces to work in."""
    folder = shared / "kyma" / "crds" / "module-manager-v1alpha1"
    path = folder / f"{generation}-operator.kyma-project.io_manifests.yaml"
    for body in [*walking.definitions_in(path)] if generation else read_crds():
        cluster.apply(body, manager="walk")
    for name in ("kyma-system", NAMESPACE):
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, manager="walk")
    kind = GroupVersionKind(walking.OWN, "v1alpha1" if generation else "v1beta2", "Manifest")
    walking.wait_for(walking.served(cluster, kind), lambda: "Manifests are not served")


if __name__ == "__main__":
    main()
