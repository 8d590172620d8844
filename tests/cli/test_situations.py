"""`kymatui sandbox situation`: what a real lifecycle-manager leaves behind, brought about and told everywhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kymatui.cli.main import main
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, LABEL_MODULE_NAME, LABEL_SKIP, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.modules.risks import NO_ACCESS
from kymatui.engine.cluster.ports import PatchKind
from kymatui.sandbox.situations import SITUATIONS
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
from kymatui.sessions.control_plane.pair_session import open_pair
from tests.documents import DOCUMENTS
from tests.domain.agreement import ask_pair, contradictions
from tests.sandboxes.starting import ready_sandbox

pytestmark = pytest.mark.xdist_group("situations")  # one sandbox for all of them
PATIENCE = 30.0
SURFACES = 40
MANIFEST = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Manifest")


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    with ready_sandbox("kcp", "skr", empty=False, settled=True) as running:
        yield running.kubeconfig


@pytest.fixture(autouse=True)
def environment(kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.delenv("KYMATUI_READ_ONLY", raising=False)


@pytest.mark.parametrize("command", ["delete", "disable", "unmanage"])
def test_plans_for_a_runtime_name_the_paused_manifest_of_its_control_plane(
    command: str, kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = open_cluster(SessionOptions(kubeconfig=str(kubeconfig), context="kcp"))
    labels = {LABEL_KYMA_NAME: "skr", LABEL_MODULE_NAME: "istio"}
    (ref,) = (read_ref(raw) for raw in cluster.list(MANIFEST) if labels.items() <= raw["metadata"]["labels"].items())
    words = f"Manifest {ref.path} is paused by the label skip-reconciliation, so the module is neither changed"
    for value, is_named in (("true", True), (None, False)):
        cluster.patch(ref, {"metadata": {"labels": {LABEL_SKIP: value}}}, PatchKind.MERGE)
        main([command, "istio", "--remote", "skr", "--dry-run"])
        printed = capsys.readouterr()
        assert (words in printed.out + printed.err) is is_named, printed


@pytest.mark.parametrize(
    ("situation", "command", "words"),
    [
        ("policy-pending", ("module", "nats", "--remote", "skr"), "still has CreateAndDelete"),
        ("cr-stays", ("module", "telemetry", "--remote", "skr"), "waits for the module CR and does not delete it"),
        ("cr-stays", ("disable", "telemetry", "--remote", "skr", "--dry-run"), "never removes the finalizer"),
        ("cr-stays", ("delete", "telemetry", "--remote", "skr", "--dry-run"), "never removes the finalizer"),
        (
            "not-applied",
            ("module", "btp-operator", "--remote", "skr"),
            "reports 1.1.17 as Ready, but the workload still has another version",
        ),
        ("may-not-wait", ("module", "serverless", "--remote", "skr"), "does not wait for them"),
        ("may-not-wait", ("disable", "serverless", "--remote", "skr", "--dry-run"), "does not wait for them"),
        ("may-not-wait", ("delete", "serverless", "--remote", "skr", "--dry-run"), "does not wait for them"),
        (
            "still-releasing",
            ("module", "btp-operator", "--remote", "skr"),
            "Keep the module's entry in the Kyma until the Manifest is gone",
        ),
        (
            "still-releasing",
            ("disable", "btp-operator", "--remote", "skr", "--dry-run"),
            "Keep the module's entry in the Kyma until",
        ),
        (
            "still-releasing",
            ("delete", "btp-operator", "--remote", "skr", "--dry-run"),
            "Keep the module's entry in the Kyma until",
        ),
        ("taken-over", ("compare", "skr"), "In the runtime: apply yours under another name"),
        ("taken-over", ("module", "keda", "--remote", "skr"), "apply yours under another name"),
        ("kyma-deleted", ("compare", "skr"), "uninstalls what only the runtime's Kyma requests"),
        ("kyma-deleted", ("catalog", "--remote", "skr"), "Kyma kyma-system/default of the runtime is being deleted"),
        ("kyma-deleted", ("disable", "istio", "--remote", "skr", "--dry-run"), "of the runtime is being deleted"),
        ("kyma-deleted", ("catalog", "--context", "skr"), "uninstalls what only the runtime's Kyma requests"),
    ],
)
def test_a_situation_is_foreseen(
    situation: str, command: tuple[str, ...], words: str, kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sandbox", "situation", situation, "--kubeconfig", str(kubeconfig)]) == 0
    capsys.readouterr()
    end = time.monotonic() + PATIENCE
    while True:
        main(list(command))
        printed = capsys.readouterr()
        if words in printed.out + printed.err:
            return
        assert time.monotonic() < end, printed.out + printed.err
        time.sleep(0.5)


@pytest.mark.parametrize(("output", "expected"), [("wide", 3), ("json", 2)])
def test_a_runtime_that_lifecycle_manager_cannot_reach_says_so(
    output: str, expected: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sample fleet has two of them; a real lifecycle-manager says why in their Manifests alone."""
    assert main(["fleet", "--context", "kcp", "-o", output]) == 0
    printed = capsys.readouterr().out
    assert printed.count(f"Action needed: lifecycle-manager has no access to the runtime ({NO_ACCESS})") == 2
    assert printed.count("REASON") + 2 == expected


def test_only_a_sandbox_is_changed(
    kubeconfig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "kubeconfig"
    other.write_text("apiVersion: v1\nkind: Config\n")
    assert main(["sandbox", "situation", "cr-stays", "--kubeconfig", str(other)]) == 1
    assert "is not a kubeconfig of a sandbox" in capsys.readouterr().err
    monkeypatch.setenv("KYMATUI_READ_ONLY", "1")
    assert main(["sandbox", "situation", "cr-stays", "--kubeconfig", str(kubeconfig)]) == 4


def test_the_guide_says_what_each_situation_is() -> None:
    page = DOCUMENTS["docs/guide/sandbox.md"]
    assert [name for name in SITUATIONS if f"| `{name}` | " not in page] == []


@pytest.mark.parametrize("situation", ["", *SITUATIONS])
def test_no_surface_contradicts_another_in_the_sample_world(situation: str, kubeconfig: Path) -> None:
    """Each situation comes on top of those before it."""
    if situation:
        assert main(["sandbox", "situation", situation, "--kubeconfig", str(kubeconfig)]) == 0
    session = open_pair(RemoteOptions(SessionOptions(kubeconfig=str(kubeconfig), context="kcp"), runtime="skr"))
    try:
        session.start(lambda: None)
        assert session.wait_complete(PATIENCE)
        answers = ask_pair(session.pair())
    finally:
        session.close()
    assert len({answer.surface for answer in answers}) > SURFACES
    assert contradictions(answers) == []
