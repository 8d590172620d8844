"""What was cut off is found in the journals, and offered; what still runs, or ended, is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from kymatui.adapters.files.campaign_journal import CampaignJournal, InterruptedCampaign, interrupted_campaigns
from kymatui.adapters.files.interrupted_runs import interrupted_runs, runtimes_with_interrupted_runs
from kymatui.adapters.files.journal_path import journal_path
from kymatui.domain.kyma_edit.module_edit import EditVerb, ModuleEdit
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.jobs.identity import own_identity
from kymatui.engine.jobs.journal import RUN_STEP, Journal, JournalMark, read_journal
from kymatui.engine.jobs.run import begin
from kymatui.errors import PartlyDoneError

LINE = "Deployment kyma-system/keda-manager"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def dead() -> str:
    """The identity of a process of this machine that is gone."""
    words = "from kymatui.engine.jobs.identity import own_identity; print(own_identity())"
    return subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True).stdout.strip()


def write(name: str, run: str, *lines: tuple[JournalMark, str]) -> None:
    journal = Journal(journal_path("prod-eu", "kyma-system", name), run, lambda: 1_000.0)
    for mark, what in lines:
        journal.write(mark, what, LINE)
    journal.close()


def test_a_run_that_was_killed_in_a_step_is_found(dead: str) -> None:
    write("keda", dead, (JournalMark.BEGUN, "create"), (JournalMark.DONE, "create"), (JournalMark.BEGUN, "change"))
    write("nats", dead, (JournalMark.BEGUN, "delete"), (JournalMark.DONE, "delete"), (JournalMark.BEGUN, "let go"))
    found = {one.name: one for one in interrupted_runs("prod-eu")}
    assert {name: one.deletion for name, one in found.items()} == {"keda": False, "nats": True}
    assert found["keda"].steps == (f"change {LINE}",)
    assert (found["keda"].namespace, found["keda"].began) == ("kyma-system", 1_000.0)
    assert interrupted_runs("prod-us") == ()


def test_what_ended_failed_or_still_runs_is_left_alone(dead: str) -> None:
    write("done", dead, (JournalMark.BEGUN, "create"), (JournalMark.DONE, "create"))
    write("failed", dead, (JournalMark.BEGUN, "create"), (JournalMark.FAILED, "create"))
    write("running", own_identity(), (JournalMark.BEGUN, "create"))
    write("again", dead, (JournalMark.BEGUN, "create"))
    write("again", own_identity(), (JournalMark.BEGUN, "create"), (JournalMark.DONE, "create"))
    assert interrupted_runs("prod-eu") == ()


@pytest.mark.parametrize("kind", ["upgrade", "adopt"])
def test_a_run_that_was_killed_between_two_steps_is_known_for_what_it_was(dead: str, kind: str) -> None:
    journal = Journal(journal_path("prod-eu", "kyma-system", "keda"), dead, lambda: 1_000.0)
    journal.write(JournalMark.BEGUN, RUN_STEP, f"{kind} keda 1.6.0")
    journal.write(JournalMark.BEGUN, "create", LINE)
    journal.write(JournalMark.DONE, "create", LINE)
    journal.close()
    (one,) = interrupted_runs("prod-eu")
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
        (JournalMark.BEGUN, RUN_STEP, "install keda"),
        (JournalMark.DONE, RUN_STEP, "install keda"),
        (JournalMark.BEGUN, RUN_STEP, "delete keda"),
        (JournalMark.FAILED, RUN_STEP, "delete keda"),
    ]


# jobs of a front end

DONE = """
jobs.start(JobSpec("done", lambda report: "", purpose=JobPurpose("install", ("nats",))))
assert jobs.wait(20)
"""
KILLED = """
jobs.start(JobSpec("enable keda in channel fast", hang, purpose=JobPurpose("enable", ("keda",), {"channel": "fast"})))
jobs.start(JobSpec("upgrade serverless", hang, purpose=JobPurpose("upgrade", ("serverless",))))
os._exit(9)
"""
QUIT = """
def stopped(report):
    report.cancel.wait()
    report.step("the next one")

jobs.start(JobSpec("delete keda", stopped, purpose=JobPurpose("delete", ("keda",))))
jobs.close()
assert jobs.wait(20)
"""
PERSON = """
job = jobs.start(JobSpec("delete keda", stopped, purpose=JobPurpose("delete", ("keda",))))
jobs.cancel(job.number)
assert jobs.wait(20)
"""
WORLD = """
import os, threading
from kymatui.adapters.files.job_journal import JobJournal, JobJournals
from kymatui.domain.plans.jobs import JobPurpose
from kymatui.actions.jobs import JobRunner, JobSpec
jobs = JobRunner(lambda all: None, book=JobJournal("prod-eu"), now=lambda: 1_000.0)
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
    assert {one.name: (one.kind, dict(one.given)) for one in interrupted_runs("prod-eu")} == left
    assert interrupted_runs("prod-us") == ()


def test_a_job_whose_run_came_to_its_end_elsewhere_is_not_offered(tmp_path: Path) -> None:
    home = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", WORLD + KILLED], check=False, env=home)
    journal = Journal(journal_path("prod-eu", "kyma-system", "serverless"), own_identity(), lambda: 2_000.0)
    journal.write(JournalMark.BEGUN, RUN_STEP, "upgrade serverless 1.1.0")
    journal.write(JournalMark.DONE, RUN_STEP, "upgrade serverless 1.1.0")
    journal.close()
    assert [one.name for one in interrupted_runs("prod-eu")] == ["keda"]


def test_what_was_cut_off_on_runtimes_is_told_by_their_names(tmp_path: Path) -> None:
    home = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    placed = WORLD.replace('JobJournal("prod-eu")', 'JobJournals("kcp")').replace(
        "import JobJournal", "import JobJournals"
    )
    script = """
for place in ("", "kcp/kcp-system/r1", "kcp/kcp-system/r2"):
    purpose = JobPurpose("enable", ("keda",))
    jobs.start(JobSpec("enable keda", hang, keeps=frozenset({"keda"}), purpose=purpose, place=place))
import time
deadline = time.monotonic() + 30
while not all(job.began for job in jobs.all):  # what one runtime keeps is in nobody's way in another
    assert time.monotonic() < deadline
os._exit(0)
"""
    ended = subprocess.run([sys.executable, "-c", placed + script], check=False, env=home)
    assert ended.returncode == 0
    assert runtimes_with_interrupted_runs("kcp") == ("kcp-system/r1", "kcp-system/r2")
    assert [[one.name for one in interrupted_runs(name)] for name in ("kcp", "kcp/kcp-system/r1")] == [
        ["keda"],
        ["keda"],
    ]
    assert (runtimes_with_interrupted_runs("kc"), runtimes_with_interrupted_runs("kcp/kcp-system/r1")) == ((), ())


def test_an_edit_over_many_runtimes_is_told_of_when_its_program_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    gone = subprocess.Popen(["true"])
    gone.wait()
    dead = own_identity().replace(f" pid {os.getpid()} ", f" pid {gone.pid} ")
    monkeypatch.setattr("kymatui.adapters.files.campaign_journal.own_identity", lambda: dead)
    book = CampaignJournal("kcp", ModuleEdit(EditVerb.ENABLE, "keda"))
    assert (book.unfinished(), interrupted_campaigns("kcp")) == (frozenset(), ())
    book.open()
    for name in ("kcp-system/r1", "kcp-system/r2", "kcp-system/r3"):
        book.begun(name)
    book.done("kcp-system/r1")
    book.failed("kcp-system/r2")
    book.close()
    assert interrupted_campaigns("kcp") == (InterruptedCampaign("enable", "keda", ("kcp-system/r3",)),)
    assert book.unfinished() == {"kcp-system/r2", "kcp-system/r3"}
    assert CampaignJournal("kcp", ModuleEdit(EditVerb.DISABLE, "keda")).unfinished() == frozenset()
