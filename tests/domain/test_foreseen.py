"""What lifecycle-manager is known to do otherwise than its API says: foreseen in rows, plans and stages."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kymatui.domain.audit.report import audit
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.fleet.runtimes import build_fleet
from kymatui.domain.kyma.kymas import Kyma, Policy, read_kyma
from kymatui.domain.kyma.manifests import FINALIZER, FINALIZER_MODULE_CR
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.states import State
from kymatui.domain.kyma_edit.edit_progress import track_edit
from kymatui.domain.kyma_edit.module_edit import EditProposal, EditVerb, ModuleEdit, propose_edit
from kymatui.domain.modules.presence import Presence
from kymatui.domain.modules.risks import NO_ACCESS, NOT_RELEASED, RiskKind, unreleased_words
from kymatui.domain.remote.kyma_sync import with_requests
from kymatui.domain.snapshot.cluster_index import index_cluster
from kymatui.domain.snapshot.missing_lists import RowFact
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.domain.versions.resolution import ChannelSource
from tests.domain.builders import (
    NOW,
    Json,
    deployment,
    gvk,
    kyma,
    manifest,
    meta,
    report,
    resource,
    snapshot,
    stamp,
    template,
)

TEMPLATES = [template("mod", "1.0.0"), template("mod", "1.1.0")]
META = meta("mod", {"regular": "1.1.0"})


def cluster(
    entry: Json | None = None,
    *,
    version: str = "1.1.0",
    state: str = "Ready",
    running: Json | None = None,
    made: Json | None = None,
    used: bool = True,
) -> Snapshot:
    """One module as the Kyma, its Manifest (`made`) and its workload (`running`) have it."""
    found = kyma([{"name": "mod", **(entry or {})}], status=[report("mod", version, state)])
    found["metadata"]["uid"] = "u-1"
    return snapshot(
        kymas=[found],
        templates=TEMPLATES,
        release_metas=[META],
        manifests=[made] if made is not None else [],
        workloads=[running or deployment("mod", "1.1.0")],
        module_resources={gvk("mod"): (resource("mod"),) if used else ()},
    )


def made(policy: str, *finalizers: str, state: str = "Ready") -> Json:
    found = manifest("mod", "1.1.0", state, uid="m-1")
    found["spec"]["customResourcePolicy"] = policy
    found["metadata"]["finalizers"] = list(finalizers)
    return found


def row(seen: Snapshot) -> ModuleRow:
    found = build_catalog(seen, NOW).row("mod")
    assert found is not None
    return found


def risks(seen: Snapshot) -> list[RiskKind]:
    return [one.risk for one in row(seen).foreseen]


def proposed(seen: Snapshot, verb: EditVerb, policy: Policy | None = None) -> EditProposal:
    return propose_edit(seen, ModuleEdit(verb, "mod", policy=policy), NOW)


IGNORE, CREATE = "Ignore", "CreateAndDelete"


def test_disabling_says_nothing_that_its_own_warnings_contradict() -> None:
    """lifecycle-manager leaves the CR, so it is not "deleted with the module"."""
    words = " ".join(proposed(cluster(made=made(IGNORE)), EditVerb.DISABLE).warnings)
    assert "waits for the module CR and does not delete it" in words
    assert "is deleted with the module" not in words


@pytest.mark.parametrize(
    ("asked", "has", "policy", "words"),
    [
        (CREATE, IGNORE, Policy.CREATE_AND_DELETE, "The Kyma has policy CreateAndDelete, but Manifest "),
        (IGNORE, CREATE, Policy.IGNORE, "The Kyma has policy Ignore, but Manifest "),
        (CREATE, CREATE, Policy.CREATE_AND_DELETE, ""),
    ],
)
def test_a_policy_that_the_kyma_has_says_what_the_manifest_still_has(
    asked: str, has: str, policy: Policy, words: str
) -> None:
    proposal = proposed(cluster({"customResourcePolicy": asked}, made=made(has)), EditVerb.POLICY, policy)
    assert (proposal.is_done, len(proposal.warnings)) == (True, int(bool(words)))
    assert "".join(proposal.warnings).startswith(words)
    assert not words or "changes it with the next version, channel or template change" in proposal.warnings[0]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(cluster(made=made(CREATE)), [], id="they agree"),
        pytest.param(cluster({"customResourcePolicy": CREATE}), [], id="no Manifest to be seen"),
        pytest.param(
            cluster(made=made(IGNORE)), [RiskKind.CR_STAYS, RiskKind.MAY_NOT_WAIT], id="3 nobody deletes the CR"
        ),
        pytest.param(
            cluster({"customResourcePolicy": IGNORE}, made=made(CREATE)), [RiskKind.POLICY_PENDING], id="1, 18"
        ),
        pytest.param(
            cluster({"customResourcePolicy": IGNORE}, made=made(IGNORE, FINALIZER_MODULE_CR), used=False),
            [RiskKind.FINALIZER_STAYS],
            id="2 a finalizer that nobody removes",
        ),
        pytest.param(cluster({"customResourcePolicy": IGNORE}), [RiskKind.MAY_NOT_WAIT], id="8 it may not wait"),
        pytest.param(cluster(running=deployment("mod", "1.0.0")), [RiskKind.NOT_APPLIED], id="7 nothing is applied"),
        pytest.param(cluster(running=deployment("mod", "1.0.0"), version="1.0.0"), [], id="not yet reported"),
        pytest.param(
            cluster({"managed": False}, state="Unmanaged", made=made(CREATE)),
            [RiskKind.STILL_RELEASING],
            id="10 releasing",
        ),
        pytest.param(cluster({"managed": False}, state="Unmanaged"), [], id="released"),
    ],
)
def test_what_will_go_wrong_is_known_from_fields(seen: Snapshot, expected: list[RiskKind]) -> None:
    assert risks(seen) == expected
    problems = [one.message for one in row(seen).problems]
    assert all(one.message in problems for one in row(seen).foreseen)
    findings = [one for one in audit(seen, NOW).findings if one.module == "mod"]
    assert all(any(risk.message in one.message for one in findings) for risk in row(seen).foreseen)
    about = {one.path: (one.severity, one.actor) for one in findings if one.rule.id == "module.risk"}
    assert about == {risk.risk: (risk.severity, risk.actor) for risk in row(seen).foreseen if risk.risk in about}


def test_7_a_reported_version_is_not_believed_against_the_workload() -> None:
    reason = row(cluster(running=deployment("mod", "1.0.0"))).reason
    assert (
        reason.actor,
        "The Kyma reports 1.1.0 as Ready, but the workload still has another version" in reason.text,
    ) == (Actor.KLM, True)


def test_3_a_plan_to_disable_says_who_deletes_the_module_cr() -> None:
    warnings = proposed(cluster(made=made(IGNORE)), EditVerb.DISABLE).warnings
    assert any("waits for the module CR and does not delete it" in text for text in warnings), warnings


def test_1_the_manifest_decides_who_deletes_the_module_cr() -> None:
    warnings = proposed(cluster({"customResourcePolicy": IGNORE}, made=made(CREATE)), EditVerb.DISABLE).warnings
    assert any("still has CreateAndDelete" in text for text in warnings)
    assert not any("deletes no module CR" in text for text in warnings)


@pytest.mark.parametrize("policy", list(Policy))
def test_1_a_policy_is_said_to_come_late(policy: Policy) -> None:
    other = IGNORE if policy == CREATE else CREATE
    warnings = proposed(cluster({"customResourcePolicy": other}), EditVerb.POLICY, policy).warnings
    assert any("only with the next version, channel or template change" in text for text in warnings)
    assert any("block deletion" in text for text in warnings) is (policy == IGNORE)


def test_10_an_entry_stays_while_the_manifest_is_being_released() -> None:
    seen = cluster({"managed": False}, state="Unmanaged", made=made(CREATE))
    found = proposed(seen, EditVerb.DISABLE)
    assert any("Keep the module's entry in the Kyma until the Manifest is gone" in text for text in found.refusals)
    assert not proposed(cluster({"managed": False}, state="Unmanaged"), EditVerb.DISABLE).is_refused


def test_10_unmanaging_is_finished_when_the_manifest_is_gone() -> None:
    toggle = ModuleEdit(EditVerb.UNMANAGE, "mod")
    before = cluster(made=made(CREATE))
    edit = propose_edit(before, toggle, NOW).edit
    assert edit is not None
    for there, finished in ((made(CREATE), False), (None, True)):
        now = cluster({"managed": False}, state="Unmanaged", made=there)
        assert track_edit(toggle, edit, 0, now, build_catalog(now, NOW)).finished is finished


def starting(age: float) -> Json:
    """A manager whose Deployment has no conditions yet."""
    found: dict[str, Any] = deployment("mod", "1.1.0", age=age)
    found["status"] = {}
    return found


def test_an_error_of_a_manager_that_starts_is_none_for_a_minute() -> None:
    early = row(cluster(state="Error", running=starting(5), made=made(CREATE, state="Error")))
    assert (early.state, early.actor) != (State.ERROR, Actor.YOU)
    assert early.state is State.PROCESSING
    late = row(cluster(state="Error", running=starting(90), made=made(CREATE, state="Error")))
    assert (late.state, "Action needed: the Kyma reports Error" in late.reason.text) == (State.ERROR, True)


def test_an_error_with_a_cause_of_its_own_counts_while_the_manager_starts() -> None:
    seen = cluster({"channel": "fast"}, state="Error", running=starting(5), made=made(CREATE))
    found = row(seen)
    assert (found.state, "channel fast has no version" in found.reason.text) == (State.ERROR, True), found.reason


@pytest.mark.parametrize(
    ("finalizers", "policy", "set_by", "actor"),
    [
        ((FINALIZER_MODULE_CR,), IGNORE, "", Actor.YOU),
        ((FINALIZER_MODULE_CR, FINALIZER), IGNORE, "", Actor.KLM),
        ((FINALIZER_MODULE_CR,), CREATE, "", Actor.KLM),
        (("example.com/hold",), CREATE, "kubectl-patch", Actor.YOU),
        (("example.com/hold", FINALIZER), CREATE, "", Actor.KLM),
        (("example.com/new",), CREATE, "lifecycle-manager", Actor.KLM),
        (("foregroundDeletion",), CREATE, "", Actor.KLM),
    ],
)
def test_2_a_manifest_that_only_foreign_finalizers_hold_waits_for_a_person(
    finalizers: tuple[str, ...], policy: str, set_by: str, actor: Actor
) -> None:
    held = made(policy, *finalizers, state="Deleting")
    held["metadata"]["deletionTimestamp"] = stamp(60)
    fields: Json = {"f:metadata": {"f:finalizers": {f'v:"{name}"': {} for name in finalizers}}}
    held["metadata"]["managedFields"] = [{"manager": set_by, "operation": "Update", "fieldsV1": fields}]
    seen = cluster(state="Deleting", made=held, used=False)
    gone = {**seen.kymas[0], "spec": {"channel": "regular", "modules": []}}
    reason = row(replace(seen, kymas=(gone,))).reason
    is_blocked = actor is Actor.YOU
    assert (reason.actor, "`kymatui finalizers mod" in reason.text, bool(reason.blocked_by)) == (
        actor,
        is_blocked,
        is_blocked,
    ), reason


def test_16_a_template_of_a_user_that_the_sync_took_over_is_named() -> None:
    theirs = {"manager": "catalog-sync", "operation": "Apply", "time": stamp(60)}
    mine = {"manager": "kubectl", "operation": "Update", "time": stamp(600)}
    for writers, expected in (([theirs], False), ([mine], False), ([theirs, mine], True)):
        taken = template("mod", "1.1.0")
        taken["metadata"]["managedFields"] = writers
        found = row(replace(cluster(), templates=(TEMPLATES[0], taken)))
        assert any("Apply yours under another name" in one.text for one in found.problems) is expected


def test_17_a_runtimes_kyma_that_is_deleted_comes_again_without_its_own_modules() -> None:
    seen = cluster()
    dying: Json = dict(seen.kymas[0])
    owner = {"deprecated-operator.kyma-project.io/owned-by": "kcp-system/one"}
    dying["metadata"] = {**dying["metadata"], "deletionTimestamp": stamp(60), "annotations": owner}
    (problem,) = [one for one in build_catalog(replace(seen, kymas=(dying,)), NOW).problems if "deleted" in one.message]
    assert "creates the runtime's Kyma again" in problem.message
    assert "requests: mod. Enable them again after that (`kymatui enable mod`)." in problem.text


KEPT = f"{NOT_RELEASED}. Keep its entry in the Kyma until its state is Unmanaged."


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(cluster({"managed": False}, state="Ready", made=made(CREATE)), KEPT, id="not reported"),
        pytest.param(cluster({"managed": False}, state="Ready"), KEPT, id="not reported, Manifests unreadable"),
        pytest.param(cluster({"managed": False}, state="Unmanaged"), "", id="released"),
    ],
)
def test_an_unmanaged_module_is_released_only_when_reported(seen: Snapshot, expected: str) -> None:
    found = row(seen)
    assert unreleased_words(found.reports.kyma, found.foreseen) == expected


def test_an_unmanaged_module_with_a_manifest_is_not_released() -> None:
    found = row(cluster({"managed": False}, state="Unmanaged", made=made(CREATE)))
    (risk,) = (one for one in found.foreseen if one.risk is RiskKind.STILL_RELEASING)
    assert unreleased_words(found.reports.kyma, found.foreseen) == risk.text


@pytest.mark.parametrize(
    ("state", "operation", "reported", "words"),
    [
        ("Error", NO_ACCESS, "Error", "Repair its access Secret"),
        ("Error", NO_ACCESS, "Ready", "Repair its access Secret"),
        ("Error", "the catalog was not synchronized", "Ready", "in Error: the catalog was not synchronized"),
        ("Warning", "", "Unmanaged", "in Warning: lifecycle-manager gives no reason"),
        ("Error", "a module is in Error", "Error", ""),  # its row says why
        ("Ready", "kyma is ready", "Ready", ""),
    ],
)
def test_an_error_of_the_kyma_itself_is_a_problem_and_one_of_a_module_is_not_told_twice(
    state: str, operation: str, reported: str, words: str
) -> None:
    body = kyma(({"name": "mod"},), state=state, status=[report("mod", "1.1.0", reported)])
    body["status"]["lastOperation"] = {"operation": operation}
    found = build_catalog(snapshot(kymas=(body,), templates=TEMPLATES, release_metas=[META]), NOW).problems
    told = [one for one in found if "access" in one.message or "itself" in one.message]
    assert [(words in one.text, one.actor, str(one.severity)) for one in told] == (
        [(True, Actor.YOU, state.lower())] if words else []
    )


def control_plane(
    *modules: Json, state: str = "Ready", made: Json | None = None, here: bool = False, active: str = ""
) -> Snapshot:
    """The control plane's Kyma, whose status has the module; with `here`, its manager is in the same cluster."""
    place = "kcp-system"
    own = kyma(modules, status=[report("mod", "1.1.0", state, channel="fast")], name="one", namespace=place)
    own["metadata"]["uid"] = "u-1"
    own["status"]["activeChannel"] = active
    owner = {"operator.kyma-project.io/owned-by": f"{place}/one-mod-1"}
    return snapshot(
        kymas=[own],
        templates=[template("mod", "1.1.0", namespace=place)],
        release_metas=[meta("mod", {"regular": "1.1.0", "fast": "1.1.0"}, namespace=place)],
        manifests=[made or placed(manifest("mod", "1.1.0", owner="one"))],
        workloads=[deployment("mod", "1.1.0", annotations=owner)] if here else [],
    )


def placed(raw: Json, **metadata: Any) -> Json:
    return {**raw, "metadata": {**raw["metadata"], "namespace": "kcp-system", **metadata}}


@pytest.mark.parametrize(
    ("modules", "state", "presence", "managed", "shown"),
    [
        ([], "Ready", Presence.ENABLED, True, State.READY),
        ([{"name": "other"}], "Error", Presence.ENABLED, True, State.ERROR),
        ([], "Unmanaged", Presence.UNMANAGED, False, State.UNMANAGED),
        ([], "Deleting", Presence.DELETING, True, State.DELETING),
    ],
)
def test_19_a_module_in_a_control_planes_status_alone_is_enabled(
    modules: list[Json], state: str, presence: Presence, managed: bool, shown: State
) -> None:
    found = row(control_plane(*modules, state=state))
    assert (found.presence, found.managed, found.state) == (presence, managed, shown)
    assert (found.channel, found.resolution.channel_source) == ("fast", ChannelSource.STATUS)
    is_requested = presence is not Presence.DELETING
    assert (found.policy, RowFact.POLICY in found.unknown) == ("", is_requested and managed)


def test_19_a_stored_spec_says_nothing_once_a_channel_is_active() -> None:
    """lifecycle-manager reads it to create the runtime's Kyma, and never again."""
    ignoring = placed(manifest("mod", "1.1.0", owner="one"))
    ignoring["spec"]["customResourcePolicy"] = IGNORE
    stored = {"name": "mod", "channel": "regular", "customResourcePolicy": CREATE, "managed": False}
    world = control_plane(stored, {"name": "taken-off"}, made=ignoring, active="rapid")
    found = row(world)
    assert (found.presence, found.channel, found.policy) == (Presence.ENABLED, "fast", "")
    assert (found.resolution.channel_source, RowFact.POLICY in found.unknown) == (ChannelSource.STATUS, True)
    assert (risks(world), sorted(index_cluster(world).modules)) == ([], ["mod"])
    stored_kyma = read_kyma(world.kymas[0])
    assert isinstance(stored_kyma, Kyma)
    asked, indexed = read_kyma(with_requests(stored_kyma)), index_cluster(world).kyma
    assert isinstance(asked, Kyma)
    assert indexed is not None
    (runtime,) = build_fleet(world.kymas, world.release_metas).runtimes
    assert [(module.name, module.channel, module.presence) for module in runtime.modules] == [
        ("mod", "fast", Presence.ENABLED)
    ]
    assert (asked.channel, asked.modules) == (indexed.channel, indexed.modules) == ("rapid", asked.modules)


def test_19_a_module_whose_manifest_is_being_deleted_is_not_enabled() -> None:
    """Its state may be any: a manager that fails is in Error while its module is uninstalled."""
    dying = placed(manifest("mod", "1.1.0", "Error", owner="one"), deletionTimestamp=stamp(60))
    assert row(control_plane(state="Error", made=dying)).presence is Presence.DELETING


def test_19_no_policy_is_foreseen_where_only_the_runtime_has_it() -> None:
    ignoring = placed(manifest("mod", "1.1.0", owner="one"))
    ignoring["spec"]["customResourcePolicy"] = IGNORE
    assert risks(control_plane(made=ignoring)) == []
    asked = control_plane({"name": "mod", "customResourcePolicy": CREATE}, made=ignoring)
    assert risks(asked) == [RiskKind.CR_STAYS]


@pytest.mark.parametrize("verb", list(EditVerb))
@pytest.mark.parametrize("modules", [(), ({"name": "mod"},)])
def test_19_an_edit_on_the_control_plane_names_the_command_that_has_an_effect(
    verb: EditVerb, modules: tuple[Json, ...]
) -> None:
    toggle = ModuleEdit(verb, "mod", "fast" if verb is EditVerb.CHANNEL else None, Policy.IGNORE)
    found = propose_edit(control_plane(*modules), toggle, NOW)
    (refusal,) = found.refusals
    value = {EditVerb.CHANNEL: " fast", EditVerb.POLICY: " Ignore"}.get(verb, "")
    assert f"`kymatui {verb} mod{value} --remote one`" in refusal
    assert (found.edit, found.is_refused) == (None, True)


def test_19_a_control_plane_that_is_its_own_runtime_is_edited() -> None:
    """Whatever the namespace of its Kyma: its Manifest's objects are beside it."""
    found = propose_edit(control_plane({"name": "mod"}, here=True), ModuleEdit(EditVerb.DISABLE, "mod"), NOW)
    assert (found.is_refused, found.edit is not None and not found.edit.is_empty) == (False, True)
    assert row(control_plane(here=True)).presence is Presence.DELETING


def test_19_advice_on_the_control_plane_is_for_the_runtime() -> None:
    """Without the runtime, a command would ask the control plane for what is not there."""
    held = placed(manifest("mod", "1.1.0", "Deleting", owner="one"), deletionTimestamp=stamp(60))
    held["spec"]["customResourcePolicy"] = IGNORE
    held["metadata"]["finalizers"] = [FINALIZER_MODULE_CR]
    command = row(control_plane(state="Deleting", made=held)).reason.advice
    assert command is not None
    assert command.command.endswith(f"--remove {FINALIZER_MODULE_CR} --remote one")


def test_3_a_policy_is_planned_with_what_it_leads_to() -> None:
    """What the Kyma has before the edit is not foreseen after it."""
    ignored = cluster({"customResourcePolicy": IGNORE}, made=made(IGNORE, FINALIZER_MODULE_CR))
    warnings = proposed(ignored, EditVerb.POLICY, Policy.CREATE_AND_DELETE).warnings
    for words in ("waits for the module CR and does not delete it", "never removes the finalizer"):
        assert any(words in text for text in warnings), warnings
    created = cluster(made=made(IGNORE, FINALIZER_MODULE_CR))
    warnings = proposed(created, EditVerb.POLICY, Policy.IGNORE).warnings
    assert not any("The Kyma has policy CreateAndDelete" in text for text in warnings), warnings
    assert any("never removes the finalizer" in text for text in warnings), warnings


@pytest.mark.parametrize(("policy", "is_named"), [(IGNORE, True), (CREATE, False)])
def test_managing_again_names_a_policy_that_stays_ignore(policy: str, is_named: bool) -> None:
    """kyma CLI sets Ignore as it unmanages, and CreateAndDelete as it manages; kymatui leaves the policy."""
    seen = cluster({"managed": False, "customResourcePolicy": policy}, state="Unmanaged")
    words = "the policy stays Ignore: lifecycle-manager neither creates nor deletes the module CR"
    warnings = proposed(seen, EditVerb.MANAGE).warnings
    named = [text for text in warnings if words in text]
    assert bool(named) is is_named, warnings
    assert all("(`kymatui policy mod CreateAndDelete`)" in text for text in named)


def test_a_policy_of_an_unmanaged_module_waits_for_no_version() -> None:
    """Its Manifest is gone; the next one has the policy."""
    seen = cluster({"managed": False, "customResourcePolicy": IGNORE}, state="Unmanaged")
    warnings = proposed(seen, EditVerb.POLICY, Policy.CREATE_AND_DELETE).warnings
    assert not any("next version" in text for text in warnings), warnings
