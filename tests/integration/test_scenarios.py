"""The scenarios of the domain, loaded into a cluster and read back by the commands, as an operator meets them.

All of them are modules of one Kyma; each is named after what it shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from kymatui.cli.main import main
from kymatui.crds import read_crds
from tests.domain import builders as b
from tests.integration.embedded import GROUP, NAMESPACE, eventually
from tests.integration.recording import Recorded, recorded

pytestmark = pytest.mark.xdist_group("scenarios")

Json = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """One module: its objects, its entry in the Kyma and in its status (None: none), and parts of its row.

    `reason` and `problem` are parts of what is said of it.
    """

    title: str
    name: str
    objects: Sequence[Json]
    row: Mapping[str, object] = field(default_factory=dict)
    entry: Mapping[str, Any] | None = None
    report: Json | None = None
    status: Json | None = None
    reason: str = ""
    problem: str = ""


def offered(name: str, version: str = "1.0.0", **spec: Any) -> list[Json]:
    """A module in the regular channel, without a manager."""
    return [b.meta(name, {"regular": version}), b.template(name, version, manager=False, **spec)]


def anything(name: str) -> Json:
    """The definition of a module's resource that takes any status."""
    kind = b.kind_of(name)
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": b.SAMPLE.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": f"{kind.lower()}s", "singular": kind.lower(), "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{b.SAMPLE.group}"},
        "spec": {"group": b.SAMPLE.group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def workload(name: str, *images: str) -> Json:
    """A Deployment that the cluster brings to life; the last image is the manager's."""
    names = [*(f"proxy{n}" for n in range(len(images) - 1)), "manager"]
    containers = [{"name": n, "image": i} for n, i in zip(names, images, strict=True)]
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    found = b.deployment(name, "")
    found["spec"] = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    del found["status"]
    return found


def managed(name: str) -> list[Json]:
    """A module in the regular channel with a manager that runs."""
    return [b.meta(name, {"regular": "1.0.0"}), b.template(name, "1.0.0"), workload(name, f"r.io/{name}:1.0.0")]


MADE_ONCE = {
    "type": "ModuleCR",
    "status": "True",
    "reason": "ModuleCRCreated",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


def applied(name: str, *, mandatory: str = "", conditions: Sequence[Json] = ()) -> Json:
    """Its Manifest."""
    found = b.manifest(name, "1.0.0")
    found["metadata"]["labels"] |= b.labels(mandatory_module=mandatory) if mandatory else {}
    found["spec"]["install"] = {"name": name, "source": {}}
    found["status"]["conditions"] = list(conditions)
    return found


def own(name: str, title: str) -> Json:
    """A resource of the module that is well."""
    found = b.resource(name, "Ready", name=title)
    del found["metadata"]["creationTimestamp"]
    return found


def checked(title: str, name: str, rules: Sequence[tuple[str, str, str]], status: Json, **row: object) -> Scenario:
    """A module with rules and a resource that reports something."""
    entries = [{"jsonPath": path, "value": value, "mappedState": state} for path, value, state in rules]
    return Scenario(
        title, name, offered(name, customStateCheck=entries), row, {}, b.report(name, "1.0.0"), status or {}
    )


def running(title: str, name: str, images: Sequence[str], installed: str | None, drift: str) -> Scenario:
    """A community module whose manager has containers with these images; the last one is the manager."""
    template = b.community_template(name, "1.2.3")
    row = {"installed": installed, "drift": drift, "origin": "community", "desired": "1.2.3", "managed": False}
    return Scenario(title, name, [template, workload(name, *images)], row)


GREEN_RED = [("status.health", "green", "Ready"), ("status.health", "red", "Error")]
TWO_READY = [("status.m.one", "1", "Ready"), ("status.m.two", "2", "Ready"), ("status.m.one", "bad", "Error")]
CLASH = [
    (f"status.{key}", "x", state) for key, state in zip("srwd", ("Error", "Ready", "Warning", "Deleting"), strict=True)
]
HELD = {"drift": "newer-than-channel", "desired": "1.9.9", "installed": "2.0.0", "state": "Warning"}

RESOLUTION = [
    Scenario(
        "01 the Kyma's channel",
        "predefined",
        [b.meta("predefined", {"regular": "1.0.0", "fast": "2.0.0"})]
        + [b.template("predefined", v, manager=False) for v in ("1.0.0", "2.0.0")],
        {
            "channel": "regular",
            "desired": "1.0.0",
            "newest": "2.0.0",
            "channels": {"regular": "1.0.0", "fast": "2.0.0"},
        },
        {},
    ),
    Scenario(
        "02 the module's own channel",
        "overridden",
        [b.meta("overridden", {"regular": "1.0.0", "fast": "2.0.0"})]
        + [b.template("overridden", v, manager=False) for v in ("1.0.0", "2.0.0")],
        {"channel": "fast", "desired": "2.0.0"},
        {"channel": "fast"},
    ),
    Scenario(
        "04 a channel that is not offered",
        "lacking",
        offered("lacking"),
        {"state": "Error", "desired": None, "channel": "experimental"},
        {"channel": "experimental"},
        reason="channel experimental has no version of the module",
    ),
    Scenario(
        "05 a template of another name",
        "misnamed",
        [
            b.meta("misnamed", {"regular": "1.1.0"}),
            b.template("misnamed", "1.1.0", name="misnamed-regular", manager=False),
        ],
        {"desired": "1.1.0", "installed": "1.1.0", "drift": "up-to-date"},
        {},
        b.report("misnamed", "1.1.0"),
        reason="lifecycle-manager looks for misnamed-1.1.0",
    ),
    Scenario(
        "06 two old templates",
        "ambiguous",
        [b.old_template(name, "ambiguous", "regular", "1.0.0") for name in ("ambiguous-regular", "another-one")],
        {"state": "Error", "desired": None},
        {},
        reason="kyma-system/ambiguous-regular, kyma-system/another-one",
    ),
    Scenario(
        "07 an old template without a channel",
        "channelless",
        [b.old_template("channelless-x", "channelless", "", "1.0.0")],
        {"state": "Error"},
        {},
        reason="has no channel",
    ),
    Scenario(
        "09 held back",
        "skewed",
        offered("skewed", "1.9.9"),
        HELD,
        {},
        b.report("skewed", "2.0.0", "Warning", message="not allowed"),
        reason="Newer than channel regular (2.0.0 > 1.9.9), and never downgraded automatically",
    ),
    Scenario(
        "10 a suffix is ignored by the guard",
        "suffixed",
        offered("suffixed", "1.2.3"),
        {"drift": "behind", "installed": "1.2.3-experimental", "desired": "1.2.3"},
        {},
        b.report("suffixed", "1.2.3-experimental"),
    ),
    Scenario(
        "10 a pre-release of a later version is held back",
        "prerelease",
        offered("prerelease", "1.2.3"),
        {"drift": "newer-than-channel", "installed": "1.2.4-rc"},
        {},
        b.report("prerelease", "1.2.4-rc"),
    ),
    Scenario(
        "11 a version that is none",
        "unversioned",
        offered("unversioned"),
        {"state": "Warning", "installed": "main"},
        {},
        b.report("unversioned", "main", "Warning", message="Modules contains invalid version"),
        reason="invalid version 'main'",
    ),
    Scenario(
        "12 beta, and the Kyma has no label",
        "betaware",
        offered("betaware", labelled=b.labels(beta="true")),
        {"beta": True, "state": "Error"},
        {},
        reason="lifecycle-manager uninstalls the module, because this Kyma may not use it",
    ),
    Scenario(
        "13 internal, and the Kyma has no label",
        "inside",
        offered("inside", labelled=b.labels(internal="True")),
        {"internal": True, "state": "NotInstalled"},
        reason="Not installed, not available: it is an internal module",
    ),
    Scenario(
        "16 a selector where nothing is restricted",
        "selective",
        [
            b.meta("selective", {"regular": "1.0.0"}, kymaSelector={"matchLabels": {"a": "b"}}),
            b.template("selective", "1.0.0", manager=False),
        ],
        {"state": "Error"},
        {},
        reason="its ModuleReleaseMeta has a kymaSelector",
    ),
    Scenario(
        "62 a release before a later pre-release",
        "newer",
        [b.community_template("newer", version, manager=False) for version in ("1.0.0", "1.1.0-rc1", "0.9.0")],
        {"newest": "1.0.0", "desired": "1.0.0", "origin": "community", "state": "NotInstalled", "channel": None},
    ),
    Scenario(
        "templates in any namespace",
        "elsewhere",
        [b.community_template("elsewhere", "1.0.0", namespace="far-away", manager=False)],
        {"origin": "community", "newest": "1.0.0", "state": "NotInstalled"},
    ),
]
CHECKS = [
    checked("34 green", "green", GREEN_RED, {"health": "green"}, state="Ready", stateSource="customStateCheck"),
    checked("34 red", "red", GREEN_RED, {"health": "red"}, state="Error"),
    checked("34 yellow", "yellow", GREEN_RED, {"health": "yellow"}, state="Processing"),
    checked("34 absent", "absent", GREEN_RED, {}, state="Processing"),
    checked("35 both match", "both", TWO_READY, {"m": {"one": "1", "two": "2"}}, state="Ready"),
    checked("35 one differs", "differs", TWO_READY, {"m": {"one": "1", "two": "x"}}, state="Processing"),
    checked("35 one path is missing", "missing", TWO_READY, {"m": {"one": "1"}}, state="Ready"),
    checked("36 only Ready rules", "onlyready", TWO_READY[:2], {"m": {"one": "1", "two": "2"}}, state="Error"),
    checked("37 a boolean", "boolean", GREEN_RED, {"health": True}, state="Error"),
    checked("37 a number", "number", GREEN_RED, {"health": 3}, state="Error"),
    checked("37 an object", "object", GREEN_RED, {"health": {"a": "b"}}, state="Error"),
    checked("38 Error before Ready", "errors", CLASH, {"s": "x", "r": "x"}, state="Error"),
    checked("38 Ready before Warning", "readies", CLASH, {"r": "x", "w": "x"}, state="Ready"),
    checked("38 Warning before Deleting", "warns", CLASH, {"w": "x", "d": "x"}, state="Warning"),
    checked("39 Ready", "wordready", [], {"state": "Ready"}, state="Ready", stateSource="status.state"),
    checked("39 Processing", "wordprocessing", [], {"state": "Processing"}, state="Processing"),
    checked("39 another word", "wordfoo", [], {"state": "Foo"}, state="Warning"),
    checked("39 no word", "wordless", [], {"state": ""}, state="Warning"),
]
IMAGES = [
    running("58 a port and not a valid tag", "portless", ["reg:5000/x/mgr"], None, "unknown"),
    running("58 a tag and a digest", "digested", [f"r.io/x/mgr:1.2.3@sha256:{'a' * 64}"], "1.2.3", "up-to-date"),
    running("58 latest", "latest", ["r.io/x/mgr:latest"], "latest", "unknown"),
    running("58 a commit", "commit", [f"r.io/x/mgr:{'49b119' * 6}"], "49b119" * 6, "unknown"),
    running("58 a leading v", "leading", ["r.io/x/mgr:v1.2.3"], "v1.2.3", "up-to-date"),
    running("59 a part of a version is none", "partly", ["r.io/x/mgr:11.2.3"], "11.2.3", "ahead"),
    running("60 a sidecar comes first", "sidecar", ["r.io/proxy:9.9.9", "r.io/x/mgr:1.2.0"], "1.2.0", "behind"),
]
FLOWS = [
    Scenario(
        "41 policy Ignore and no resource",
        "ignoring",
        [*managed("ignoring"), anything("ignoring")],
        {"state": "Ready", "installed": "1.0.0", "drift": "up-to-date", "stateSource": "manager"},
        {"customResourcePolicy": "Ignore"},
        b.report("ignoring", "1.0.0"),
        reason="Installed, but not in use: it has no module CR. Create one",
    ),
    Scenario(
        "42 the resource was deleted by a user",
        "undone",
        [*managed("undone"), anything("undone"), applied("undone", conditions=[MADE_ONCE])],
        {"installed": "1.0.0"},
        {},
        b.report("undone", "1.0.0"),
        reason="lifecycle-manager does not create it again. Create it",
    ),
    Scenario(
        "51 another resource blocks the deletion",
        "blocked",
        [*offered("blocked"), anything("blocked"), own("blocked", "other")],
        {"state": "Deleting", "managed": True},
        None,
        b.report("blocked", "1.0.0", "Deleting"),
        reason=f"Action needed: deletion blocked by Blocked {NAMESPACE}/other. Delete it to continue (`kymatui delete",
    ),
    Scenario(
        "54 not let go of yet",
        "clinging",
        offered("clinging"),
        {"state": "Unmanaged", "managed": False},
        {"managed": False},
        b.report("clinging", "1.0.0", "Processing"),
        reason="has not released the module yet. Keep its entry",
    ),
    Scenario(
        "56 an update waits for a window",
        "waiting",
        offered("waiting", "1.1.0", requiresDowntime=True),
        {"drift": "awaiting-window", "installed": "1.0.0", "desired": "1.1.0", "state": "Ready"},
        {},
        b.report("waiting", "1.0.0", maintenance=True, message="waiting for next maintenance window"),
        reason="Awaiting maintenance window",
    ),
    Scenario(
        "a mandatory module",
        "mandated",
        [
            b.meta("mandated", mandatory={"version": "1.0.0"}),
            b.template("mandated", "1.0.0", mandatory=True, manager=False),
            applied("mandated", mandatory="true"),
        ],
        {"mandatory": True, "managed": True, "channel": None, "desired": "1.0.0", "state": "Ready"},
    ),
    Scenario(
        "a resource without its manager",
        "orphaned",
        [b.community_template("orphaned", "1.0.0"), anything("orphaned"), own("orphaned", "default")],
        {"state": "Warning", "installed": None, "origin": "community"},
        reason=f"Orphaned {NAMESPACE}/default exists, but the module's manager does not",
    ),
]
SCENARIOS = [*RESOLUTION, *CHECKS, *IMAGES, *FLOWS]


def world() -> list[Json]:
    objects: list[Json] = [*read_crds()]
    for one in SCENARIOS:
        objects += one.objects
        if one.status is not None:
            resource = b.resource(one.name, None)
            del resource["metadata"]["creationTimestamp"]
            objects += [anything(one.name), {**resource, "status": one.status}]
    asked = [{"name": one.name, **one.entry} for one in SCENARIOS if one.entry is not None]
    reports = [one.report for one in SCENARIOS if one.report is not None]
    # the overridden one comes first: its place in the list must not matter
    asked.sort(key=lambda entry: entry["name"] != "overridden")
    return [*objects, b.kyma(asked, status=reports, state="Error")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    folder = tmp_path_factory.mktemp("scenarios")
    with recorded(folder) as found:
        found.load(folder, world())
        eventually(lambda: managers_available(found), "all managers are available", 60)
        yield found


def managers_available(server: Recorded) -> bool:
    found = server.call(lambda: server.cluster.server.client.list("deployments.apps"))
    wanted = sum(item["kind"] == "Deployment" for one in SCENARIOS for item in one.objects)
    return len(found) == wanted and all(item.get("status", {}).get("availableReplicas") == 1 for item in found)


@pytest.fixture(scope="module")
def listing(server: Recorded, tmp_path_factory: pytest.TempPathFactory) -> Json:
    import contextlib
    import io

    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        assert main(["catalog", "--kubeconfig", str(server.kubeconfig), "-o", "json"]) == 0
    found: Json = json.loads(out.getvalue())
    return found


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[one.title for one in SCENARIOS])
def test_the_row_of(scenario: Scenario, listing: Json) -> None:
    rows = {row["name"]: row for row in listing["modules"]}
    row = rows[scenario.name]
    assert {key: row[key] for key in scenario.row} == scenario.row
    assert scenario.reason in row["reason"]


def answer(server: Recorded, capsys: pytest.CaptureFixture[str], *words: str) -> Json:
    assert main([*words, "--kubeconfig", str(server.kubeconfig), "-o", "json"]) == 0
    found: Json = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("name", "klm", "strict"),
    [("missing", "Ready", "Processing"), ("onlyready", "Error", "Ready"), ("boolean", "Error", "Processing")],
)
def test_both_readings_of_the_rules(
    name: str, klm: str, strict: str, server: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    for mode, state in (("klm", klm), ("strict", strict)):
        (found,) = answer(server, capsys, "checks", name, "--mode", mode)["resources"]
        assert found["state"] == state


def test_the_channel_says_who_chose_it(server: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(server, capsys, "module", "predefined")["channelSource"] == "predefined"
    assert answer(server, capsys, "module", "overridden")["channelSource"] == "overridden"


def test_36_a_linter_names_what_is_missing(server: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Error" in " ".join(answer(server, capsys, "checks", "onlyready")["lint"])


def test_33_where_the_kyma_disagrees_with_its_modules_it_is_said(
    server: Recorded, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """A Kyma that reports Ready over modules that are not."""
    patch = {"status": {"state": "Ready"}}
    kymas = f"kymas.{GROUP}"
    client = server.cluster.server.client
    server.call(lambda: client.patch(kymas, "default", patch, namespace=NAMESPACE, subresource="status"))
    messages = [problem["message"] for problem in answer(server, capsys, "catalog")["problems"]]
    assert any("reports Ready, but its modules and conditions imply Warning" in message for message in messages)
    assert any("reports Ready, but these modules are in Error: " in message for message in messages)


def test_03_a_kyma_in_the_channel_none(server: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    patch = {"spec": {"channel": "none"}}
    client = server.cluster.server.client
    server.call(lambda: client.patch(f"kymas.{GROUP}", "default", patch, namespace=NAMESPACE))
    try:
        found = answer(server, capsys, "catalog")
        said = [problem["message"] for problem in found["problems"] if problem["severity"] == "error"]
        assert any("spec.channel is none" in message for message in said)
        row = next(row for row in found["modules"] if row["name"] == "predefined")
        assert (row["state"], row["desired"]) == ("Error", None)
    finally:
        back = {"spec": {"channel": "regular"}}
        server.call(lambda: client.patch(f"kymas.{GROUP}", "default", back, namespace=NAMESPACE))
