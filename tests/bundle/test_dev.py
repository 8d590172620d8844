"""`bundle dev`: saves are published and installed, failures wait for a save or a server, the end deletes."""

from __future__ import annotations

import contextlib
import io
import os
import re
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kymatui.cli.commands.bundle import dev
from kymatui.cli.main import main
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.errors import RefusedError
from kymatui.publishing import dev_loop
from kymatui.publishing.dev_loop import CycleEnd, ModuleFiles, run_dev_loop
from kymatui.publishing.disk_sources import DiskSources
from kymatui.publishing.places import alone_in
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.bundle.sources import CR, NAME, crd, workload, write_sources
from tests.sandboxes.starting import ReadySandbox, ready_sandbox

pytestmark = pytest.mark.xdist_group("component-installs")

SPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "sample-system"}}
DEPLOYMENT = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "sample-system", "sample-manager")
MANAGER = {"group": "apps", "version": "v1", "kind": "Deployment", "name": "sample-manager"}
Script = Generator[None, None, None]


class ScriptedStop(threading.Event):
    """Goes one step of a script at each look of the loop, and is set at its end."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self._script = script

    def wait(self, timeout: float | None = None) -> bool:
        if self.is_set() or next(self._script, "end") == "end":
            self.set()
        return self.is_set()


@dataclass
class Author:
    """A module's folder, and what `bundle dev` printed so far."""

    folder: Path
    sandbox: ReadySandbox
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch
    printed: str = ""

    def write(self, *objects: dict[str, Any], **config: Any) -> None:
        sized = crd(properties={"size": {"type": "integer"}})
        write_sources(self.folder, SPACE, sized, *(objects or [workload()]), default_cr=CR, manager=MANAGER, **config)

    def run(self, script: Script, *words: str) -> int:
        @contextlib.contextmanager
        def stoppable() -> Iterator[threading.Event]:
            yield ScriptedStop(script)

        self.monkeypatch.setattr(dev, "_stoppable", stoppable)
        status = main(["bundle", "dev", str(self.folder), *words])
        self.read()
        return status

    def read(self) -> str:
        found = self.capsys.readouterr()
        self.printed += found.out + found.err
        return self.printed

    def until(self, text: str, times: int = 1) -> Script:
        """Let the loop go on until it printed a text."""
        deadline = time.monotonic() + 60
        while self.read().count(text) < times:
            assert time.monotonic() < deadline, f"{text!r} was not printed:\n{self.printed}"
            time.sleep(0.02)
            yield


@pytest.fixture(scope="module")
def sandbox() -> Iterator[ReadySandbox]:
    with ready_sandbox(empty=True) as running:
        yield running


@pytest.fixture
def author(
    sandbox: ReadySandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Author:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KUBECONFIG", str(sandbox.kubeconfig))
    monkeypatch.setattr(dev_loop, "READY_SECONDS", 0.1)
    monkeypatch.setattr("kymatui.sandbox.door.start_sandbox", lambda empty: contextlib.nullcontext(sandbox))
    return Author(tmp_path / "module", sandbox, capsys, monkeypatch)


def test_each_save_is_published_and_installed_and_the_end_deletes_it(author: Author) -> None:
    author.write(workload())
    cluster = open_cluster(SessionOptions(str(author.sandbox.kubeconfig)))
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kyma-system"}})
    place = f"{author.sandbox.registry}/dev"

    def script() -> Script:
        yield from author.until("sample 1.0.0 is ready")
        yield from author.until('msg="ready"')  # the log of the manager
        with pytest.raises(RefusedError, match="already"), alone_in(str(author.folder / "module-config.yaml")):
            pass
        (author.folder / "manifest.yaml").write_text("a: [\n")
        yield from author.until("waiting for the next save")
        new = author.folder / "new.yaml"  # as editors save: a new file takes the place of the old one
        author.write(workload(name="sample-manager", env=[{"name": "LEVEL", "value": "debug"}]))
        os.replace(author.folder / "manifest.yaml", new)
        yield
        os.replace(new, author.folder / "manifest.yaml")
        yield from author.until("replaced")
        yield from author.until("1 applied")
        assert cluster.get(DEPLOYMENT) is not None

    words = ["--current-context", "--registry", place, "--insecure-registry", author.sandbox.registry, "--yes"]
    assert author.run(script(), *words) == 0, author.printed
    assert f"pushed    {place}//{NAME}:1.0.0 sha256:" in author.printed
    assert "create   Deployment sample-system/sample-manager" in author.printed
    assert re.search(r"manifest.yaml:\d: error: ", author.printed)
    assert f"stays in the registry: {place}//{NAME}:1.0.0" in author.printed
    assert "deleting sample from context kcp" in author.printed
    assert cluster.get(DEPLOYMENT) is None

    # another run did not push this version, so it must not replace it
    author.write(workload(env=[{"name": "LEVEL", "value": "warn"}]))
    assert author.run(author.until("replace it with --overwrite"), *words) == 0


def test_a_sandbox_of_its_own_ends_with_what_is_on_it(author: Author) -> None:
    author.write()
    assert author.run(author.until("sample 1.0.0 is ready")) == 0
    assert f"cluster   KUBECONFIG={author.sandbox.kubeconfig}" in author.printed
    assert "the sandbox ends, and sample with it" in author.printed
    # what another command left is not taken over, unless it may stay
    assert author.run(author.until("never"), "--current-context", "--yes") == 2
    assert "sample 1.0.0 is installed in context kcp already" in author.printed
    before = len(author.printed)
    assert author.run(author.until("is ready", 2), "--current-context", "--yes", "--keep") == 0
    assert "sample stays installed in context kcp; `kymatui delete sample` deletes it" in author.printed[before:]
    assert main(["delete", "sample", "--yes", "--no-backup"]) == 0


def test_servers_that_are_gone_are_asked_again(author: Author) -> None:
    author.write()
    words = ["--registry", "127.0.0.1:9", "--insecure-registry", "127.0.0.1:9", "--current-context", "--yes"]
    assert author.run(author.until("trying again in 2 s"), *words) == 0
    assert "kymatui: cannot reach 127.0.0.1:9" in author.printed
    fault = FaultClient.for_kubeconfig(author.sandbox.kubeconfig, "")

    def script() -> Script:
        yield from author.until("is ready")
        fault.send("unauthorized", {"resource": "customresourcedefinitions.apiextensions.k8s.io", "verb": "get"})
        yield from author.until("states and logs are unknown")
        fault.send("clear", {})

    try:
        assert author.run(script(), "--current-context", "--yes") == 0
    finally:
        fault.send("clear", {})


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--keep"], "nothing can be kept"),
        (["--context", "kcp"], "--context needs --current-context"),
        (["-c", "none.yaml"], "none.yaml does not exist"),
    ],
)
def test_wrong_options_are_usage_errors(author: Author, words: list[str], expected: str) -> None:
    author.write()
    assert author.run(author.until("never"), *words) == 64
    assert expected in author.printed


def test_without_a_terminal_a_cluster_is_left_alone(author: Author) -> None:
    author.write()
    author.monkeypatch.setattr("sys.stdin", io.StringIO())
    assert author.run(author.until("never"), "--current-context") == 2
    assert "not a terminal; no changes made" in author.printed


# the loop, with a script in the place of the files' changes


def loop(folder: Path, changes: list[Callable[[], None]], ends: list[CycleEnd]) -> tuple[list[str], list[float]]:
    """Return the content of the manifest at each cycle, and the delays that were announced."""
    found: list[str] = []
    delays: list[float] = []
    steps = iter(changes)

    def cycle() -> CycleEnd:
        manifest = folder / "manifest.yaml"
        found.append(manifest.read_text() if manifest.exists() else "")
        return ends.pop(0) if ends else CycleEnd.WAIT

    def wait(seconds: float) -> bool:
        step = next(steps, None)
        if step is not None:
            step()
        return step is None

    def fetch(address: str) -> bytes:
        raise AssertionError(address)

    files = ModuleFiles(str(folder / "module-config.yaml"), DiskSources(fetch))
    run_dev_loop(files, cycle, lambda: None, delays.append, wait)
    return found, delays


def nothing() -> None:
    pass


def test_half_of_a_save_is_not_read(tmp_path: Path) -> None:
    write_sources(tmp_path)
    manifest, config = tmp_path / "manifest.yaml", tmp_path / "module-config.yaml"
    manifest.write_text("first")

    def write(text: str) -> Callable[[], None]:
        return lambda: (manifest.write_text(text), None)[1]

    assert loop(tmp_path, [nothing] * 3, [])[0] == ["first"]
    assert loop(tmp_path, [write("1"), write("12"), write("123"), *[nothing] * 3], [])[0] == ["first", "123"]
    gone = [manifest.unlink, write("back"), nothing, nothing]
    assert loop(tmp_path, gone, [])[0] == ["123", "back"]
    broken = [lambda: (config.write_text("a: ["), None)[1], nothing, nothing, write("later"), nothing, nothing]
    assert loop(tmp_path, broken, [])[0] == ["back", "back", "later"]  # a broken config still names its files


def test_a_failed_cycle_is_tried_again_ever_more_rarely(tmp_path: Path) -> None:
    write_sources(tmp_path)
    looks = int((2 + 4 + 8) / dev_loop.LOOK_SECONDS)
    found, delays = loop(tmp_path, [nothing] * looks, [CycleEnd.RETRY] * 4)
    assert (len(found), delays) == (4, [2, 4, 8, 16])
    found, delays = loop(tmp_path, [nothing] * 1000, [CycleEnd.RETRY] * 8)
    assert delays == [2, 4, 8, 16, 32, 60, 60, 60]
