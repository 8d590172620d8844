"""Modules whose Manifest is refused or uninstalled: the others have their turn, and the runtime's Kyma says so."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kymatui.domain.kubernetes.object_meta import LABEL_MODULE_NAME, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.modules.module_outcomes import work_list
from kymatui.domain.whatif.fleet_objects import CatalogChange
from kymatui.engine.cluster.ports import PatchKind
from kymatui.errors import InvalidError, RegistryUnreachableError
from kymatui.operator.kymas.kyma_context import KYMA, MANIFEST
from kymatui.operator.kymas.kyma_reconciler import MOST_MODULES
from kymatui.operator.kymas.kyma_status import MODULE_DELETED, MODULE_INSTALL, MODULE_UPGRADE, KymaStatusDraft
from kymatui.operator.kymas.runtime_kyma import RUNTIME_KYMA
from tests.controllers import release_worlds
from tests.controllers.release_worlds import DrawnFleet, ReleaseWorld
from tests.domain.builders import NOW, kyma, labels
from tests.domain.test_whatif import SPACE, a_meta, a_template

Json = dict[str, Any]
MODULES = ("istio", "keda", "nats")
REFUSED = "admission webhook denied the request"


def catalog(version: str) -> list[Json]:
    found = [a_meta(name, {"regular": version}) for name in MODULES]
    return [*found, *(a_template(name, version) for name in MODULES)]


def a_kyma(*modules: str, **more: Any) -> Json:
    return kyma([{"name": name} for name in modules], name="a", namespace=SPACE, **more)


def a_world(*modules: str, **more: Any) -> ReleaseWorld:
    return ReleaseWorld(DrawnFleet(catalog("1.0.0"), [a_kyma(*modules, **more)]))


def refuse(world: ReleaseWorld, monkeypatch: pytest.MonkeyPatch, *modules: str, verb: str = "apply") -> None:
    """Let the control plane refuse a verb on the Manifests of some modules."""
    do: Callable[..., Any] = getattr(world.home, verb)
    names = {read_ref(raw).name: module_of(raw) for raw in world.home.list(MANIFEST, SPACE)}

    def refused(subject: Any, *given: Any, **more: Any) -> Any:
        module = module_of(subject) if isinstance(subject, Mapping) else names.get(subject.name)
        if module in modules:
            raise InvalidError(REFUSED, status=422)
        return do(subject, *given, **more)

    monkeypatch.setattr(world.home, verb, refused)


def module_of(raw: Mapping[str, Any]) -> str:
    return str((raw["metadata"].get("labels") or {}).get(LABEL_MODULE_NAME, ""))


def versions(world: ReleaseWorld) -> dict[str, str]:
    return {module_of(raw): raw["spec"]["version"] for raw in world.home.list(MANIFEST, SPACE)}


def entries(world: ReleaseWorld, *, remote: bool = False) -> dict[str, Json]:
    if remote:
        raw = world.runtimes["a"].get(RUNTIME_KYMA)
    else:
        (raw,) = world.home.list(KYMA, SPACE)
    assert raw is not None
    assert raw["status"]["state"] == "Error"
    return {one["name"]: one for one in raw["status"]["modules"]}


def reports(world: ReleaseWorld) -> list[Json]:
    (raw,) = world.home.list(KYMA, SPACE)
    found: list[Json] = raw["status"].get("modules", [])
    return found


def request(world: ReleaseWorld, *modules: str) -> None:
    spec = {"modules": [{"name": name} for name in modules]}
    world.runtimes["a"].patch(RUNTIME_KYMA, {"spec": spec}, PatchKind.MERGE)


def test_a_refused_upgrade_keeps_no_other_module_from_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    world = a_world(*MODULES)
    refuse(world, monkeypatch, "istio")
    request(world, "istio", "keda")
    world.change(CatalogChange(tuple(catalog("1.1.0"))))
    assert versions(world) == {"istio": "1.0.0", "keda": "1.1.0"}
    for found in (entries(world), entries(world, remote=True)):
        assert found.keys() == {"istio", "keda"}
        assert (found["istio"]["state"], found["istio"]["version"]) == ("Error", "1.0.0")
        assert REFUSED in found["istio"]["message"]
        assert (found["keda"]["state"], found["keda"]["version"]) == ("Ready", "1.1.0")
    monkeypatch.undo()
    world.settle()
    (raw,) = world.home.list(KYMA, SPACE)
    assert "message" not in raw["status"]["modules"][0]
    assert versions(world)["istio"] == "1.1.0"


def test_a_refused_installation_is_an_entry_and_waits_for_no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    world = a_world("keda")
    refuse(world, monkeypatch, "istio")
    request(world, "istio", "keda")
    world.settle()
    entry = entries(world)["istio"]
    assert (entry["state"], entry["version"], "template" in entry) == ("Error", "1.0.0", False)
    assert entry["manifest"]["metadata"]["name"]
    monkeypatch.undo()
    world.change(CatalogChange((a_template("istio", "1.0.0", requiresDowntime=True),)))
    assert versions(world)["istio"] == "1.0.0"


def test_a_refused_installation_is_no_entry_any_more_once_it_is_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    world = a_world("keda")
    refuse(world, monkeypatch, "istio")
    request(world, "istio", "keda")
    world.settle()
    assert entries(world).keys() == {"istio", "keda"}
    request(world, "keda")
    world.settle()
    (raw,) = world.home.list(KYMA, SPACE)
    assert [one["name"] for one in raw["status"]["modules"]] == ["keda"]
    assert versions(world).keys() == {"keda"}


def test_an_older_version_than_the_refused_one_can_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    world = a_world("keda")
    refuse(world, monkeypatch, "istio")
    request(world, "istio", "keda")
    world.settle()
    monkeypatch.undo()
    world.change(CatalogChange((a_meta("istio", {"regular": "0.9.0"}), a_template("istio", "0.9.0"))))
    assert versions(world)["istio"] == "0.9.0"


def test_a_module_that_is_being_uninstalled_keeps_no_other_module_from_its_turn() -> None:
    world = a_world(*MODULES, labelled=labels(beta="true"))
    (istio,) = [raw for raw in world.home.list(MANIFEST, SPACE) if module_of(raw) == "istio"]
    world.home.patch(read_ref(istio), {"metadata": {"finalizers": ["example.org/held"]}}, PatchKind.MERGE)
    beta = a_template("istio", "1.0.0", labelled=labels(beta="true"))
    request(world, "istio", "keda")
    world.change(CatalogChange((beta,), labels={"operator.kyma-project.io/beta": None}))
    assert versions(world).keys() == {"istio", "keda"}
    for found in (entries(world), entries(world, remote=True)):
        assert found.keys() == {"istio", "keda"}
        assert found["istio"]["state"] == "Deleting"
        assert "waiting for the deletion of Manifest" in found["istio"]["message"]
        assert found["keda"]["state"] == "Ready"


def test_a_manifest_that_cannot_be_deleted_keeps_no_other_one_from_being_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = a_world(*MODULES)
    refuse(world, monkeypatch, "istio", verb="delete")
    request(world)
    world.settle()
    assert versions(world).keys() == {"istio"}


def deletions(world: ReleaseWorld) -> list[str]:
    return [event.message for event in world.events if event.reason == MODULE_DELETED]


def unreachable(*given: Any) -> Any:
    raise RegistryUnreachableError("reg.example does not answer")


def test_a_module_whose_registry_fails_keeps_what_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    world = a_world("keda")
    (before,) = reports(world)
    monkeypatch.setattr(release_worlds, "_content", unreachable)
    world.settle()
    assert entries(world) == {"keda": {**before, "state": "Error", "message": "reg.example does not answer"}}


def held_keda(world: ReleaseWorld) -> ObjectRef:
    """Returns its Manifest, which stays until `release`."""
    (raw,) = world.home.list(MANIFEST, SPACE)
    world.home.patch(read_ref(raw), {"metadata": {"finalizers": ["example.org/held"]}}, PatchKind.MERGE)
    return read_ref(raw)


def release(world: ReleaseWorld, ref: ObjectRef) -> None:
    world.home.patch(ref, {"metadata": {"finalizers": []}}, PatchKind.MERGE)
    world.settle()


def is_deleting(world: ReleaseWorld, ref: ObjectRef) -> bool:
    return "deletionTimestamp" in (world.home.get(ref) or {"metadata": {}})["metadata"]


def test_a_disabled_module_is_deleted_once_its_manifest_is_gone_whatever_the_registry_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = a_world("keda")
    ref = held_keda(world)
    monkeypatch.setattr(release_worlds, "_content", unreachable)
    request(world)
    world.settle()
    assert is_deleting(world, ref)
    assert [entry["name"] for entry in reports(world)] == ["keda"]
    assert deletions(world) == []
    release(world, ref)
    assert reports(world) == []
    assert deletions(world) == ["module keda 1.0.0 is deleted"]


def test_a_module_without_a_template_is_deleted_with_its_manifest_when_it_is_disabled() -> None:
    world = a_world("keda")
    ref = held_keda(world)
    world.change(CatalogChange(deleted=frozenset({("ModuleTemplate", SPACE, "keda-1.0.0")})))
    assert "manifest" not in entries(world)["keda"], "as in lifecycle-manager"
    request(world)
    world.settle()
    assert is_deleting(world, ref)
    assert deletions(world) == []
    release(world, ref)
    assert (reports(world), deletions(world)) == ([], ["module keda 1.0.0 is deleted"])


def test_a_module_that_was_never_installed_is_not_deleted() -> None:
    world = a_world("serverless")
    assert [(entry["name"], entry["state"]) for entry in reports(world)] == [("serverless", "Warning")]
    request(world)
    world.settle()
    assert (reports(world), deletions(world)) == ([], [])


def test_a_template_that_returns_in_an_older_version_downgrades_nothing() -> None:
    newer, older = ("1.1.0", "1.0.0")
    world = ReleaseWorld(DrawnFleet(catalog(newer), [a_kyma("keda")]))
    world.change(CatalogChange(deleted=frozenset({("ModuleTemplate", SPACE, f"keda-{newer}")})))
    assert entries(world)["keda"]["state"] == "Error"
    world.change(CatalogChange((a_meta("keda", {"regular": older}), a_template("keda", older))))
    for _ in range(2):
        world.settle()
        assert versions(world) == {"keda": newer}
        (entry,) = reports(world)
        assert (entry["state"], "1.1.0 > 1.0.0" in entry["message"]) == ("Warning", True)
    world.events.clear()
    world.change(CatalogChange((a_meta("keda", {"regular": "1.2.0"}), a_template("keda", "1.2.0"))))
    assert versions(world) == {"keda": "1.2.0"}
    assert [event.message for event in world.events if event.reason in (MODULE_INSTALL, MODULE_UPGRADE)] == [
        "module keda 1.1.0 → 1.2.0"
    ]


def test_a_deleted_kyma_deletes_all_manifests_that_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    world = a_world(*MODULES)
    refuse(world, monkeypatch, "istio", verb="delete")
    (raw,) = world.home.list(KYMA, SPACE)
    world.home.delete(read_ref(raw))
    for _ in range(4):  # its steps on the runtime change nothing on the control plane
        world.settle()
    assert versions(world).keys() == {"istio"}


def test_a_refused_mandatory_module_keeps_no_other_one_from_being_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    metas = [a_meta(name, None, mandatory={"version": "1.0.0"}) for name in MODULES]
    world = ReleaseWorld(DrawnFleet([], [a_kyma()]))
    refuse(world, monkeypatch, "istio")
    world.change(CatalogChange((*metas, *(a_template(name, "1.0.0") for name in MODULES))))
    assert versions(world).keys() == {"keda", "nats"}


def test_a_kyma_with_too_many_modules_is_refused_and_keeps_what_it_has() -> None:
    world = a_world("keda")
    request(world, "keda", *(f"module-{number}" for number in range(MOST_MODULES)))
    world.settle()
    (raw,) = world.home.list(KYMA, SPACE)
    assert entries(world).keys() == entries(world, remote=True).keys() == {"keda"}
    assert f"has {MOST_MODULES + 1} entries, more than {MOST_MODULES}" in raw["status"]["lastOperation"]["operation"]
    assert versions(world) == {"keda": "1.0.0"}


def test_a_kyma_with_many_modules_is_reconciled_in_time_that_grows_with_their_number() -> None:
    def seconds(count: int) -> float:
        found = read_kyma(a_kyma(*(f"module-{number}" for number in range(count))))
        assert isinstance(found, Kyma)
        status = KymaStatusDraft(found, NOW, webhook=False)
        began = time.process_time()
        for item in work_list(found):
            found.request(item.name)
            found.report(item.name)
            status.put_module({"name": item.name, "state": "Ready"})
            status.module(item.name)
        return time.process_time() - began

    assert seconds(20_000) < 60 * max(seconds(2_000), 0.01)  # ten times as many; with loops it is a hundredfold
