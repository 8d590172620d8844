"""Installing, upgrading and doing it again, on a real server."""

from __future__ import annotations

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.engine.plans.plan import Action
from tests.engine import objects as make
from tests.engine.installing import Told, actions, bundle, install, plan
from tests.engine.places import Json, Place


def module(place: Place) -> tuple[Json, ...]:
    return (
        make.definition(place.group, "Thing"),
        make.service_account("manager"),
        make.cluster_role(f"{place.name}-manager", make.rule("pods", "list")),
        make.config_map("settings", x="1"),
        make.secret("password", value="hidden"),
        make.deployment("manager"),
        make.custom(place.group, "Thing", "own", size=1),
    )


def test_a_module_is_planned_without_a_write_and_installed_whole(place: Place) -> None:
    what = bundle(place, *module(place))
    planned = plan(place, what)
    assert place.get("v1", "Namespace", place.namespace, "") is None
    assert {step.action for step in planned.steps} == {Action.CREATE}
    assert [step.ref.name for step in planned.steps][:2] == [f"things.{place.group}", place.namespace]
    outcome = install(place, what)
    assert len(outcome.written) == 8
    assert place.get(f"{place.group}/v1", "Thing", "own") is not None
    deployed = place.get("apps/v1", "Deployment", "manager")
    assert deployed is not None
    assert deployed["status"]["availableReplicas"] == 1


def test_installing_again_changes_nothing(place: Place) -> None:
    what = bundle(place, *module(place))
    install(place, what)
    again = plan(place, what)
    assert {step.action for step in again.steps} == {Action.SAME}
    assert again.changes_nothing
    before = place.cluster.client.transport.counts.copy()
    assert install(place, what).written == ()
    assert place.cluster.client.transport.counts["DELETE"] == before["DELETE"]


def test_what_a_new_version_lacks_is_pruned_but_for_definitions(place: Place) -> None:
    install(place, bundle(place, *module(place), make.config_map("old")))
    newer = bundle(place, *(body for body in module(place) if body["kind"] != "CustomResourceDefinition"))
    planned = plan(place, newer)
    assert actions(planned.of(Action.DELETE, Action.KEEP)) == [(f"things.{place.group}", "keep"), ("old", "delete")]
    install(place, newer)
    assert place.get("v1", "ConfigMap", "old") is None
    assert plan(place, newer).changes_nothing


def test_instances_wait_for_the_webhooks_that_judge_them(place: Place) -> None:
    webhook = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": f"{place.name}-webhook"},
        "webhooks": [],
    }
    told = Told()
    what = bundle(place, *module(place), webhook)
    install(place, what, told=told)
    written = [words for words in told.messages if words.endswith("written")]
    waited = next(number for number, words in enumerate(told.messages) if "waiting for Deployment" in words)
    assert waited < told.messages.index(next(words for words in written if words.startswith("Thing")))
    assert plan(place, what).changes_nothing
    place.raw.delete(read_ref(webhook))
