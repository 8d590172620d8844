"""What was cut off is found in the journals, and offered; what still runs, or ended, is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from kymatui.domain.toggling import Toggle, Verb
from kymatui.engine.identities import own_identity
from kymatui.engine.journals import RUN, Journal, Mark, read_journal
from kymatui.engine.ports import Cluster
from kymatui.engine.running import begin
from kymatui.errors import PartlyDoneError
from kymatui.wiring.campaign_books import CampaignBook, Halted, halted
from kymatui.wiring.engine import journal_path
from kymatui.wiring.unfinished import cut_off, runtimes_cut_off

LINE = "Deployment kyma-system/keda-manager"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def dead() -> str:
    """The identity of a process of this machine that is gone."""
    words = "from kymatui.engine.identities import own_identity; print(own_identity())"
    return subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True).stdout.strip()


def write(name: str, run: str, *lines: tuple[Mark, str]) -> None:
    journal = Journal(journal_path("prod-eu", "kyma-system", name), run, lambda: 1_000.0)
    for mark, what in lines:
        journal.write(mark, what, LINE)
    journal.close()


def test_a_run_that_was_killed_in_a_step_is_found(dead: str) -> None:
    write("keda", dead, (Mark.BEGUN, "create"), (Mark.DONE, "create"), (Mark.BEGUN, "change"))
    write("nats", dead, (Mark.BEGUN, "delete"), (Mark.DONE, "delete"), (Mark.BEGUN, "let go"))
    found = {one.name: one for one in cut_off("prod-eu")}
    assert {name: one.deletion for name, one in found.items()} == {"keda": False, "nats": True}
    assert found["keda"].steps == (f"change {LINE}",)
    assert (found["keda"].namespace, found["keda"].began) == ("kyma-system", 1_000.0)
    assert cut_off("prod-us") == ()


def test_what_ended_failed_or_still_runs_is_left_alone(dead: str) -> None:
    write("done", dead, (Mark.BEGUN, "create"), (Mark.DONE, "create"))
    write("failed", dead, (Mark.BEGUN, "create"), (Mark.FAILED, "create"))
    write("running", own_identity(), (Mark.BEGUN, "create"))
    write("again", dead, (Mark.BEGUN, "create"))
    write("again", own_identity(), (Mark.BEGUN, "create"), (Mark.DONE, "create"))
    assert cut_off("prod-eu") == ()


@pytest.mark.parametrize("kind", ["upgrade", "adopt"])
def test_a_run_that_was_killed_between_two_steps_is_known_for_what_it_was(dead: str, kind: str) -> None:
    journal = Journal(journal_path("prod-eu", "kyma-system", "keda"), dead, lambda: 1_000.0)
    journal.write(Mark.BEGUN, RUN, f"{kind} keda 1.6.0")
    journal.write(Mark.BEGUN, "create", LINE)
    journal.write(Mark.DONE, "create", LINE)
    journal.close()
    (one,) = cut_off("prod-eu")
    assert (one.kind, one.title, one.deletion, one.steps) == (kind, f"{kind} keda 1.6.0", False, ())


def test_a_run_says_in_its_journal_where_it_begins_and_how_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    cluster = cast("Cluster", None)  # nothing is asked of it

    def fail() -> None:
        with begin(cluster, journal=path, purpose="delete keda"):
            raise PartlyDoneError("held")

    with begin(cluster, journal=path, purpose="install keda"):
        pass
    with pytest.raises(PartlyDoneError):
        fail()
    said = [(entry.mark, entry.what, entry.on) for entry in read_journal(path)]
    assert said == [
        (Mark.BEGUN, RUN, "install keda"),
        (Mark.DONE, RUN, "install keda"),
        (Mark.BEGUN, RUN, "delete keda"),
        (Mark.FAILED, RUN, "delete keda"),
    ]


# jobs of a front end

DONE = """
jobs.start(Work("done", lambda report: "", purpose=Purpose("install", ("nats",))))
assert jobs.wait(20)
"""
KILLED = """
jobs.start(Work("enable keda in channel fast", hang, purpose=Purpose("enable", ("keda",), {"channel": "fast"})))
jobs.start(Work("upgrade serverless", hang, purpose=Purpose("upgrade", ("serverless",))))
os._exit(9)
"""
QUIT = """
def stopped(report):
    report.cancel.wait()
    report.step("the next one")

jobs.start(Work("delete keda", stopped, purpose=Purpose("delete", ("keda",))))
jobs.close()
assert jobs.wait(20)
"""
PERSON = """
job = jobs.start(Work("delete keda", stopped, purpose=Purpose("delete", ("keda",))))
jobs.cancel(job.number)
assert jobs.wait(20)
"""
WORLD = """
import os, threading
from kymatui.wiring.job_books import JobBook, Purpose
from kymatui.wiring.jobs import Jobs, Work
jobs = Jobs(lambda all: None, book=JobBook("prod-eu"), now=lambda: 1_000.0)
hang = lambda report: threading.Event().wait() or ""
stopped = lambda report: report.cancel.wait() and report.step("the next one") or ""
"""


@pytest.mark.parametrize(
    ("script", "left"),
    [
        (DONE + PERSON, {}),
        (KILLED, {"keda": ("enable", {"channel": "fast"}), "serverless": ("upgrade", {})}),
        (QUIT, {"keda": ("delete", {})}),
    ],
    ids=["ended, or stopped by a person", "killed", "the program was quit"],
)
def test_a_job_whose_program_ended_is_offered_again(script: str, left: dict[str, object], tmp_path: Path) -> None:
    home = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", WORLD + script], check=False, env=home)
    assert {one.name: (one.kind, dict(one.given)) for one in cut_off("prod-eu")} == left
    assert cut_off("prod-us") == ()


def test_a_job_whose_run_came_to_its_end_elsewhere_is_not_offered(tmp_path: Path) -> None:
    home = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", WORLD + KILLED], check=False, env=home)
    journal = Journal(journal_path("prod-eu", "kyma-system", "serverless"), own_identity(), lambda: 2_000.0)
    journal.write(Mark.BEGUN, RUN, "upgrade serverless 1.1.0")
    journal.write(Mark.DONE, RUN, "upgrade serverless 1.1.0")
    journal.close()
    assert [one.name for one in cut_off("prod-eu")] == ["keda"]


def test_what_was_cut_off_on_runtimes_is_told_by_their_names(tmp_path: Path) -> None:
    home = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    placed = WORLD.replace('JobBook("prod-eu")', 'JobShelf("kcp")').replace("import JobBook", "import JobShelf")
    script = """
for place in ("", "kcp/kcp-system/r1", "kcp/kcp-system/r2"):
    jobs.start(Work("enable keda", hang, keeps=frozenset({"keda"}), purpose=Purpose("enable", ("keda",)), place=place))
import time
deadline = time.monotonic() + 30
while not all(job.began for job in jobs.all):  # what one runtime keeps is in nobody's way in another
    assert time.monotonic() < deadline
os._exit(0)
"""
    ended = subprocess.run([sys.executable, "-c", placed + script], check=False, env=home)
    assert ended.returncode == 0
    assert runtimes_cut_off("kcp") == ("kcp-system/r1", "kcp-system/r2")
    assert [[one.name for one in cut_off(name)] for name in ("kcp", "kcp/kcp-system/r1")] == [["keda"], ["keda"]]
    assert (runtimes_cut_off("kc"), runtimes_cut_off("kcp/kcp-system/r1")) == ((), ())


def test_an_edit_over_many_runtimes_is_told_of_when_its_program_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    gone = subprocess.Popen(["true"])
    gone.wait()
    dead = own_identity().replace(f" pid {os.getpid()} ", f" pid {gone.pid} ")
    monkeypatch.setattr("kymatui.engine.identities.own_identity", lambda: dead)
    book = CampaignBook("kcp", Toggle(Verb.ENABLE, "keda"))
    assert (book.unfinished(), halted("kcp")) == (frozenset(), ())
    book.open()
    for name in ("kcp-system/r1", "kcp-system/r2", "kcp-system/r3"):
        book.begun(name)
    book.done("kcp-system/r1")
    book.failed("kcp-system/r2")
    book.close()
    assert halted("kcp") == (Halted("enable", "keda", ("kcp-system/r3",)),)
    assert book.unfinished() == {"kcp-system/r2", "kcp-system/r3"}
    assert CampaignBook("kcp", Toggle(Verb.DISABLE, "keda")).unfinished() == frozenset()
