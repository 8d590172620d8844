"""One edit planned for many runtimes: how long it takes, what it costs, and what the control plane is asked.

    python -m tests.benchmarks.fleet_planning [KYMAS]

The runtimes are eight servers that many access Secrets lead to; they have no Kyma, so that nobody owns them, and each
plan is refused in the end: what is measured is the way there.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import yaml

from kymatui.actions.edits.campaign import Campaign
from kymatui.domain.fleet.campaigns import CampaignPace, format_outcomes
from kymatui.domain.kyma_edit.module_edit import EditVerb, ModuleEdit
from kymatui.sandbox.sandbox_process import start_sandbox
from kymatui.sandbox.world.story.sample_fleet import access_secret
from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
from kymatui.sessions.control_plane.campaign_fleet import listed_fleet
from kymatui.sessions.deletions import edits_of
from tests.benchmarks.fleet_following import memory, told
from tests.domain import builders as b
from tests.integration.embedded import Embedded

CONTROL, SERVERS = "kcp-system", 8


def kubeconfig_of(path: Path, name: str) -> str:
    config = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
    return str(yaml.dump({**config, "current-context": name}, Dumper=yaml.CSafeDumper))


def fill(path: Path, folder: Path, count: int) -> list[str]:
    control = Embedded(path, "kcp", folder)
    control.define_kyma()
    control.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CONTROL}})
    doors = [kubeconfig_of(path, f"r{number}") for number in range(SERVERS)]
    control.put(b.meta("keda", {"regular": "1.6.0"}, namespace=CONTROL))
    for number in range(count):
        name = f"runtime-{number}"
        control.put(b.kyma((), name=name, namespace=CONTROL, status=[b.report("keda", "1.6.0")]))
        control.put(access_secret(name, doors[number % SERVERS]))
    control.client.transport.close()
    return [f"{CONTROL}/runtime-{number}" for number in range(count)]


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    names = ("kcp", *(f"r{number}" for number in range(SERVERS)))
    with tempfile.TemporaryDirectory() as folder, start_sandbox(clusters=names, empty=True) as sandbox:
        runtimes = fill(sandbox.kubeconfig, Path(folder), count)
        print(f"| {count} runtimes, one plan | |\n|---|---|")
        options = RemoteOptions(SessionOptions(str(sandbox.kubeconfig), "kcp"))
        campaign = Campaign(listed_fleet(options), edits_of, ModuleEdit(EditVerb.ENABLE, "keda"), CampaignPace())
        began, cpu, before = time.perf_counter(), time.process_time(), memory()
        legs = campaign.plan(runtimes)
        seconds = time.perf_counter() - began
        told("planned in", f"{seconds:.1f} s, {seconds / count * 1000:.0f} ms a runtime")
        told("CPU of kymatui", f"{time.process_time() - cpu:.1f} s")
        told("memory", f"{before} MB before, {memory()} MB after")
        told("outcomes", format_outcomes(legs))
        told("for example", legs[0].message)


if __name__ == "__main__":
    main()
