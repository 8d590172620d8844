"""Commands in the context of a control plane with one runtime, without `--remote`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kymatui.domain.kubernetes.object_meta import LABEL_MODULE_NAME, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.manifests import FINALIZER, FINALIZER_MODULE_CR, LABEL_FINALIZER
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.engine.places import eventually
from tests.sandboxes.starting import ready_sandbox

pytestmark = pytest.mark.xdist_group("control_planes")  # its sandbox starts on one worker

VERBS = (
    "enable connectivity-proxy",
    "disable keda",
    "channel keda fast",
    "policy keda Ignore",
    "manage cloud-manager",
    "unmanage keda",
    "delete keda",
)


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    with ready_sandbox("kcp", "a1", empty=False, settled=True, fleet=1) as running:
        yield running.kubeconfig


def modules(run: Any, *words: str) -> dict[str, Any]:
    _, out, _ = run("catalog", "-o", "json", "--context", "kcp", *words)
    return {module["name"]: module for module in json.loads(out)["modules"]}


def test_modules_of_the_runtime_are_as_enabled_as_through_the_runtime(run: Any) -> None:
    alone, through = modules(run), modules(run, "--remote", "a1")
    reported = [name for name, module in alone.items() if module["installed"]]
    assert len(reported) > 10
    assert {name: alone[name]["managed"] for name in reported} == {name: through[name]["managed"] for name in reported}
    deleting = [name for name, module in alone.items() if module["presence"] == "deleting"]
    assert deleting == [name for name, module in through.items() if module["presence"] == "deleting"] == ["api-gateway"]


@pytest.mark.parametrize("verb", VERBS)
def test_a_change_without_effect_names_the_command_that_has_one(verb: str, run: Any) -> None:
    status, _, err = run(*verb.split(), "--yes", "--context", "kcp")
    assert (status, f"`kymatui {verb} --remote a1`" in err, "no changes made" in err) == (2, True, True), err
    status, out, err = run(*verb.split(), "--dry-run", "--context", "kcp", "--remote", "a1")
    assert "run in another cluster" not in out + err
    assert "to change" in out + err or verb.startswith("delete"), out + err


def test_finalizers_are_not_denied_where_the_runtime_is_not_read(run: Any) -> None:
    status, out, err = run("finalizers", "api-gateway", "--context", "kcp")
    assert (status, out, "`kymatui finalizers api-gateway --remote a1`" in err) == (2, "", True)
    status, out, _ = run("finalizers", "api-gateway", "--context", "kcp", "--remote", "a1")
    assert (status, "deletion-hook" in out) == (0, True)


def test_an_audit_misses_no_object_of_the_runtime(run: Any) -> None:
    _, out, _ = run("audit", "-o", "json", "--context", "kcp")
    rules = {finding["rule"] for finding in json.loads(out)["findings"]}
    assert "drift.unseen" in rules
    assert not {"drift.missing", "drift.fields"} & rules


MANIFESTS = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Manifest")
KYMA = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1beta2", "Kyma"), "kyma-system", "default")
ISTIO = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1alpha2", "Istio"), "kyma-system", "default")


def disabled_with_policy_ignore(kubeconfig: Path, module: str, *finalizers: str) -> tuple[Cluster, Cluster, ObjectRef]:
    """Set Ignore in the Manifest alone, and remove the module from the runtime's Kyma with another tool."""
    control, runtime = (open_cluster(SessionOptions(str(kubeconfig), name)) for name in ("kcp", "a1"))
    (manifest,) = (
        read_ref(raw) for raw in control.list(MANIFESTS) if raw["metadata"]["labels"].get(LABEL_MODULE_NAME) == module
    )
    held = {"metadata": {"finalizers": list(finalizers)}, "spec": {"customResourcePolicy": "Ignore"}}
    control.patch(manifest, held, PatchKind.MERGE)
    kyma = runtime.get(KYMA)
    assert kyma is not None
    rest = [entry for entry in kyma["spec"]["modules"] if entry["name"] != module]
    runtime.patch(KYMA, {"spec": {"modules": rest}}, PatchKind.MERGE)
    return control, runtime, manifest


def test_a_module_cr_that_lifecycle_manager_left_is_deleted_from_the_runtime(kubeconfig: Path, run: Any) -> None:
    """No Manifest is readable there, which would say that the policy is Ignore."""
    control, runtime, manifest = disabled_with_policy_ignore(kubeconfig, "istio", FINALIZER, LABEL_FINALIZER)
    advice = "Delete it to continue (`kymatui delete istio --cascade`)"
    eventually(lambda: advice in run("module", "istio", "--context", "a1")[1], "it is blocked")
    status, out, err = run("delete", "istio", "--yes", "--context", "a1")
    assert (status, "deleted before the module: lifecycle-manager left it" in err, runtime.get(ISTIO) is None) == (
        2,
        True,
        False,
    ), out + err
    status, out, err = run("delete", "istio", "--yes", "--cascade", "--no-backup", "--context", "a1")
    assert (status, runtime.get(ISTIO), control.get(manifest)) == (0, None, None), out + err


def test_a_manifest_that_its_finalizer_holds_is_in_the_plan_and_ends_by_a_command(kubeconfig: Path, run: Any) -> None:
    control, _, manifest = disabled_with_policy_ignore(
        kubeconfig, "transparent-proxy", FINALIZER, LABEL_FINALIZER, FINALIZER_MODULE_CR
    )
    remove = f"kymatui finalizers transparent-proxy --object Manifest:{manifest.path} --remove {FINALIZER_MODULE_CR}"
    remote = ("--context", "kcp", "--remote", "a1")
    command = f"(`{remove} --remote a1`)"
    eventually(lambda: command in run("delete", "transparent-proxy", "--dry-run", *remote)[1], "it is planned")
    words = [*remove.split()[1:], *remote[:2], "--remote", "a1", "--typed", manifest.path]
    assert run(*words)[0] == 0
    assert control.get(manifest) is None
