"""Edits of a Kyma over HTTP, while others edit it too: what the person saw is changed, and nothing else is lost."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kyma_edit.module_edit import EditProposal, EditVerb, ModuleEdit, entry_change, propose_edit
from kymatui.engine.cluster.kyma_edit import carry_out
from kymatui.engine.cluster.ports import PatchKind
from kymatui.errors import InvalidError, NotFoundError, ReadOnlyError, RefusedError
from tests.integration.embedded import KYMAS, Embedded, kyma

Json = dict[str, Any]


@pytest.fixture
def cluster(strict: Embedded) -> Embedded:
    """Two modules are offered, and the Kyma asks for one."""
    strict.add_module("alpha")
    strict.add_module("beta")
    strict.add_kyma("alpha")
    return strict


def proposed(cluster: Embedded, verb: EditVerb, module: str = "alpha", **more: Any) -> EditProposal:
    with cluster.session() as session:
        found = propose_edit(session.snapshot(), ModuleEdit(verb, module, **more), time.time())
    assert not found.is_refused, found.refusals
    return found


def carried_out(cluster: Embedded, proposal: EditProposal) -> Json:
    assert proposal.edit is not None
    return carry_out(KubeCluster(cluster.client), proposal.edit, entry_change(proposal.toggle))


def edit_by_hand(cluster: Embedded, *operations: Json) -> None:
    KubeCluster(cluster.client).patch(read_ref(kyma()), operations, PatchKind.JSON)


def entries(cluster: Embedded) -> dict[str, Json]:
    """The entries as they stand there, without the defaults that the server adds."""
    found = KubeCluster(cluster.client).get(read_ref(kyma()))
    assert found is not None
    return {
        entry["name"]: {
            key: value for key, value in entry.items() if key in ("channel", "managed") and value is not True
        }
        for entry in found["spec"]["modules"]
    }


def test_a_module_is_enabled_and_disabled(cluster: Embedded) -> None:
    carried_out(cluster, proposed(cluster, EditVerb.ENABLE, "beta"))
    assert entries(cluster) == {"alpha": {}, "beta": {}}
    carried_out(cluster, proposed(cluster, EditVerb.DISABLE, "beta"))
    assert entries(cluster) == {"alpha": {}}


def test_other_entries_may_come_and_go_meanwhile(cluster: Embedded) -> None:
    proposal = proposed(cluster, EditVerb.UNMANAGE)
    edit_by_hand(cluster, {"op": "add", "path": "/spec/modules/0", "value": {"name": "beta"}})
    carried_out(cluster, proposal)
    assert entries(cluster) == {"beta": {}, "alpha": {"managed": False}}


def test_an_edit_of_the_same_entry_is_not_overwritten(cluster: Embedded) -> None:
    proposal = proposed(cluster, EditVerb.UNMANAGE)
    edit_by_hand(cluster, {"op": "add", "path": "/spec/modules/0/channel", "value": "fast"})
    with pytest.raises(RefusedError, match="another client changed the entry of alpha"):
        carried_out(cluster, proposal)
    assert entries(cluster) == {"alpha": {"channel": "fast"}}


def test_what_somebody_else_did_already_is_no_failure(cluster: Embedded) -> None:
    proposal = proposed(cluster, EditVerb.DISABLE)
    edit_by_hand(cluster, {"op": "remove", "path": "/spec/modules/0"})
    carried_out(cluster, proposal)
    assert entries(cluster) == {}


def test_a_module_that_somebody_else_enabled_meanwhile_stands_there_once(cluster: Embedded) -> None:
    proposal = proposed(cluster, EditVerb.ENABLE, "beta")
    edit_by_hand(cluster, {"op": "add", "path": "/spec/modules/-", "value": {"name": "beta"}})
    carried_out(cluster, proposal)
    assert entries(cluster) == {"alpha": {}, "beta": {}}


def test_another_kyma_of_the_same_name_is_not_edited(cluster: Embedded) -> None:
    proposal = proposed(cluster, EditVerb.DISABLE)
    cluster.remove(KYMAS, "default")
    cluster.add_kyma("alpha", "beta")
    with pytest.raises(RefusedError, match="was deleted and created again"):
        carried_out(cluster, proposal)
    assert entries(cluster) == {"alpha": {}, "beta": {}}


def test_a_kyma_that_is_gone_is_said_to_be_gone(cluster: Embedded) -> None:
    proposal = proposed(cluster, EditVerb.DISABLE)
    cluster.remove(KYMAS, "default")
    with pytest.raises(NotFoundError):
        carried_out(cluster, proposal)


def test_what_the_server_refuses_is_passed_on_in_its_words(cluster: Embedded) -> None:
    proposal = proposed(cluster, EditVerb.CHANNEL, channel="")
    assert proposal.is_done
    bad = ModuleEdit(EditVerb.ENABLE, "alpha", "NOT A CHANNEL")
    with cluster.session() as session:
        edit = propose_edit(session.snapshot(), bad, time.time()).edit
    assert edit is not None
    with pytest.raises(InvalidError, match="channel"):
        carry_out(KubeCluster(cluster.client), edit, entry_change(bad))


def test_the_gate_holds(cluster: Embedded) -> None:
    proposal = proposed(cluster, EditVerb.DISABLE)
    assert proposal.edit is not None
    reader = Client(Transport(connect(str(cluster.kubeconfig), cluster.name, ""), read_only=True))
    with pytest.raises(ReadOnlyError):
        carry_out(KubeCluster(reader), proposal.edit, entry_change(proposal.toggle))
    assert entries(cluster) == {"alpha": {}}
