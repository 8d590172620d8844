"""What the tests' sandboxes are copied from must not show in them."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from pathlib import Path

import pytest
import yaml

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import PatchKind
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.sandboxes.resting import RestingClock
from tests.sandboxes.starting import ready_sandbox, told_sandbox

KYMA = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Kyma")


@pytest.mark.xdist_group("sample-rows")  # whose worker has asked for the sample world anyway
def test_what_happens_in_one_copy_of_the_world_happens_in_no_other() -> None:
    ref = ObjectRef(KYMA, "kyma-system", "default")
    with told_sandbox() as one, told_sandbox() as other:
        here, there = (open_cluster(SessionOptions(str(found.kubeconfig))) for found in (one, other))
        before = there.get(ref)
        here.patch(ref, {"metadata": {"labels": {"told": "here"}}}, PatchKind.MERGE)
        changed, after = here.get(ref), there.get(ref)
        assert before is not None
        assert changed is not None
        assert after is not None
        assert changed["metadata"]["uid"] == after["metadata"]["uid"]
        assert changed["metadata"]["labels"]["told"] == "here"
        assert after["metadata"]["labels"] == before["metadata"]["labels"]
    assert not one.kubeconfig.exists()


def test_each_copy_of_two_clusters_has_its_own_addresses_in_its_access_secrets() -> None:
    ref = ObjectRef(GroupVersionKind("", "v1", "Secret"), "kcp-system", "kubeconfig-skr")
    with contextlib.ExitStack() as running:
        addresses = []
        for _ in range(2):
            copy = running.enter_context(ready_sandbox("kcp", "skr", empty=False, settled=True))
            secret = open_cluster(SessionOptions(str(copy.kubeconfig), "kcp")).get(ref)
            assert secret is not None
            copy.kubeconfig.with_name("access").write_bytes(base64.b64decode(secret["data"]["config"]))
            through_secret = SessionOptions(str(copy.kubeconfig.with_name("access")))
            assert open_cluster(through_secret).get(ObjectRef(KYMA, "kyma-system", "default")) is not None
            addresses.append([server_of(copy.kubeconfig, "skr"), server_of(copy.kubeconfig.with_name("access"), "skr")])
        assert all(own == in_secret for own, in_secret in addresses)
        assert addresses[0] != addresses[1]


def server_of(kubeconfig: Path, name: str) -> str:
    clusters = {one["name"]: one["cluster"] for one in yaml.safe_load(kubeconfig.read_text())["clusters"]}
    return str(clusters[name]["server"])


def test_a_clock_that_rests_goes_on_in_another_loop_where_it_stopped() -> None:
    clock, said = RestingClock(), list[str]()

    async def live(last: str) -> None:
        ended = asyncio.Event()
        clock.attach(asyncio.get_running_loop())
        clock.call_later(0, lambda: said.append(last))
        clock.call_later(0, ended.set)
        await ended.wait()
        clock.detach()

    clock.call_later(0, lambda: said.append("before there is a loop"))
    clock.call_later(0, lambda: said.append("never")).cancel()
    clock.call_later(3600, lambda: said.append("in an hour"))
    asyncio.run(live("the first loop"))
    clock.call_later(0, lambda: said.append("between two loops"))
    assert said == ["before there is a loop", "the first loop"]
    asyncio.run(live("the second loop"))
    assert said[2:] == ["between two loops", "the second loop"]
    assert len(clock.waiting) == 1
