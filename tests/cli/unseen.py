"""One command after the other with an intruder between its plan and its yes: he creates, changes or deletes an object.

    python -m tests.benchmarks.unseen_walk [FLOW …]

Every question that a command asks is a place for him. What he left must be there afterwards exactly as he left it, but
for objects that the plan displayed as deleted; and every write that the server has accepted names an object that the
plan displayed.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import yaml

from kymatui.adapters.kube.transport.transport import Transport
from kymatui.cli.main import main
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.plans.plan import state_digest
from kymatui.sandbox.fault_client import FaultClient
from tests.cli.intruding import (
    CONFIG_MAP,
    DEFINITION,
    FUNCTION,
    KYMA,
    MANAGED,
    MARK,
    MODULE,
    NEW,
    STATUSES,
    Json,
    Stage,
    asked_for,
    is_write,
)

SORTS = ("create", "change", "delete", "replace")
"""What the intruder does; `replace` deletes an object and creates another one of its name."""
_OWN = re.compile(r"kymatui\.|sh\.helm\.release\.v1\.")
"""The inventory, the lease and the releases of kymatui's own, which no plan lists."""
_UID = "uid"


@dataclass(frozen=True, slots=True)
class Write:
    """One write that a command sent."""

    method: str
    path: str
    name: str
    uid: str

    @property
    def is_bookkeeping(self) -> bool:
        return bool(_OWN.match(self.name)) or "/leases" in self.path

    @property
    def has_uid(self) -> bool:
        """Whether a deletion names the object itself, as it must but for kymatui's own."""
        return bool(self.uid) or self.is_bookkeeping

    def is_in(self, shown: str) -> bool:
        """Whether a plan names its object; of an edit of the Kyma it has the fields."""
        return self.name in shown or (self.path.endswith(f"/kymas/{KYMA.name}") and "spec.modules" in shown)


@dataclass(slots=True)
class Prompt:
    """The terminal of a command: at its question the intruder acts, and then it is answered."""

    act: Callable[[], None]
    answer: str
    err: io.StringIO
    shown: str = ""
    asked: int = 0
    acting: bool = False
    writes: list[Write] = field(default_factory=list)

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        self.asked += 1
        if self.asked == 1:
            self.shown = self.err.getvalue()
            self.acting = True
            self.act()
            self.acting = False
        return f"{self.answer}\n"

    def note(self, request: Any) -> None:
        if not self.acting and is_write(request):
            self.writes.append(write_of(request))


@dataclass(frozen=True, slots=True)
class Asked:
    """How a command with a question ended."""

    status: int
    out: str
    err: str
    shown: str
    asked: int
    writes: tuple[Write, ...]


def write_of(request: Any) -> Write:
    body = json.loads(request.body) if request.body and request.method in ("POST", "DELETE") else {}
    body = body if isinstance(body, dict) else {}
    parts = request.path.rstrip("/").split("/")
    parts = parts[:-1] if parts[-1] in ("status", "finalize") else parts
    name = str((body.get("metadata") or {}).get("name") or "") if request.method == "POST" else parts[-1]
    return Write(request.method, request.path, name, str((body.get("preconditions") or {}).get(_UID) or ""))


def ask(words: Sequence[str], act: Callable[[], None], answer: str = "y") -> Asked:
    """Runs a command on a terminal where the intruder acts before the question is answered."""
    out, err = io.StringIO(), io.StringIO()
    prompt = Prompt(act, answer, err)
    once = Transport._once

    def noting_once(transport: Transport, request: Any, *given: Any, **named: Any) -> Any:
        prompt.note(request)
        return once(transport, request, *given, **named)

    with (
        patch.object(Transport, "_once", noting_once),
        patch.object(sys, "stdin", prompt),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        status = main(words)
    return Asked(status, out.getvalue(), err.getvalue(), prompt.shown, prompt.asked, tuple(prompt.writes))


# what the intruder does, and what must be left of it


@dataclass(frozen=True, slots=True)
class Left:
    """What is there of an object but for its status, or of an entry of the Kyma."""

    value: Any
    uid: str = ""


class Target:
    """An object that the intruder works on."""

    def __init__(self, ref: ObjectRef, body: Json | None = None) -> None:
        self._ref, self._body = ref, body

    @property
    def name(self) -> str:
        return self._ref.name

    def left(self, stage: Stage) -> Left:
        stage.cluster.forget_kinds()
        live = stage.cluster.get(self._ref)
        if live is None or live["metadata"].get("deletionTimestamp"):
            return Left(None)
        metadata = {
            key: value for key, value in live["metadata"].items() if key != "finalizers"
        }  # controllers set them
        return Left(state_digest({**live, "metadata": metadata}), live["metadata"]["uid"])

    def act(self, stage: Stage, sort: str) -> None:
        stage.cluster.forget_kinds()
        if sort == "create":
            stage.cluster.create(self.body, manager=MARK)
        elif sort == "change":
            mark = {"metadata": {"annotations": {MARK: "was here"}}}
            stage.cluster.patch(self._ref, mark, PatchKind.MERGE, manager=MARK)
        else:
            live = stage.cluster.get(self._ref)
            assert live is not None, self._ref
            stage.cluster.delete(self._ref)
            if sort == "replace":
                kept = {
                    key: live["metadata"][key] for key in ("name", "namespace", "labels") if key in live["metadata"]
                }
                body = {key: value for key, value in live.items() if key != "status"}
                stage.cluster.create({**body, "metadata": kept}, manager=MARK)

    @property
    def body(self) -> Json:
        meta = {"name": self._ref.name, "namespace": self._ref.namespace}
        kind = self._ref.kind
        return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, **(self._body or {})}


class Entry(Target):
    """A module's entry in the Kyma."""

    def __init__(self, module: str, theirs: Json) -> None:
        super().__init__(KYMA)
        self._module, self._theirs = module, theirs

    def left(self, stage: Stage) -> Left:
        return Left(stage.entry(self._module))

    def act(self, stage: Stage, sort: str) -> None:
        if sort == "delete":
            stage.set_entry(self._module, None)
        else:
            stage.amend(self._module, **self._theirs)


class Label(Target):
    """A label of the Kyma."""

    def __init__(self, label: str) -> None:
        super().__init__(KYMA)
        self.unlabelled = label

    def left(self, stage: Stage) -> Left:
        kyma = stage.cluster.get(KYMA) or {}
        return Left((kyma["metadata"].get("labels") or {}).get(self.unlabelled))

    def act(self, stage: Stage, sort: str) -> None:
        value = None if sort == "delete" else MARK
        stage.cluster.patch(KYMA, {"metadata": {"labels": {self.unlabelled: value}}}, PatchKind.MERGE, manager=MARK)


Targets = dict[str, Callable[[Stage], Target]]


@dataclass(frozen=True, slots=True)
class Walk:
    """One command with what the intruder may do at its question.

    prepare  makes the stage ready
    words    the command without --yes
    targets  by sort, what he works on
    deletes  whether what the plan displayed may be gone afterwards
    answer   what is typed
    """

    name: str
    prepare: Callable[[Stage], None]
    words: Callable[[Stage], list[str]]
    targets: Targets
    deletes: bool = False
    answer: Callable[[Stage], str] = lambda stage: "y"


@dataclass(frozen=True, slots=True)
class Came:
    """What came of one walk with one sort; `wrong` is "" where nothing unseen was touched."""

    walk: str
    sort: str
    asked: Asked
    wrong: str


def walk(flow: Walk, sort: str, stage: Stage) -> Came:
    """One flow with one intruder."""
    stage.next()
    flow.prepare(stage)
    stage.cluster.forget_kinds()
    target = flow.targets[sort](stage)
    contexts = ("kcp", stage.remote) if stage.remote else ("",)
    servers = [FaultClient.for_kubeconfig(stage.kubeconfig, context) for context in contexts]
    before = target.left(stage)
    seen: list[Left] = []

    def act() -> None:
        target.act(stage, sort)
        seen.append(target.left(stage))
        for server in servers:
            server.requests(forget=True)

    asked = ask([*flow.words(stage), *stage.options], act, flow.answer(stage))
    answered = [one for server in servers for one in server.requests()["requests"]]
    found = [_ended(asked), *([_left(flow, target, before, seen[0], target.left(stage), asked)] if seen else [])]
    found += [_undisplayed(asked), _unknown_to_the_command(answered, asked)]
    return Came(flow.name, sort, asked, "; ".join(one for one in found if one))


def _ended(asked: Asked) -> str:
    if not asked.asked:
        return f"nothing was asked: {asked.status} {asked.out[-200:]}{asked.err[-400:]}"
    if asked.status not in STATUSES or "Traceback" in asked.err:
        return f"left with {asked.status}: {asked.err[-400:]}"
    return "" if not asked.status or "kymatui:" in asked.err else f"left with {asked.status} and said nothing"


def _left(flow: Walk, target: Target, before: Left, seen: Left, after: Left, asked: Asked) -> str:
    """What he left is there, or was displayed as deleted before he came."""
    if after == seen:
        return ""
    was_displayed = bool(seen.uid) and seen.uid == before.uid and target.name in asked.shown
    if flow.deletes and was_displayed and after.value is None:
        return ""
    return f"the intruder left {seen}, and it is {after} ({asked.status}: {asked.err[-300:]})"


def _undisplayed(asked: Asked) -> str:
    """Every write names what the plan displayed; every deletion the object itself."""
    shown = re.sub(r"\s+", " ", asked.shown)
    strange = [one for one in asked.writes if not one.is_bookkeeping and not one.is_in(shown)]
    unsure = [one for one in asked.writes if one.method == "DELETE" and not one.has_uid]
    found = [f"{one.method} {one.path} {one.name} was not displayed" for one in strange]
    return "; ".join([*found, *(f"{one.method} {one.path} names no uid" for one in unsure)])


def _unknown_to_the_command(answered: Sequence[Json], asked: Asked) -> str:
    """The server's own log has no write that the command is not known to have sent."""
    known = {(one.method, one.path) for one in asked.writes}
    writes = [
        (one["method"], one["path"])
        for one in answered
        if one["method"] != "GET" and not one["dry_run"] and one["agent"].startswith("kymatui") and one["status"] < 400
    ]
    strange = [pair for pair in writes if pair not in known and "/authorization.k8s.io/" not in pair[1]]
    return f"the server was asked for more: {strange}" if strange else ""


# the stages


def _installed(stage: Stage) -> None:
    assert stage.install("1").status == 0


def _installed_with_thing(stage: Stage) -> None:
    _installed(stage)
    stage.make_thing()


def _thing(name: str) -> Callable[[Stage], Target]:
    return lambda stage: Target(ObjectRef(GroupVersionKind(stage.group, "v1", "Thing"), stage.name, name))


def config_map(name: str) -> Callable[[Stage], Target]:
    return lambda stage: Target(ObjectRef(CONFIG_MAP, stage.name, name), {"data": {"by": MARK}})


def config_maps(**names: str) -> Targets:
    """By sort the name of the ConfigMap."""
    return {sort: config_map(name) for sort, name in names.items()}


def _unasked(words: list[str]) -> list[str]:
    return [word for word in words if word != "--yes"]


def _upgrade(stage: Stage) -> list[str]:
    return _unasked(stage.installing("2", "upgrade"))


def _without_definition(stage: Stage) -> list[str]:
    """An upgrade to a version that has no definition any more."""
    words = _upgrade(stage)
    file = stage.folder / f"{stage.name}-2.yaml"
    bodies = [body for body in yaml.safe_load_all(file.read_text()) if body["kind"] != DEFINITION.kind]
    file.write_text(yaml.safe_dump_all(bodies))
    return [*words, "--prune-definitions"]


def _planned(stage: Stage) -> None:
    _installed(stage)
    words = ["plan", *_upgrade(stage)[1:], "--out", str(stage.folder / f"{stage.name}.json"), *stage.options]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert main(words) == 0


def _applied(stage: Stage) -> list[str]:
    return ["apply", str(stage.folder / f"{stage.name}.json"), "--timeout", "8"]


def backup(stage: Stage) -> None:
    stage.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": stage.name}})
    bodies = [Target(ObjectRef(CONFIG_MAP, stage.name, name)).body for name in ("there", "missing")]
    (stage.folder / f"{stage.name}-backup.yaml").write_text(yaml.safe_dump_all(bodies))
    stage.cluster.apply(bodies[0], manager=MARK)


def _template(stage: Stage) -> Target:
    kind = GroupVersionKind(KYMA.kind.group, "v1beta2", "ModuleTemplate")
    spec = {"moduleName": "pulled", "version": f"0.0.{stage.number}", "descriptor": {}}
    return Target(ObjectRef(kind, "default", f"pulled-0.0.{stage.number}"), {"spec": spec})


def pulled(stage: Stage) -> list[str]:
    body = _template(stage).body
    file = stage.folder / f"{body['metadata']['name']}.yaml"
    file.write_text(yaml.safe_dump({**body, "spec": body["spec"] | {"requiresDowntime": True}}))
    return ["pull", "pulled", "--catalog", str(file)]


def _deleted(stage: Stage, *more: str) -> list[str]:
    return ["delete", stage.name, *more, "-n", stage.name, "--cascade", "--timeout", "8"]


def registry(name: str) -> Callable[[Stage], Target]:
    return lambda stage: Target(ObjectRef(CONFIG_MAP, "docker-registry", f"dockerregistry-operator-{name}"))


APPLICATION = GroupVersionKind("applicationconnector.kyma-project.io", "v1alpha1", "Application")
_HELD = "example.org/held"


def held(name: str) -> Callable[[Stage], Target]:
    return lambda stage: Target(ObjectRef(APPLICATION, "default", f"{stage.name}-{name}"))


def holding(stage: Stage) -> None:
    body = held("held")(stage).body
    body["metadata"]["finalizers"] = [_HELD]
    stage.cluster.forget_kinds()
    stage.cluster.create(body, manager="operator")
    stage.cluster.delete(ObjectRef(APPLICATION, "default", body["metadata"]["name"]))


def _finalizers(stage: Stage) -> list[str]:
    return ["finalizers", "application-connector", "--object", f"default/{stage.name}-held", "--remove", _HELD]


def _entry(module: str, entry: Json | None) -> Callable[[Stage], None]:
    def prepare(stage: Stage) -> None:
        stage.set_entry(module, entry)

    return prepare


def function(name: str) -> Callable[[Stage], Target]:
    source = {"inline": {"source": "module.exports = { main: () => 1 }"}}
    spec = {"spec": {"runtime": "nodejs22", "source": source}}
    return lambda stage: Target(ObjectRef(FUNCTION.kind, FUNCTION.namespace, name), spec)


def with_function(stage: Stage) -> None:
    asked_for(stage)
    function("seen")(stage).act(stage, "create")


def _edits() -> Iterator[Walk]:
    ignore, fast = {"customResourcePolicy": "Ignore"}, {"channel": "fast"}
    rows: tuple[tuple[list[str], str, Json | None, Json], ...] = (
        (["enable", NEW, "--channel", "fast"], NEW, None, ignore),
        (["disable", MODULE], MODULE, {"name": MODULE}, fast),
        (["channel", MODULE, "fast"], MODULE, {"name": MODULE}, ignore),
        (["unmanage", MODULE], MODULE, {"name": MODULE}, ignore),
        (["manage", MODULE], MODULE, {"name": MODULE, "managed": False}, ignore),
        (["policy", MODULE, "Ignore"], MODULE, {"name": MODULE}, fast),
    )
    for words, module, before, theirs in rows:
        entry = Entry(module, theirs)
        sorts = ("create",) if before is None else ("change", "delete")
        yield Walk(
            words[0],
            _entry(module, before),
            lambda stage, words=words: [*words, "--no-wait"],  # type: ignore[misc]
            {sort: lambda stage, entry=entry: entry for sort in sorts},  # type: ignore[misc]
        )


def unlabelled(stage: Stage) -> None:
    stage.cluster.patch(KYMA, {"metadata": {"labels": {INTERNAL: None}}}, PatchKind.MERGE, manager=MARK)


INTERNAL = "operator.kyma-project.io/internal"

WALKS: tuple[Walk, ...] = (
    *_edits(),
    Walk(
        "label",
        unlabelled,
        lambda stage: ["label", "internal=true", "--no-wait"],
        {"create": lambda _: Label(INTERNAL)},
    ),
    Walk(
        "install",
        lambda stage: None,
        lambda stage: _unasked(stage.installing("1")),
        {"create": lambda stage: Target(stage.definition, _definition_body(stage))},
    ),
    Walk(
        "upgrade",
        _installed,
        _upgrade,
        config_maps(create="only-2", change="settings", delete="settings", replace="only-1"),
    ),
    Walk(
        "upgrade-definitions",
        _installed_with_thing,
        _without_definition,
        {"create": _thing("late"), "change": _thing("theirs"), "replace": _thing("theirs")},
        deletes=True,
    ),
    Walk(
        "apply",
        _planned,
        _applied,
        config_maps(create="only-2", change="settings", delete="settings", replace="only-1"),
    ),
    Walk(
        "adopt",
        lambda stage: None,
        lambda stage: ["adopt", "docker-registry", "--timeout", "8"],
        {"change": registry("config"), "replace": registry("config"), "delete": registry("migration")},
    ),
    Walk(
        "restore",
        backup,
        lambda stage: ["restore", str(stage.folder / f"{stage.name}-backup.yaml"), "--timeout", "2"],
        config_maps(create="missing", change="there", delete="there", replace="there"),
    ),
    Walk("pull", lambda stage: None, pulled, {"create": _template}),
    Walk(
        "pull-again",
        lambda stage: _template(stage).act(stage, "create"),
        pulled,
        dict.fromkeys(("change", "delete", "replace"), _template),
    ),
    Walk(
        "finalizers",
        holding,
        _finalizers,
        {"create": held("late"), "change": held("held")},
        deletes=True,
        answer=lambda stage: f"default/{stage.name}-held",
    ),
    Walk(
        "delete",
        _installed_with_thing,
        _deleted,
        {"create": _thing("late"), "change": _thing("theirs"), "delete": _thing("theirs"), "replace": _thing("theirs")},
        deletes=True,
    ),
    Walk(
        "delete-part",
        _installed,
        _deleted,
        config_maps(create="late", change="settings", delete="settings", replace="settings"),
        deletes=True,
    ),
    Walk(
        "delete-several",
        _installed_with_thing,
        lambda stage: _deleted(stage, "nats"),
        {"create": _thing("late"), "replace": _thing("theirs")},
        deletes=True,
    ),
    Walk(
        "delete-managed",
        with_function,
        lambda stage: ["delete", MANAGED, "--cascade", "--timeout", "20"],
        {
            "create": function("late"),
            "replace": function("seen"),
            "change": function("seen"),
            "delete": function("seen"),
        },
        deletes=True,
    ),
    Walk(
        "disable-managed",
        with_function,
        lambda stage: ["disable", MANAGED, "--cascade", "--timeout", "20"],
        {sort: function("late" if sort == "create" else "seen") for sort in ("create", "replace", "delete")},
        deletes=True,
    ),
    Walk(
        "delete-entry",
        asked_for,
        lambda stage: ["delete", MANAGED, "--timeout", "20"],
        {"change": lambda _: Entry(MANAGED, {"channel": "fast"})},
        deletes=True,
    ),
)


def _definition_body(stage: Stage) -> Json:
    (body,) = (one for one in yaml.safe_load_all(stage.source("1").read_text()) if one["kind"] == DEFINITION.kind)
    return {"metadata": body["metadata"], "spec": body["spec"]}


def walks(names: Sequence[str] = ()) -> Iterator[tuple[Walk, str]]:
    """Each flow with each of its intruders."""
    for flow in WALKS:
        if not names or flow.name in names:
            yield from ((flow, sort) for sort in flow.targets)
