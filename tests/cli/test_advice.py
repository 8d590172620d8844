"""Every advice of the sample world and of each situation: its command runs as printed, and the situation ends."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from kymatui.cli.main import main
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.problems import AdviceKind
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.sandbox.situations import SITUATIONS, create_situation
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.sandboxes.starting import ready_sandbox, told_sandbox

pytestmark = pytest.mark.xdist_group("advice")  # one sandbox for all of them, in this order
PATIENCE: Final = 60.0
_OPERATOR: Final = "operator.kyma-project.io"
_KYMA: Final = ObjectRef(GroupVersionKind(_OPERATOR, "v1beta2", "Kyma"), "kyma-system", "default")
_TEMPLATE: Final = ObjectRef(GroupVersionKind(_OPERATOR, "v1beta2", "ModuleTemplate"), "kyma-system", "keda-1.5.0")
_YES: Final = {"channel", "delete", "disable", "edit", "enable", "install", "unpause", "upgrade"}
Json = dict[str, Any]


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    with ready_sandbox("kcp", "skr", empty=False, settled=True) as running:
        yield running.kubeconfig


class Reader:
    """What a person reads of the runtime, and types."""

    def __init__(self, kubeconfig: Path, capsys: pytest.CaptureFixture[str], *options: str) -> None:
        self._kubeconfig, self._capsys, self._options = kubeconfig, capsys, options

    def cluster(self, context: str) -> Cluster:
        return open_cluster(SessionOptions(str(self._kubeconfig), context))

    def run(self, command: str) -> tuple[int, str]:
        """Run a printed command; what asks for a confirmation gets it."""
        words = shlex.split(command)
        if words[0] == "kubectl":
            self._kubectl(words[1:])
            return 0, ""
        words += ["--yes"] if words[1] in _YES else []
        if "--remove" in words:
            words += ["--typed", words[words.index("--object") + 1].partition(":")[2]]
        self._capsys.readouterr()
        status = main(words[1:])
        printed = self._capsys.readouterr()
        return status, printed.out + printed.err

    def advices(self) -> dict[tuple[str, str], str]:
        """Return the command of each advice of the catalog, by module and kind."""
        self._capsys.readouterr()
        assert main(["catalog", *self._options, "-o", "json"]) == 0
        catalog: Json = json.loads(self._capsys.readouterr().out)
        entries = [*({**row, "module": row["name"]} for row in catalog["modules"]), *catalog["problems"]]
        return {
            (entry["module"] or "", entry["adviceKind"]): entry["command"] or ""
            for entry in reversed(entries)
            if entry["advice"]
        }

    def advice(self, module: str, kind: AdviceKind) -> str:
        """Wait for an advice; return its command."""
        until(lambda: (module, kind.value) in self.advices(), f"{module}: {kind}")
        return self.advices()[module, kind.value]

    def follow(self, module: str, kind: AdviceKind) -> None:
        """Carry an advice out and wait until it is no longer given."""
        command = self.advice(module, kind)
        status, printed = self.run(command)
        assert status == 0, f"{command}: {printed}"
        until(lambda: (module, kind.value) not in self.advices(), f"{command} ends it: {self.advices()}")

    def _kubectl(self, words: list[str]) -> None:
        """Do what kubectl would do."""
        verb, kind, *rest = words
        match verb, kind:
            case "create", "secret":
                metadata = {"name": rest[1], "namespace": rest[3]}
                self.cluster("skr").create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
            case "delete", "moduletemplate":
                self.cluster("skr").delete(ObjectRef(_TEMPLATE.kind, rest[2], rest[0]))
            case _:
                pytest.fail(f"kubectl {shlex.join(words)}")


def until(is_true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not is_true():
        assert time.monotonic() < end, what
        time.sleep(0.3)


@pytest.fixture
def reader(
    kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Reader:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.setenv("KUBE_EDITOR", "true")  # saves what it gets
    monkeypatch.delenv("KYMATUI_READ_ONLY", raising=False)
    return Reader(kubeconfig, capsys, "--remote", "skr")


_LAST: Final = ("still-releasing", "kyma-deleted")
_SAMPLES: Final = {
    ("api-gateway", "delete-blocking-objects"),
    ("application-connector", "resume"),
    ("btp-operator", "create-object"),
    ("keda", "resume"),
    ("telemetry", "change-channel"),
    ("transparent-proxy", "create-module-cr"),
}


def test_the_sample_world_has_an_end_for_each_of_its_problems(reader: Reader) -> None:
    advices = reader.advices()
    assert set(advices) == _SAMPLES
    assert all(advices.values())
    for module, kind in sorted(_SAMPLES):
        reader.follow(module, AdviceKind(kind))


def test_community_modules_that_are_old_or_lack_their_manager(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are on a cluster without a control plane."""
    with told_sandbox() as running:
        monkeypatch.setenv("KUBECONFIG", str(running.kubeconfig))
        alone = Reader(running.kubeconfig, capsys)
        alone.follow("docker-registry", AdviceKind.UPGRADE)
        alone.follow("cap-operator", AdviceKind.INSTALL)


@pytest.mark.parametrize("situation", [*sorted({*SITUATIONS} - {*_LAST}), *_LAST])
def test_the_advice_of_a_situation_ends_it(situation: str, kubeconfig: Path, reader: Reader) -> None:
    create_situation(kubeconfig, "kcp", situation)
    _ENDS[situation](reader)


def _policy_pending(reader: Reader) -> None:
    """It ends with the next version; nobody has to do anything."""
    assert not [module for module, _ in reader.advices() if module == "nats"]


def _cr_stays(reader: Reader) -> None:
    stays = reader.advice("telemetry", AdviceKind.REMOVE_FINALIZER)
    command = reader.advice("telemetry", AdviceKind.DELETE_BLOCKERS)
    reader.run(f"{command} --timeout 5s")  # waits for the finalizer of the other advice
    until(lambda: reader.run(stays)[0] == 0, stays)
    until(lambda: not [module for module, _ in reader.advices() if module == "telemetry"], "telemetry is deleted")


def _may_not_wait(reader: Reader) -> None:
    """The advice is not to use another tool: the command refuses what would lose objects."""
    status, printed = reader.run(reader.advice("serverless", AdviceKind.DISABLE))
    assert (status, "Function" in printed) == (2, True), printed


def _still_releasing(reader: Reader) -> None:
    reader.follow("btp-operator", AdviceKind.RESUME)


def _not_applied(reader: Reader) -> None:
    """lifecycle-manager ends it by itself, within minutes; the command answers why it would not."""
    status, printed = reader.run(reader.advice("btp-operator", AdviceKind.WAIT))
    assert (status, "no finalizer blocks the deletion of btp-operator" in printed) == (0, True)


def _taken_over(reader: Reader) -> None:
    reader.follow("keda", AdviceKind.RENAME)


def _kyma_deleted(reader: Reader) -> None:
    command = reader.advice("", AdviceKind.ENABLE)
    reader.cluster("skr").patch(_KYMA, {"metadata": {"finalizers": None}}, PatchKind.MERGE)

    def is_new() -> bool:
        kyma = reader.cluster("skr").get(_KYMA)
        return kyma is not None and "deletionTimestamp" not in kyma["metadata"]

    until(is_new, "lifecycle-manager creates the Kyma again")
    status, printed = reader.run(f"{command} --no-wait")
    assert status == 0, f"{command}: {printed}"
    assert not [kind for module, kind in reader.advices() if not module]


_ENDS: Final = {
    "policy-pending": _policy_pending,
    "cr-stays": _cr_stays,
    "may-not-wait": _may_not_wait,
    "still-releasing": _still_releasing,
    "not-applied": _not_applied,
    "taken-over": _taken_over,
    "kyma-deleted": _kyma_deleted,
}
