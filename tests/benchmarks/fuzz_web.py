"""Registries, chart repositories, catalogs, runtimes and kept plans that are wrong somewhere, on a real sandbox.

    python -m tests.benchmarks.fuzz_web [minutes] [first seed] [words of a command …]

The companion of `fuzz_answers` for whatever is not one API server: a site on this machine serves charts, a catalog and
addresses, and stands before the sandbox's registry; a seed says what of its answers is wrong (see `hostile_web`), and
whether answers of the API servers and kubeconfigs in access Secrets are, too. Wrong is what is wrong there, and a
password or token that another host was sent, and an installation from a layer that never came whole.
"""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.benchmarks.fuzz_answers import EDIT, MANIFEST, WAIT, Found, change_answers, prepared, run
from tests.benchmarks.hostile_web import PASSWORD, USER, Page, Site, archives, chart_pages, serving_wrongly, spaces, tgz
from tests.benchmarks.mutating import Mutator

OPERATOR_SECONDS = 8.0
PLAIN = ("--insecure-registry", "REGISTRY", "--insecure-registry", "HOST")
NEW = ("-n", "fuzzed", "--yes", *WAIT, *PLAIN)
FLEET = ("--fleet", "--allow-fleet-writes", "--yes", "--no-wait")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("install", "webbed", "--chart", "web", "--repo", "SITE", *NEW),
    ("install", "webbed", "--chart", "SITE/web-1.0.0.tgz", *NEW),
    ("install", "webbed", "--chart", "oci://HOST/fuzzed/web", *NEW),
    ("install", "FUZZED", "--file", "SITE/manifest.yaml", *NEW),
    ("install", "FUZZED", "--kustomize", "SITE/kustomization.tar.gz", *NEW),
    ("install", "cap-operator", *NEW), ("install", "registry-proxy", "warden", *NEW),
    ("upgrade", "FUZZED", "--chart", "web", "--repo", "SITE", *NEW), ("upgrade", "--all", "--yes", *WAIT, *PLAIN),
    ("helm", "template", "web", "--repo", "SITE"), ("helm", "template", "oci://HOST/fuzzed/web", "--plain-http"),
    ("helm", "pull", "web", "--repo", "SITE", "--username", USER, "--password", PASSWORD, "-d", "FOLDER"),
    ("helm", "pull", "oci://HOST/fuzzed/web", "--plain-http", "--untar", "--untardir", "FOLDER", "-d", "FOLDER"),
    ("helm", "show", "all", "web", "--repo", "SITE"),
    ("catalog", "--catalog", "SITE/all-modules.yaml"), ("install", "cap-operator", "--catalog", "SITE/all-modules.yaml",
     *NEW), ("plan", "cap-operator", "--out", "FOLDER/new.yaml", *PLAIN), ("check", "cap-operator", *PLAIN),
    ("apply", "PLAN", "--yes", *WAIT, *PLAIN), ("apply", "PLAN-CHANGED", "--yes", *WAIT, *PLAIN),
    ("apply", "PLAN-CHANGED", "--dry-run"), ("restore", "BACKUP-CHANGED", "--yes", *WAIT),
    ("reconcile", "manifest", "MANIFEST", "-n", "kcp-system", *WAIT, *PLAIN), ("operator", *PLAIN),
    ("operator", *PLAIN),
    ("operator", "--resync", "2", *PLAIN), ("manifest", "keda", "cap-operator", "--yes", *WAIT, *PLAIN),
    ("manifest", "cap-operator", "--context", "skr", "--yes", *WAIT, *PLAIN),
    ("enable", "nats", "keda", *EDIT), ("disable", "istio", "keda", *EDIT), ("manage", "istio", "keda", *EDIT),
    ("unmanage", "istio", "keda", *EDIT), ("policy", "istio", "keda", "Ignore", *EDIT),
    ("delete", "istio", "keda", "telemetry", "--cascade", "--yes", *WAIT), ("restore", "BACKUP", "--yes", *WAIT),
    ("enable", "keda", *FLEET), ("disable", "telemetry", *FLEET), ("channel", "istio", "fast", *FLEET),
    ("policy", "istio", "Ignore", *FLEET), ("label", "operator.kyma-project.io/beta=true", *FLEET),
    ("catalog", "--remote", "skr"), ("module", "istio", "--remote", "skr"), ("compare", "skr", *WAIT),
    ("sync", "skr", *WAIT), ("audit", "--remote"), ("audit", "--remote", "--objects"), ("watchers", "skr", *WAIT),
    ("enable", "nats", "keda", "--remote", "skr", *EDIT), ("delete", "istio", "--remote", "skr", "--yes", *WAIT),
    ("install", "cap-operator", "--remote", "skr", *NEW), ("catalog", "--remote", "*"), ("events", "istio"),
    ("finalizers", "istio", "--remote", "skr"), ("restore", "BACKUP", "--remote", "skr", "--yes", *WAIT),
)  # fmt: skip


def before(mapped: dict[tuple[str, int], int], words: tuple[str, ...]) -> Callable[[int, Path], None]:
    """What changes answers in the process of a run: connections to the registry lead to the site."""

    def install(seed: int, log: Path) -> None:
        import urllib3.util.connection as connecting

        from kymatui.adapters.oci import requester

        mutator = Mutator(seed)
        if any(name in " ".join(words) for name in ("SITE", "HOST", "REGISTRY")) and random.Random(seed).random() < 0.7:
            mutator.body = lambda body: body  # type: ignore[method-assign]
        change_answers(mutator, log)
        connect = connecting.create_connection

        def led(address: tuple[str, int], *given: Any, **named: Any) -> socket.socket:
            return connect((address[0], mapped.get(address, address[1])), *given, **named)

        connecting.create_connection = led
        requester.LONGEST_PAUSE = 0.05
        if words[0] == "operator":
            timer = threading.Timer(OPERATOR_SECONDS, os.kill, (os.getpid(), signal.SIGTERM))
            timer.daemon = True
            timer.start()

    return install


class Bench:
    """What all runs share: the sandbox's names, the site's pages, and what was counted."""

    def __init__(self, folder: Path, registry: str) -> None:
        self.folder, self.registry, self.log = folder, registry, folder / "site.log"
        self.named = prepared(folder)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        self.pages = self._pages()
        self.plan = folder / "plan.json"
        self._keep()
        self.requests = self.changed = 0

    def _pages(self) -> dict[str, Page]:
        files = {"kustomization.yaml": b"resources: [all.yaml]\n", "all.yaml": MANIFEST.encode()}
        catalog = json.dumps({"kind": "List", "items": _templates()}).encode()
        spaces(), archives()  # made once, and not in every process
        return {
            **chart_pages(),
            "/manifest.yaml": ("text/plain", MANIFEST.encode()),
            "/kustomization.tar.gz": ("application/gzip", tgz(files)),
            "/all-modules.yaml": ("text/plain", catalog),
        }

    def _keep(self) -> None:
        """A plan that is kept, and what docker knows of the registries."""
        from kymatui.cli.main import main

        main(["plan", "cap-operator", "--out", str(self.plan), "--insecure-registry", self.registry])
        known = {"auth": base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()}
        token = {**known, "identitytoken": PASSWORD}
        for number, entry in enumerate((known, token)):
            place = self.folder / f"docker{number}"
            place.mkdir()
            (place / "config.json").write_text(json.dumps({"auths": {self.registry: entry, self.host: entry}}))

    def words(self, command: tuple[str, ...], seed: int) -> list[str]:
        mutator = Mutator(seed)
        changed, backup = self.folder / "changed.json", self.folder / "changed-backup.yaml"
        changed.write_bytes(mutator.changed_body(self.plan.read_bytes()))
        backup.write_bytes(mutator.changed_body(json.dumps({"kind": "List", "items": _objects()}).encode()))
        names = {
            "SITE": f"http://{self.host}", "HOST": self.host, "REGISTRY": self.registry,
            "FOLDER": str(self.folder / "to"),
            "PLAN-CHANGED": str(changed), "PLAN": str(self.plan), "BACKUP-CHANGED": str(backup), "FUZZED": "fuzzsource",
        }  # fmt: skip
        found = []
        for word in (word.removeprefix("kcp-system/") for word in self.named(command)):
            for name, text in names.items():
                if word == name or (name in ("SITE", "HOST", "FOLDER") and name in word):
                    word = word.replace(name, text)
                    break
            found.append(word)
        return found

    def once(self, command: tuple[str, ...], seed: int) -> Found:
        """One run, beside a site of its own."""
        self.log.write_text("")
        for place in (self.folder / "kymatui" / "blobs", self.folder / "to"):
            shutil.rmtree(place, ignore_errors=True)
        (self.folder / "to").mkdir()
        os.environ["DOCKER_CONFIG"] = str(self.folder / f"docker{seed % 2}")
        site = Site(self.pages, self.registry, Mutator(seed + 1), seed, self.log)
        host, _, port = self.registry.partition(":")
        mapped = {(host, int(port)): self.port}
        with serving_wrongly(self.listener, site):
            found = run(self.words(command, seed), seed, self.folder, before(mapped, command))
        lines = self.log.read_text().splitlines()
        self.changed += sum(line.startswith("CHANGED") for line in lines)
        if leaked := [line for line in lines if line.startswith("LEAKED")]:
            return Found(found.status, f"another host got the password: {leaked[:3]}", found.memory, found.writes)
        return Found(found.status, found.wrong or self._from_broken(command, lines, found), found.memory, found.writes)

    def _from_broken(self, command: tuple[str, ...], lines: list[str], found: Found) -> str:
        """Whether objects were written though a layer never came whole."""
        broken = {line.partition(" ")[2] for line in lines if line.startswith("BROKEN")}
        broken -= {line.partition(" ")[2] for line in lines if line.startswith("WHOLE")}
        if command[0] == "install" and broken and found.writes and command[1] != "registry-proxy":
            return f"wrote though {broken} came broken: {found.writes[:5]}"
        return ""


def _templates() -> list[Any]:
    from kymatui.domain.kubernetes.refs import GroupVersionKind
    from kymatui.sessions.cluster.cluster_access import open_cluster
    from kymatui.sessions.cluster.session_options import SessionOptions

    kind = GroupVersionKind("operator.kyma-project.io", "v1beta2", "ModuleTemplate")
    return list(open_cluster(SessionOptions(os.environ["KUBECONFIG"])).list(kind, ""))


def _objects() -> list[Any]:
    from msgspec import yaml

    return [yaml.decode(text) for text in MANIFEST.split("---")]


@contextmanager
def bench() -> Iterator[Bench]:
    from kymatui.sandbox.sandbox_process import start_sandbox

    folder = Path(tempfile.mkdtemp(prefix="kymatui-fuzz-"))
    os.environ["HOME"] = os.environ["XDG_STATE_HOME"] = os.environ["XDG_CACHE_HOME"] = str(folder)
    with start_sandbox(clusters=("kcp", "skr"), settled=True) as running:
        os.environ["KUBECONFIG"] = str(running.kubeconfig)
        yield Bench(folder, running.registry)


def main(words: list[str]) -> None:
    minutes, seed = float(words[0]) if words else 1.0, int(words[1]) if len(words) > 1 else 0
    runs, wrong, statuses, heaviest, writes = Counter[str](), Counter[str](), Counter[int](), 0, 0
    with bench() as place:
        until = time.monotonic() + minutes * 60
        while time.monotonic() < until or not runs:
            command = tuple(words[2:]) or COMMANDS[seed % len(COMMANDS)]
            found = place.once(command, seed)
            runs[command[0]] += 1
            statuses[found.status] += 1
            writes += len(found.writes)
            heaviest = max(heaviest, found.memory)
            if found.wrong:
                wrong[command[0]] += 1
                print(f"--- seed {seed}: {' '.join(command)}\n{found.wrong}", flush=True)
            seed += 1
        changed = place.changed
    told = ", ".join(f"{count} left with {status}" for status, count in sorted(statuses.items()))
    print(f"{sum(runs.values())} runs of {len(runs)} commands, to seed {seed}: {told}")
    print(f"{changed} answers of the site changed, {writes} writes (as dry runs), at most {heaviest} MB")
    print(f"{sum(wrong.values())} wrong: {dict(wrong)}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
