"""Processes that end while threads still wait for servers."""

from __future__ import annotations

import os
import subprocess
import sys

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
