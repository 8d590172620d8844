"""Backups: what they say of themselves, what would come of their objects, and what is created again."""

from __future__ import annotations

from pathlib import Path

import pytest

from kymatui.actions.restored_objects import RestoreVerdict, plan_restore, restore, restore_refusal
from kymatui.adapters.files.backups import (
    BackupFile,
    backup_path,
    finish_backups,
    list_backups,
    read_backup,
    read_heading,
    save_deletion,
)
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.plans.backups import BackupInfo
from kymatui.engine.cluster.ports import cluster_identity
from kymatui.engine.deletion.deletion_state import DeletionState, ManagedBy
from kymatui.engine.inventory.managed_resources import ManagedObject, ManagedObjects
from kymatui.errors import ConfigurationError
from tests.engine import objects as make
from tests.engine.places import Json, Place

MADE = 1_795_262_400.0
HERE = BackupInfo(Path("x"), "keda", cluster="prod", identity="u1")


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize(
    ("name", "identity", "why"),
    [
        ("prod", "u1", ""),
        ("renamed", "u1", ""),
        ("prod", "u2", "the backup is from another cluster that is also called prod, but this is prod"),
        ("dev", "u2", "the backup is from prod, but this is dev"),
        ("dev", "", "the backup is from prod, but this is dev"),
        ("prod", "", ""),
    ],
)
def test_a_backup_knows_its_cluster_by_more_than_its_name(name: str, identity: str, why: str) -> None:
    assert HERE.not_of(name, identity) == why


def test_backups_are_found_again_with_what_they_say_of_themselves(place: Place) -> None:
    place.make_namespace()
    place.kubectl(make.config_map("a", place.namespace))
    refs = [read_ref(make.config_map("a", place.namespace))]
    path, older = backup_path("prod/eu", "keda", MADE), backup_path("prod/eu", "nats", MADE - 60)
    heading = ("keda 1.5.0 in prod/eu, installed by lifecycle-manager", "`kymatui enable keda` asks for it again")
    written = BackupFile(path, place.cluster, heading)
    written.write(refs)
    assert (written.count, written.secrets) == (1, 0)
    BackupFile(older, place.cluster, ("nats in prod/eu",)).write(refs)
    identity = cluster_identity(place.cluster)
    assert identity
    assert list_backups() == [
        BackupInfo(path, "keda", "1.5.0", "prod/eu", identity, MADE, 1, by_klm=True),
        BackupInfo(older, "nats", "", "prod/eu", identity, MADE - 60, 1),
    ]
    mine = place.folder / "mine.yaml"
    mine.write_text("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n")
    assert (read_heading(mine).module, read_heading(mine).cluster, read_heading(mine).count) == ("", "", 1)


def test_a_second_run_keeps_the_objects_of_the_first(place: Place) -> None:
    place.make_namespace()
    bodies = {name: make.config_map(name, place.namespace, a="1") for name in ("first", "second", "changed")}
    for body in bodies.values():
        place.kubectl(body)
    path, heading = (
        place.folder / "saved.yaml",
        (f"keda 1.5.0 in {place.cluster.name}, installed by lifecycle-manager",),
    )
    first = BackupFile(path, place.cluster, heading)
    first.write([read_ref(bodies[name]) for name in ("first", "changed")])
    place.kubectl(make.config_map("changed", place.namespace, a="2"))
    second = BackupFile(path, place.cluster, (f"keda in {place.cluster.name}",))
    second.write([read_ref(bodies[name]) for name in ("second", "changed")])
    assert {one["metadata"]["name"]: one["data"]["a"] for one in read_backup(path)} == {
        "first": "1",
        "second": "1",
        "changed": "2",
    }
    assert second.message.startswith("3 objects saved in ")
    found = read_heading(path)
    assert (found.module, found.version, found.by_klm, found.is_finished) == ("keda", "1.5.0", True, False)
    second.finish()
    assert read_heading(path).is_finished
    BackupFile(path, place.cluster, heading).write([])
    assert len(read_backup(path)) == 3, "a run that saves nothing removes nothing"


@pytest.mark.parametrize(
    "content",
    ["# nats in {cluster}\nkind: ConfigMap\n", "# keda in elsewhere\nkind: ConfigMap\n", "my notes\n"],
    ids=["module", "cluster", "no backup"],
)
def test_no_other_file_is_overwritten(place: Place, content: str) -> None:
    path = place.folder / "mine.yaml"
    path.write_text(content.format(cluster=place.cluster.name))
    with pytest.raises(ConfigurationError, match=r"mine\.yaml exists and is not a backup of keda in "):
        BackupFile(path, place.cluster, (f"keda 1.5.0 in {place.cluster.name}",))
    assert path.read_text() == content.format(cluster=place.cluster.name)


def test_a_run_without_objects_writes_no_backup(place: Place) -> None:
    path = place.folder / "saved.yaml"
    empty = BackupFile(path, place.cluster, ("keda in prod",))
    empty.write([read_ref(make.config_map("missing", "default"))])
    empty.finish()
    assert (path.exists(), empty.message) == (False, "")


def test_only_the_newest_backup_of_a_module_in_this_cluster_is_finished(place: Place) -> None:
    place.make_namespace()
    refs = [read_ref(make.config_map("a", place.namespace))]
    place.kubectl(make.config_map("a", place.namespace))
    name = place.cluster.name
    paths = [backup_path(name, "keda", MADE + moment) for moment in (0, 1, 2)]
    for path in paths[:2]:
        BackupFile(path, place.cluster, (f"keda 1.5.0 in {name}",)).write(refs)
    BackupFile(paths[2], place.cluster, (f"keda in {name}",)).write(refs)
    paths[2].write_text(paths[2].read_text().replace(cluster_identity(place.cluster), "of-another"))
    backup_path(name, "keda", MADE + 4).mkdir()  # unreadable as a file
    other = backup_path(name, "nats", MADE + 3)
    BackupFile(other, place.cluster, (f"nats in {name}",)).write(refs)
    for _ in range(2):
        finish_backups("keda", place.cluster)
        assert [read_heading(path).is_finished for path in (*paths, other)] == [False, True, False, False]
    assert [read_ref(body) for body in read_backup(paths[1])] == refs
    assert paths[1].stat().st_mode & 0o077 == 0


def test_a_module_chooses_neither_the_folder_nor_the_objects_of_its_backup(place: Place) -> None:
    """A module is named in a Kyma, by whoever may edit that."""
    name = "../../x\nkind: ClusterRole"
    path = backup_path("prod", name, MADE)
    assert path.parent == backup_path("prod", "keda", MADE).parent
    place.make_namespace()
    place.kubectl(make.config_map("a", place.namespace))
    ref = read_ref(make.config_map("a", place.namespace))
    BackupFile(path, place.cluster, (f"{name} in {place.cluster.name}",)).write([ref])
    assert [read_ref(body) for body in read_backup(path)] == [ref]


def test_a_heading_without_a_version_is_read_again(place: Place) -> None:
    place.make_namespace()
    place.kubectl(make.definition(place.group, "Thing"))
    place.raw.forget_kinds()
    body = make.custom(place.group, "Thing", "a", place.namespace)
    place.kubectl(body)
    ref = read_ref(body)
    remaining = ManagedObjects((ManagedObject(ref, "u"),))
    name = place.cluster.name
    seen = DeletionState(name, "keda", ManagedBy.KYMA, remaining=remaining)
    path = place.folder / "saved.yaml"
    save_deletion(path, seen, place.cluster, place.cluster)
    found = read_heading(path)
    assert (found.module, found.version, found.cluster, found.by_klm, found.count) == ("keda", "", name, True, 1)


def test_a_backup_has_no_value_of_a_secret_also_where_kubectl_applied_it(place: Place) -> None:
    place.make_namespace()
    noted = {"kubectl.kubernetes.io/last-applied-configuration": '{"stringData":{"password":"hunter2"}}', "a": "b"}
    for name, notes in (("noted", noted), ("plain", {})):
        body = make.secret(name, place.namespace, password="hunter2")
        place.kubectl({**body, "metadata": {**body["metadata"], "annotations": notes}})
    path = place.folder / "saved.yaml"
    written = BackupFile(path, place.cluster, ("module",))
    refs = [read_ref(make.secret(name, place.namespace)) for name in ("noted", "plain")]
    written.write(refs[:1])
    live = place.cluster.get(refs[1])
    assert live is not None
    written.save(live)
    assert "hunter2" not in path.read_text()
    assert "aHVudGVyMg" not in path.read_text()
    assert {one["metadata"]["name"]: one["metadata"].get("annotations") for one in read_backup(path)} == {
        "noted": {"a": "b"},
        "plain": None,
    }


def test_what_would_come_of_each_object_is_seen_before_and_then_comes(place: Place) -> None:
    place.make_namespace()
    place.kubectl(make.config_map("there", place.namespace, a="2"))
    held = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), place.namespace, "held")
    place.raw.apply({**make.config_map("held", place.namespace), "metadata": metadata(place, "held", "a/b")})
    place.raw.delete(held)
    wanted = [
        make.custom(place.group, "Thing", "t", place.namespace),
        make.definition(place.group, "Thing"),
        make.custom("nobody.example", "Nothing", "n", place.namespace),
        make.config_map("lost", "nowhere"),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nameless"}},
        make.config_map("missing", place.namespace, a="1"),
        make.config_map("there", place.namespace, a="1"),
        make.config_map("held", place.namespace),
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": place.namespace}},
    ]
    seen = {one.ref.name: one for one in plan_restore(wanted, place.connect())}
    assert {name: (one.fate, one.reason) for name, one in seen.items()} == {
        f"things.{place.group}": (RestoreVerdict.CREATE, ""),
        "t": (RestoreVerdict.CREATE, "its CRD is created first"),
        "n": (RestoreVerdict.BLOCKED, "the cluster does not serve Nothing.v1.nobody.example: install the module first"),
        "lost": (RestoreVerdict.BLOCKED, "namespace nowhere does not exist"),
        "nameless": (RestoreVerdict.BLOCKED, "the backup names no namespace for this ConfigMap: add it to the file"),
        "missing": (RestoreVerdict.CREATE, ""),
        "there": (RestoreVerdict.THERE, "already exists, differs from the backup; not changed"),
        "held": (RestoreVerdict.BLOCKED, "it is still being deleted; kymatui waits for that"),
        "s": (RestoreVerdict.CREATE, "without its data: a backup holds no values of Secrets"),
    }
    assert [(one.path, one.before, one.after) for one in seen["there"].changes] == [("data.a", "2", "1")]

    assert restore_refusal(list(seen.values())) == ""
    assert restore_refusal([seen["n"], seen["held"]]) == "", "what is being deleted is waited for"
    assert restore_refusal([seen["there"]]) == ""
    refused = restore_refusal([seen["n"], seen["lost"], seen["there"]])
    assert refused.startswith("no object of the backup can be created now: the cluster does not serve Nothing")

    ended = restore(wanted, place.cluster, plan_restore(wanted, place.cluster))
    assert {ref.name for ref in ended.created} == {f"things.{place.group}", "t", "missing", "s"}
    assert [ref.name for ref in ended.existing] == ["there"]
    assert {ref.name for ref, _ in ended.failed} == {"n", "lost", "nameless", "held"}
    assert "still being deleted" in next(reason for ref, reason in ended.failed if ref == held)


def test_a_restored_object_has_owners_that_exist_and_no_finalizers(place: Place) -> None:
    place.make_namespace()
    place.kubectl(make.config_map("alive", place.namespace))
    alive = place.get("v1", "ConfigMap", "alive")
    assert alive is not None

    def owned(name: str, *owners: str) -> dict[str, object]:
        references = [{"apiVersion": "v1", "kind": "ConfigMap", "name": one, "uid": "of-before"} for one in owners]
        metadata = {"name": name, "namespace": place.namespace, "finalizers": ["example.org/gone"]}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**metadata, "ownerReferences": references}}

    saved = [owned("grandchild", "child"), owned("child", "owner"), make.config_map("owner", place.namespace)]
    saved += [owned("of-alive", "alive"), owned("orphan", "lost"), owned("both", "lost", "alive")]
    plan = plan_restore(saved, place.connect())
    missing = "without its owner ConfigMap lost, which does not exist"
    assert {one.ref.name: one.reason for one in plan if one.reason} == {"orphan": missing, "both": missing}
    lines: list[str] = []
    ended = restore(saved, place.cluster, plan, report=lines.append)
    assert (len(ended.created), ended.failed) == (6, ())
    orphan = next(ref for ref in ended.created if ref.name == "orphan")
    assert f"{orphan} created {missing}" in lines
    objects = {ref.name: place.get("v1", "ConfigMap", ref.name) or {} for ref in ended.created}
    uids = {name: body["metadata"]["uid"] for name, body in [*objects.items(), ("alive", alive)]}
    owners = {
        name: [one["uid"] for one in body["metadata"].get("ownerReferences") or ()] for name, body in objects.items()
    }
    assert owners == {
        "owner": [],
        "child": [uids["owner"]],
        "grandchild": [uids["child"]],
        "of-alive": [uids["alive"]],
        "orphan": [],
        "both": [uids["alive"]],
    }
    assert not any(body["metadata"].get("finalizers") for body in objects.values())


def test_what_is_still_being_deleted_is_waited_for(place: Place) -> None:
    place.make_namespace()
    body = make.config_map("held", place.namespace)
    place.raw.apply({**body, "metadata": metadata(place, "held", "a/b")})
    place.raw.delete(read_ref(body))
    waits: list[str] = []

    def let_go(words: str) -> None:
        waits.append(words)
        place.raw.apply({**body, "metadata": metadata(place, "held")}, force=True)

    assert restore([body], place.cluster, plan_restore([body], place.cluster), wait=let_go, timeout=30).created == (
        read_ref(body),
    )
    assert len(waits) == 1
    assert "still being deleted" in waits[0]


def test_what_needs_an_object_that_was_not_created_is_not_waited_for(place: Place) -> None:
    """A role that grants more than the user has is refused, and the server does not find it for its binding."""
    group, verbs = "rbac.authorization.k8s.io", ["get", "create"]
    rules = [{"apiGroups": [group], "resources": ["clusterroles", "clusterrolebindings"], "verbs": verbs}]
    allowed = role_and_binding(f"{place.name}-viewers", rules)
    saved = role_and_binding(
        f"{place.name}-saved", [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["delete"]}]
    )
    for body in allowed:
        place.kubectl(body)
    viewer, waits = place.connect(token="viewer"), list[str]()
    try:
        result = restore(saved, viewer, plan_restore(saved, viewer), wait=waits.append, timeout=60)
    finally:
        for body in allowed:
            place.raw.delete(read_ref(body))
    assert (result.created, waits) == ((), [])
    assert [ref for ref, _ in result.failed] == [read_ref(body) for body in saved]
    assert "not found" in result.failed[1][1]


def role_and_binding(name: str, rules: list[Json]) -> list[Json]:
    group = "rbac.authorization.k8s.io"
    version, metadata = f"{group}/v1", {"name": name}
    role: Json = {"apiVersion": version, "kind": "ClusterRole", "metadata": metadata, "rules": rules}
    binding = {
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": "viewers"}],
    }
    return [role, {"apiVersion": version, "kind": "ClusterRoleBinding", "metadata": metadata, **binding}]


def test_a_backup_that_is_gone_is_named(place: Place) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot read .*gone\.yaml"):
        read_backup(place.folder / "gone.yaml")


def metadata(place: Place, name: str, *finalizers: str) -> dict[str, object]:
    return {"name": name, "namespace": place.namespace, "finalizers": list(finalizers)}


def test_what_the_plan_displayed_as_there_is_not_created_after_somebody_deleted_it(place: Place) -> None:
    place.make_namespace()
    body = make.config_map("there", place.namespace)
    place.kubectl(body)
    plan = plan_restore([body], place.cluster)
    place.raw.delete(read_ref(body))
    ended = restore([body], place.cluster, plan)
    assert (ended.created, [ref for ref, _ in ended.failed]) == ((), [read_ref(body)])
    assert "deleted after the plan was displayed" in ended.failed[0][1]
