"""Processes that end while threads still wait for servers."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import atexit, gc, os, sys, threading

class Torn:
    def __del__(self, write=os.write):
        write(2, b"torn down")

torn = Torn()
if "thread" in sys.argv:
    threading.Thread(target=threading.Event().wait, daemon=True).start()
from kymatui.cli.main import main
atexit.register(print, "registered before its start")
sys.argv = ["kymatui", *sys.argv[2:]]
status = main()
atexit.unregister(gc.freeze)  # which keeps cycles from being torn down
atexit.register(print, "registered later")
print("unflushed", end="\\n")
sys.exit(status)
"""


def run(*words: str, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", BEGIN, *words]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, env=environment)


@pytest.mark.parametrize(("words", "status"), [("version", 0), ("nonsense", 64)])
def test_nothing_is_torn_down_below_a_thread(words: str, status: int) -> None:
    ended = run("thread", words)
    assert ended.returncode == status, ended.stderr
    assert "torn down" not in ended.stderr
    assert ended.stdout.splitlines()[-3:] == ["unflushed", "registered later", "registered before its start"]


def test_without_threads_the_process_ends_as_every_other() -> None:
    assert run("none", "version").stderr == "torn down"


def test_what_cannot_be_written_is_an_error_with_a_thread_too() -> None:
    with open("/dev/full", "w") as full:
        ended = run("thread", "version", stdout=full.fileno())
    assert ended.returncode != 0
    assert "No space left on device" in ended.stderr


KYMATUI = [sys.executable, "-m", "kymatui"]
WORDS = {"a short answer": ("version",), "a document": ("config", "schema"), "help": ("--help",), "an error": ("nope",)}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
@pytest.mark.parametrize("redirection", [">/dev/full", ">&-", "</dev/null >&- 2>&-", "<&- >&- 2>&-"])
def test_standard_output_that_cannot_be_written_is_said_without_a_traceback(
    words: tuple[str, ...], redirection: str, tmp_path: Path
) -> None:
    errors = tmp_path / "errors"
    behind = "" if "2>" in redirection else f" 2>{errors}"
    ended = subprocess.run(f"{shlex.join([*KYMATUI, *words])} {redirection}{behind}", shell=True)
    assert ended.returncode == (64 if words == ("nope",) else 1)
    if behind:
        text = errors.read_text()
        assert text.startswith("kymatui: ")
        assert len(text.splitlines()) <= 3
        assert words == ("nope",) or "standard output cannot be written" in text


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-"])
def test_messages_that_cannot_be_written_are_lost_and_no_answer(redirection: str) -> None:
    lines = [shlex.join([*KYMATUI, *words]) + f" {redirection}" for words in (("version",), ("nope",))]
    answer, error = (subprocess.run(line, shell=True, capture_output=True, text=True) for line in lines)
    assert (answer.returncode, "kymatui" in answer.stdout) == (0, True)
    assert (error.returncode, error.stdout) == (64, "")


def test_a_closed_descriptor_is_no_file_that_is_opened_later() -> None:
    code = (
        "import os; from kymatui.cli.output.terminal import guard_process; guard_process(); "
        "assert os.open('/dev/null', os.O_RDONLY) > 2"
    )
    ended = subprocess.run(f"{shlex.join([sys.executable, '-c', code])} <&- >&- 2>&-", shell=True)
    assert ended.returncode == 0
