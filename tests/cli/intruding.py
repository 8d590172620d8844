"""Somebody else at work in the middle of a command: before its request number k the intruder does his part, once.

    python -m tests.benchmarks.intruder_walk [FLOW-INTRUDER …] [every:N]

The commands run in this process, on a sandbox in another one. Watches are not counted. After each run everything that
the intruder did must still be there, and the exit status must say what came of the command: what is done with 0, what
was refused with 2 or failed with 1 and can be run again, what was begun with 3.
"""

from __future__ import annotations

import contextlib
import io
import re
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml
from msgspec.structs import replace

from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.cli.main import main
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.jobs.lease import LeaseTerms
from kymatui.errors import KymatuiError, NotFoundError
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.limits import patched_limits

Json = dict[str, Any]
KYMA = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1beta2", "Kyma"), "kyma-system", "default")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
NEW, MODULE = "connectivity-proxy", "istio"
MARK = "intruder"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended, how many requests it made, and whether the intruder came and did his part."""

    status: int
    out: str
    err: str
    requests: int
    came: bool = False
    did: bool = False
    behind: int = 0
    """Requests of the command after the intruder was there."""


@dataclass(slots=True)
class Meeting:
    """Counts the requests of a command (or those that write), and lets somebody in before one of them."""

    number: int = 0
    act: Callable[[], None] = lambda: None
    of_writes: bool = False
    seen: int = 0
    came: bool = False
    did: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    acting: bool = False
    left: threading.Event = field(default_factory=threading.Event)

    def meet(self, request: Any) -> None:
        with self.lock:
            if self.acting or (self.of_writes and not is_write(request)):
                return
            self.seen += 1
            if self.seen != self.number:
                return
            self.came = self.acting = True
        try:
            self.act()
            self.did = True
        except KymatuiError:
            self.did = False  # the server, or kymatui, did not let him
        finally:
            self.acting = False
            self.left.set()


def is_write(request: Any) -> bool:
    """Whether a request changes something."""
    dry = any(key == "dryRun" for key, _ in request.query)
    return request.method != "GET" and not dry and not request.path.startswith("/apis/authorization.k8s.io/")


def run(words: Sequence[str], meeting: Meeting | None = None) -> Ended:
    """Runs a command line, with the meeting on its way to the server."""
    meeting = meeting or Meeting()
    once = Transport._once

    def meeting_once(transport: Transport, request: Any, *given: Any, **named: Any) -> Any:
        if ("watch", "true") not in request.query and ("watch", "1") not in request.query:
            meeting.meet(request)
        return once(transport, request, *given, **named)

    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(Transport, "_once", meeting_once),
        patched_limits(lambda limits: replace(limits, lease=LeaseTerms(timeout=2.0))),  # the other holder waits
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        status = main(words)
        if meeting.came:  # where he came in a thread that the command does not wait for, he may still be at work
            meeting.left.wait(60)
    behind = meeting.seen - meeting.number
    return Ended(status, out.getvalue(), err.getvalue(), meeting.seen, meeting.came, meeting.did, behind)


@dataclass(frozen=True, slots=True)
class Flow:
    """One command with one intruder: how it begins, and what must hold at its end ("" where it does)."""

    name: str
    prepare: Callable[[Stage], None]
    words: Callable[[Stage], list[str]]
    intrude: Callable[[Stage], None]
    judge: Callable[[Stage, Ended], str]


class Stage:
    """A cluster with a sample world, and names of this run alone; `remote` is a runtime of the kubeconfig's own one."""

    def __init__(self, kubeconfig: Path, folder: Path, remote: str = "") -> None:
        self.cluster: KubeCluster = open_cluster(SessionOptions(str(kubeconfig), remote))
        self.kubeconfig, self.folder, self.remote = kubeconfig, folder, remote
        self.number = 0

    @property
    def options(self) -> list[str]:
        """What every command of this stage says of its cluster."""
        return ["--remote", self.remote] if self.remote else []

    def next(self) -> None:
        self.number += 1

    @property
    def name(self) -> str:
        return f"walked{self.number}"

    @property
    def group(self) -> str:
        return f"{self.name}.example.org"

    # the Kyma

    def set_entry(self, module: str, entry: Json | None) -> None:
        """Makes the Kyma's entry of a module what it says, and leaves the others alone."""
        kyma = self.cluster.get(KYMA) or {}
        others = [one for one in kyma["spec"].get("modules", []) if one["name"] != module]
        modules = [*others, entry] if entry is not None else others
        self.cluster.patch(KYMA, {"spec": {"modules": modules}}, PatchKind.MERGE, manager=MARK)

    def entry(self, module: str) -> Json | None:
        kyma = self.cluster.get(KYMA) or {}
        return next((one for one in kyma["spec"].get("modules", []) if one["name"] == module), None)

    def amend(self, module: str, **fields: Any) -> None:
        self.set_entry(module, {**(self.entry(module) or {"name": module}), **fields})

    def state(self, module: str) -> str:
        """What the Kyma's status says of a module; "" where it says nothing."""
        status = (self.cluster.get(KYMA) or {}).get("status") or {}
        return next((str(one.get("state")) for one in status.get("modules") or [] if one["name"] == module), "")

    def push_others(self) -> None:
        """Moves every entry by one place, and changes none."""
        kyma = self.cluster.get(KYMA) or {}
        modules = kyma["spec"].get("modules", [])
        self.cluster.patch(KYMA, {"spec": {"modules": [*modules[1:], *modules[:1]]}}, PatchKind.MERGE, manager=MARK)

    # a module of its own

    def source(self, version: str) -> Path:
        """A manifest with a definition, two ConfigMaps (one of this version alone), and an instance."""
        names = {"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"}
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
        bodies: list[Json] = [
            {
                "apiVersion": DEFINITION.api_version,
                "kind": DEFINITION.kind,
                "metadata": {"name": f"things.{self.group}"},
                "spec": {"group": self.group, "scope": "Namespaced", "names": names, "versions": versions},
            },
            self._map("settings", {"version": version}),
            self._map(f"only-{version}", {"version": version}),
        ]
        file = self.folder / f"{self.name}-{version}.yaml"
        file.write_text(yaml.safe_dump_all(bodies))
        return file

    def _map(self, name: str, data: Json) -> Json:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}

    def data(self, name: str) -> Json | None:
        found = self.cluster.get(ObjectRef(CONFIG_MAP, self.name, name))
        return found["data"] if found is not None else None

    def install(self, version: str, verb: str = "install") -> Ended:
        return run([*self.installing(version, verb), *self.options])

    def installing(self, version: str, verb: str = "install") -> list[str]:
        return [verb, self.name, "--file", str(self.source(version)), "-n", self.name, "--yes", "--timeout", "8"]

    def mark_settings(self) -> None:
        ref = ObjectRef(CONFIG_MAP, self.name, "settings")
        self.cluster.patch(ref, {"data": {MARK: "was here"}}, PatchKind.MERGE, manager=MARK)

    @property
    def definition(self) -> ObjectRef:
        return ObjectRef(DEFINITION, "", f"things.{self.group}")

    def drop_definition(self) -> None:
        if self.cluster.get(self.definition) is None:
            raise NotFoundError(f"{self.definition} is not there", status=404)
        self.cluster.delete(self.definition)
        self.cluster.forget_kinds()

    def make_thing(self) -> None:
        self.cluster.forget_kinds()
        kind = GroupVersionKind(self.group, "v1", "Thing")
        meta = {"name": "theirs", "namespace": self.name}
        self.cluster.create({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}, manager=MARK)

    def has_thing(self) -> bool:
        self.cluster.forget_kinds()
        ref = ObjectRef(GroupVersionKind(self.group, "v1", "Thing"), self.name, "theirs")
        with contextlib.suppress(KymatuiError):
            return self.cluster.get(ref) is not None
        return False

    def upgrade_as_another(self) -> None:
        """A second person at the same time, who waits for nobody."""
        done = run([*self.installing("2"), "--no-wait"])
        if done.status:
            raise KymatuiError(done.err)


# what must hold

STATUSES = (0, 1, 2, 3)
_AFTERWARDS = 6
"""Requests of an installation after its last look: the inventory is finished, and the lease is let go of."""


def told(ended: Ended) -> str:
    """Whatever came in between: a status that means something, a reason with it, and no traceback."""
    if ended.status not in STATUSES:
        return f"left with {ended.status}: {ended.err[-300:]}"
    if "Traceback" in ended.err:
        return f"a traceback: {ended.err[-600:]}"
    if ended.status and "kymatui:" not in ended.err:
        return f"left with {ended.status} and said nothing"
    return ""


def entry_flow(name: str, module: str, before: Json | None, words: list[str], theirs: Json, done: Json | None) -> Flow:
    """An edit of the Kyma, while somebody sets `theirs` in the same entry; `done` is what the command sets."""

    def judge(stage: Stage, ended: Ended) -> str:
        found = stage.entry(module)
        if ended.did and not _holds(found, theirs):
            seen_before = done is None and ended.status == 0 and found is None
            return "" if seen_before and _shown(ended, theirs) else f"the intruder's edit is lost: {found}"
        if (
            done is not None
            and ended.status == 0
            and any((found or {}).get(key) != value for key, value in done.items())
        ):
            return f"done, it says, and the entry is {found}"
        if done and ended.status == 2 and _holds(found, done):
            return f"refused, it says, and the entry is {found}"
        return ""

    return Flow(
        f"{name}-edit",
        lambda stage: stage.set_entry(module, before),
        lambda stage: [*words, "--yes", "--no-wait"],
        lambda stage: stage.amend(module, **theirs),
        judge,
    )


def _holds(entry: Json | None, fields: Json) -> bool:
    return entry is not None and all(entry.get(key) == value for key, value in fields.items())


def _shown(ended: Ended, theirs: Json) -> bool:
    """Whether what goes with the entry was shown before it went."""
    return all(str(value) in ended.err for value in theirs.values())


def moved_flow(name: str, module: str, before: Json | None, words: list[str], done: Json | None) -> Flow:
    """The same, while others move the entry to another place: that must not keep the command from being done."""

    def judge(stage: Stage, ended: Ended) -> str:
        found = stage.entry(module)
        if ended.status:
            return f"left with {ended.status}: {ended.err[-300:]}"
        good = found is None if done is None else _holds(found, done)
        return "" if good else f"the entry is {found}"

    return Flow(
        f"{name}-moved",
        lambda stage: stage.set_entry(module, before),
        lambda stage: [*words, "--yes", "--no-wait"],
        lambda stage: stage.push_others(),
        judge,
    )


ENTRY = {"name": MODULE}
_IGNORE = {"customResourcePolicy": "Ignore"}
_EDITS: tuple[tuple[str, str, Json | None, list[str], Json, Json | None], ...] = (
    ("enable", NEW, None, ["enable", NEW, "--channel", "fast"], _IGNORE, {"channel": "fast"}),
    ("disable", MODULE, ENTRY, ["disable", MODULE], {"channel": "fast"}, None),
    ("channel", MODULE, ENTRY, ["channel", MODULE, "fast"], _IGNORE, {"channel": "fast"}),
    ("unmanage", MODULE, ENTRY, ["unmanage", MODULE], _IGNORE, {"managed": False}),
    ("manage", MODULE, {**ENTRY, "managed": False}, ["manage", MODULE], _IGNORE, {}),
    ("policy", MODULE, ENTRY, ["policy", MODULE, "Ignore"], {"channel": "fast"}, _IGNORE),
)


def again(stage: Stage, version: str, ended: Ended) -> str:
    """A run that did not come to its end is completed by the next one."""
    if ended.status == 0:
        return ""
    second = run([*stage.installing(version), "--force", "--allow-downgrade"])
    return "" if second.status == 0 else f"cannot be completed: {second.status} {second.err[-300:]}"


def kept_mark(stage: Stage, version: str, ended: Ended) -> str:
    data = stage.data("settings")
    if ended.did and (data is None or MARK not in data):
        return f"the intruder's field is lost: {data}"
    return again(stage, version, ended)


def is_whole(stage: Stage, version: str, ended: Ended) -> str:
    """Done means done: the definition is there, and everything of the version."""
    wrong = again(stage, version, ended)
    if wrong or ended.status or stage.cluster.get(stage.definition) is not None:
        return wrong
    if ended.behind > _AFTERWARDS:
        return "done, it says, and the definition is not there"
    repaired = run([*stage.installing(version), "--force"])
    gone = stage.cluster.get(stage.definition) is None
    return f"cannot be repaired: {repaired.err[-300:]}" if gone else ""


def one_version(stage: Stage, version: str, ended: Ended) -> str:
    """Whoever came last, everything is of one version, and nothing of the other is left."""
    settings = (stage.data("settings") or {}).get("version")
    found = {name for name in ("1", "2", "3") if stage.data(f"only-{name}") is not None}
    if settings is None or found != {settings}:
        return again(stage, version, ended) or f"settings are of {settings}, and there is {sorted(found)}"
    if ended.status == 0 and not ended.did and settings != version:
        return f"done, it says, and {settings} is there"
    return ""


def gone_or_kept(stage: Stage, ended: Ended) -> str:
    """What somebody made while the module was deleted is not deleted unasked.

    Between the last count and the deletion of the CRD no request can protect it: then it is named.
    """
    if not ended.did:
        return ""
    if not stage.has_thing():
        named = re.search(r"Thing \S+/theirs was created after .*deleted with its CRD", ended.err)
        return "" if named and ended.status == 3 else "the intruder's object is lost"
    return "" if ended.status or "things." in _kept_line(ended) else f"nothing is said of it: {ended.out}"


def _kept_line(ended: Ended) -> str:
    return ended.out.partition("not deleted:")[2]


def seen_to_be_gone(stage: Stage, ended: Ended) -> str:
    """Somebody else deleted the definition: that is said by name, and the rest goes all the same."""
    named = rf"things\.{stage.group}\S* was already deleted by another client"
    if ended.did and ended.status == 0 and not re.search(named, ended.err):
        return "that somebody deleted the definition is not said"
    return _deleted_at_last(stage, ended)


def seen_to_be_another(stage: Stage, ended: Ended) -> str:
    """Somebody installed version 2: what goes is what was shown, and what was not shown stays, whole."""
    if ended.did and ended.status in (0, 3):
        there = stage.data("only-2") is not None
        if not there and "only-2" not in ended.err:
            return "the other version is deleted, and nobody was shown that it would be"
    if ended.did and ended.status == 2 and "another client has installed" not in ended.err:
        return f"refused, and not said why: {ended.err[-300:]}"
    if ended.did and (ended.status == 2 or stage.data("only-2") is not None):
        checked = run(["check", *stage.installing("2")[1:-3]])
        return "" if checked.status == 0 else f"what the other installed is not whole: {checked.out}{checked.err}"
    return _deleted_at_last(stage, ended)


def _deleted_at_last(stage: Stage, ended: Ended) -> str:
    second = run(_deleting(stage)) if ended.status else ended
    if second.status:
        return f"cannot be deleted any more: {second.err[-300:]}"
    left = stage.data("settings") is not None or stage.cluster.get(stage.definition) is not None
    return "deleted, it says, and it is there" if left else ""


def installed(stage: Stage) -> None:
    assert stage.install("1").status == 0


def planned(stage: Stage) -> None:
    installed(stage)
    plan = stage.folder / f"{stage.name}.json"
    words = ["plan", *stage.installing("2")[1:], "--out", str(plan)]
    assert run([word for word in words if word != "--yes"]).status == 0


def restoring(stage: Stage) -> list[str]:
    stage.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": stage.name}})
    bodies = list(yaml.safe_load_all(stage.source("1").read_text()))
    for body in bodies[1:]:
        body["metadata"]["namespace"] = stage.name
    meta = {"name": "mine", "namespace": stage.name}
    bodies.append({"apiVersion": f"{stage.group}/v1", "kind": "Thing", "metadata": meta})
    file = stage.folder / f"{stage.name}-backup.yaml"
    file.write_text(yaml.safe_dump_all(bodies))
    return ["restore", str(file), "--yes", "--timeout", "8"]


def their_settings(stage: Stage) -> None:
    meta = {"name": "settings", "namespace": stage.name}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {MARK: "was here"}}
    stage.cluster.apply(body, manager=MARK, force=False)


def kept_theirs(stage: Stage, ended: Ended) -> str:
    data = stage.data("settings") or {}
    if ended.did and MARK not in data:
        return f"the intruder's object is lost: {data}"
    return "" if ended.status == 0 else f"left with {ended.status}: {ended.err[-300:]}"


def back_or_said(stage: Stage, ended: Ended) -> str:
    """Somebody else deleted the definition that the backup needs: what could not be created is named, and the next
    restoration creates it."""
    kinds = GroupVersionKind(stage.group, "v1", "Thing")
    stage.cluster.forget_kinds()
    there = (
        stage.cluster.kind(kinds) is not None and stage.cluster.get(ObjectRef(kinds, stage.name, "mine")) is not None
    )
    if there:
        return ""
    if ended.status == 0 and ended.behind > 0:
        return "done, it says, and the object is not there"
    file = stage.folder / f"{stage.name}-backup.yaml"
    body = [one for one in yaml.safe_load_all(stage.source("1").read_text()) if one["kind"] == DEFINITION.kind]
    file.write_text(yaml.safe_dump_all([*body, *yaml.safe_load_all(file.read_text())]))
    second = run(["restore", str(file), "--yes", "--timeout", "8"])
    return "" if second.status == 0 else f"cannot be restored any more: {second.err[-300:]}"


def with_definition(stage: Stage) -> None:
    """The definition is there; the backup has none, and an instance of it."""
    (body,) = (one for one in yaml.safe_load_all(stage.source("1").read_text()) if one["kind"] == DEFINITION.kind)
    stage.cluster.apply(body)
    stage.cluster.forget_kinds()


def nothing(stage: Stage) -> None:
    """The stage is bare."""


def _direct(verb: str) -> Iterator[Flow]:
    version = {"install": "1", "upgrade": "3", "apply": "2"}[verb]
    begin = {"install": nothing, "upgrade": installed, "apply": planned}[verb]

    def words(stage: Stage) -> list[str]:
        if verb == "apply":
            return ["apply", str(stage.folder / f"{stage.name}.json"), "--yes", "--timeout", "8"]
        return stage.installing(version, verb)

    intruders: dict[str, tuple[Callable[[Stage], None], Callable[[Stage, str, Ended], str]]] = {
        "edit": (Stage.mark_settings, kept_mark),
        "definition": (Stage.drop_definition, is_whole),
        "upgrade": (Stage.upgrade_as_another, one_version),
    }
    for name, (intrude, judge) in intruders.items():
        yield Flow(
            f"{verb}-{name}",
            begin,
            words,
            intrude,
            lambda stage, ended, judge=judge: judge(stage, version, ended),  # type: ignore[misc]
        )


def _briefly(words: list[str]) -> list[str]:
    return [*words[:-1], "1"]


def _waiting() -> Iterator[Flow]:
    """The Kyma's flows with their waiting part: who edits the entry meanwhile is named, or it is done."""
    for name, module, before, words, theirs, done in _EDITS:
        edited = entry_flow(name, module, before, words, theirs, done)
        yield Flow(
            f"{name}-waiting",
            edited.prepare,
            lambda stage, words=words: [*words, "--yes", "--timeout", "60"],  # type: ignore[misc]
            edited.intrude,
            edited.judge,
        )


def _deleting(stage: Stage) -> list[str]:
    return ["delete", stage.name, "-n", stage.name, "--yes", "--no-backup", "--timeout", "8"]


# through the Kyma

FUNCTION = ObjectRef(GroupVersionKind("serverless.kyma-project.io", "v1alpha2", "Function"), "default", "theirs")
DEFAULT = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1alpha1", "Serverless"), "kyma-system", "default")
MANAGED = "serverless"


def asked_for(stage: Stage) -> None:
    """The Kyma asks for the module, lifecycle-manager has installed it, and nobody has made anything of it."""
    stage.cluster.forget_kinds()
    if stage.cluster.kind(FUNCTION.kind) is not None:
        for one in stage.cluster.list(FUNCTION.kind):
            stage.cluster.delete(read_ref(one))
    if stage.entry(MANAGED) is None and stage.cluster.kind(DEFAULT.kind) is not None and stage.cluster.get(DEFAULT):
        stage.cluster.delete(DEFAULT)  # with the policy Ignore it is nobody's to delete but the user's
    until(lambda: stage.entry(MANAGED) is not None or stage.state(MANAGED) == "")
    stage.set_entry(MANAGED, {"name": MANAGED})
    until(lambda: stage.state(MANAGED) in ("Ready", "Warning"))


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.1)


def leave_it(stage: Stage) -> list[str]:
    return ["delete", MANAGED, "--yes", "--no-backup", "--timeout", "60"]


def make_function(stage: Stage, name: str = FUNCTION.name) -> None:
    stage.cluster.forget_kinds()
    source = {"inline": {"source": "module.exports = { main: () => 1 }"}}
    meta = {"name": name, "namespace": FUNCTION.namespace}
    body = {"apiVersion": FUNCTION.kind.api_version, "kind": FUNCTION.kind.kind, "metadata": meta}
    stage.cluster.create({**body, "spec": {"runtime": "nodejs22", "source": source}}, manager=MARK)


def function_kept(stage: Stage, ended: Ended) -> str:
    """What somebody made of the module meanwhile is not deleted unasked, and what is told of the end is so."""
    stage.cluster.forget_kinds()
    there = stage.cluster.kind(FUNCTION.kind) is not None and stage.cluster.get(FUNCTION) is not None
    if ended.did and not there:
        return f"the intruder's object is lost: {ended.status} {ended.err[-300:]}"
    return _left_or_said(stage, ended)


def asked_again(stage: Stage, ended: Ended) -> str:
    """Who asks for the module again, or changes what is asked for, is not overruled without a word."""
    entry = stage.entry(MANAGED)
    if ended.did and not _holds(entry, _IGNORE) and MARK not in ended.err and ended.status == 0:
        return "" if _shown(ended, _IGNORE) else f"the intruder's edit is lost: {ended.err[-400:]}"
    return _left_or_said(stage, ended)


def _left_or_said(stage: Stage, ended: Ended) -> str:
    entry = stage.entry(MANAGED)
    if ended.status == 0 and entry is not None and ended.behind > _AFTERWARDS:
        return f"done, it says, and the Kyma asks for it: {entry}"
    return ""


def make_seen(stage: Stage) -> None:
    """An object that the plan displays, and so may be deleted."""
    stage.cluster.forget_kinds()
    kind = GroupVersionKind(stage.group, "v1", "Thing")
    meta = {"name": "seen", "namespace": stage.name}
    stage.cluster.create({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}, manager=MARK)


def installed_with_seen(stage: Stage) -> None:
    installed(stage)
    make_seen(stage)


def asked_for_with_seen(stage: Stage) -> None:
    asked_for(stage)
    make_function(stage, "seen")


def disable_it(stage: Stage) -> list[str]:
    return ["disable", MANAGED, "--cascade", "--yes", "--no-backup", "--timeout", "60"]


def _cascading() -> Iterator[Flow]:
    """What users made is deleted as well: of that, too, only what was displayed."""

    def unless_displayed(judge: Callable[[Stage, Ended], str]) -> Callable[[Stage, Ended], str]:
        return lambda stage, ended: "" if _displays_theirs(ended) else judge(stage, ended)

    thing, function = unless_displayed(gone_or_kept), unless_displayed(function_kept)
    direct, managed = installed_with_seen, asked_for_with_seen
    yield Flow("cascade-object", direct, lambda stage: [*_deleting(stage), "--cascade"], Stage.make_thing, thing)
    yield Flow("leave-cascade", managed, lambda stage: [*leave_it(stage), "--cascade"], make_function, function)
    yield Flow("disable-cascade", managed, disable_it, make_function, function)
    yield Flow("disable-object", asked_for, disable_it, make_function, function)


def _displays_theirs(ended: Ended) -> bool:
    """Whether the intruder was there before the plan, which lists his object then."""
    plan = re.split(r"^  ", ended.err, maxsplit=1, flags=re.MULTILINE)[0]
    return bool(re.search(r"(Function|Thing) \S+/theirs\b", plan))


def _through_the_kyma() -> Iterator[Flow]:
    yield Flow("leave-object", asked_for, leave_it, make_function, function_kept)
    yield Flow("leave-edit", asked_for, leave_it, lambda stage: stage.amend(MANAGED, **_IGNORE), asked_again)


FLOWS: tuple[Flow, ...] = (
    *(entry_flow(*row) for row in _EDITS),
    *(moved_flow(name, module, before, words, done) for name, module, before, words, _, done in _EDITS),
    *_direct("install"),
    *_direct("upgrade"),
    *_direct("apply"),
    Flow("delete-object", installed, _deleting, Stage.make_thing, gone_or_kept),
    Flow("delete-definition", installed, _deleting, Stage.drop_definition, seen_to_be_gone),
    Flow("delete-upgrade", installed, _deleting, Stage.upgrade_as_another, seen_to_be_another),
    Flow("restore-object", nothing, restoring, their_settings, kept_theirs),
    Flow(
        "restore-definition",
        with_definition,
        lambda stage: _briefly(restoring(stage)),
        Stage.drop_definition,
        back_or_said,
    ),
    *_waiting(),
    *_through_the_kyma(),
    *_cascading(),
)


@dataclass(frozen=True, slots=True)
class Found:
    """What came of one point; `wrong` is "" where all is as it must be."""

    flow: str
    number: int
    ended: Ended
    wrong: str


def walk(flow: Flow, stage: Stage, every: int = 1, offset: int = 0) -> Iterator[Found]:
    """The flow with its intruder before every n-th request, and behind the last one."""
    stage.next()
    flow.prepare(stage)
    calm = run(flow.words(stage))
    assert calm.status == 0, (flow.name, calm)
    for number in range(1 + offset % every, calm.requests + 2, every):
        stage.next()
        flow.prepare(stage)
        words = flow.words(stage)
        ended = run(words, Meeting(number, lambda: flow.intrude(stage)))
        yield Found(flow.name, number, ended, told(ended) or (flow.judge(stage, ended) if ended.came else ""))


def interrupted(flow: Flow, stage: Stage, number: int) -> Ended:
    """The flow with a Ctrl-C before its n-th request that writes; 0 for its first one at all."""
    stage.next()
    flow.prepare(stage)

    def press() -> None:
        signal.raise_signal(signal.SIGINT)
        threading.Event().wait(0.3)  # a request takes its time: here all of them are over before a person's finger is

    # whoever is started in the background ignores Ctrl-C, and the tests may be
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return run(flow.words(stage), Meeting(number or 1, press, of_writes=number > 0))
    finally:
        signal.signal(signal.SIGINT, before)


def new_stage(kubeconfig: Path) -> Stage:
    return Stage(kubeconfig, Path(tempfile.mkdtemp(prefix="intruding-")))
