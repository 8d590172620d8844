"""What a command waits for, on standard error of a terminal: one line, gone when the answer comes."""

from __future__ import annotations

import io
import json
import re
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from kymatui.cli.output.terminal import DOOR, GuardedStream, end_waits
from kymatui.cli.output.wait_line import WaitLine
from kymatui.engine.cluster.dials import DIALS, DialPhase
from kymatui.engine.cluster.logins import LOGINS, Login
from tests.adapters.clusters import write_kubeconfig
from tests.cli.terminal import in_terminal

SECONDS = 3.0
ERASE = "\r\x1b[2K"


class Silent(socketserver.BaseRequestHandler):
    """Accepts and says nothing for a while, so that a TLS handshake does not end."""

    def handle(self) -> None:
        time.sleep(SECONDS)


class Slow(BaseHTTPRequestHandler):
    """Takes long for each answer."""

    def do_GET(self) -> None:
        time.sleep(SECONDS)
        self.send_error(503)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def server(handler: type[socketserver.BaseRequestHandler]) -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as running:
        running.daemon_threads = True
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running.server_address[1]
        running.shutdown()


def with_plugin(folder: Path, file: Path) -> Path:
    plugin = folder / "sso-login"
    plugin.write_text(f"#!{sys.executable}\nimport time, sys\ntime.sleep({SECONDS})\nsys.exit(1)\n")
    plugin.chmod(0o755)
    document = json.loads(file.read_text())
    spec = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin), "interactiveMode": "Never"}
    document["users"][0]["user"] = {"exec": spec}
    file.write_text(json.dumps(document))
    return file


COMMAND = [sys.executable, "-m", "kymatui", "catalog", "--timeout", "2", "--kubeconfig"]


@pytest.mark.parametrize(
    ("kind", "phrase"),
    [
        ("silent", "Connecting to 127.0.0.1"),
        ("slow", r"Listing the kinds of test \(0 of \d+ listed\)"),
        ("login", "Logging in with sso-login"),
    ],
)
@pytest.mark.parametrize("form", ["table", "json"])
def test_a_command_that_waits_says_for_what(kind: str, phrase: str, form: str, tmp_path: Path) -> None:
    scheme = "http" if kind == "slow" else "https"
    with server(Slow if kind == "slow" else Silent) as port:
        file = write_kubeconfig(tmp_path, f"{scheme}://127.0.0.1:{port}")
        file = with_plugin(tmp_path, file) if kind == "login" else file
        command = [*COMMAND, str(file), "-o", form]
        environment = {"XDG_CACHE_HOME": str(tmp_path), "TERM": "xterm-256color"}
        drawn = in_terminal("never drawn", "", command, environment).stdout
        piped = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert re.search(rf"\x1b\[2K{phrase} … \d s", drawn)
    last = list(re.finditer(phrase, drawn))[-1]
    assert "\x1b[2K" in drawn[last.end() :]  # it is gone
    assert "…" not in piped.stderr
    assert not re.search(phrase, piped.stderr)


def test_a_command_that_is_quick_draws_nothing(tmp_path: Path) -> None:
    drawn = in_terminal("never drawn", "", [sys.executable, "-m", "kymatui", "--version"], {"TERM": "xterm"}).stdout
    assert "\x1b[2K" not in drawn


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_line_makes_room_for_output_and_waits_for_the_end_of_a_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    stream, line = GuardedStream(terminal), WaitLine(terminal)
    monkeypatch.setattr(DOOR, "passing", line.hidden)
    line.draw("Connecting to a")
    stream.write("answer\n")
    assert terminal.getvalue() == f"{ERASE}Connecting to a{ERASE}answer\n"
    stream.write("Code: ")
    line.draw("Connecting to a")
    assert terminal.getvalue().endswith("Code: ")
    stream.write("\n")
    line.draw("Connecting to b")
    end_waits()
    line.draw("Connecting to c")
    assert terminal.getvalue().endswith(f"Code: \n{ERASE}Connecting to b{ERASE}")


def test_the_step_is_the_login_then_the_connection_then_the_lists() -> None:
    with DIALS.entered("a", DialPhase.WAITING):
        assert DIALS.step == "Waiting for a"
        with DIALS.entered("prod", DialPhase.LISTING, lambda: (3, 8)):
            assert DIALS.step == "Listing the kinds of prod (3 of 8 listed)"
            with DIALS.entered("b"):
                assert DIALS.step == "Connecting to b"
                with LOGINS.entered(Login("/opt/kubelogin", "me", 60.0)):
                    assert DIALS.step == "Logging in with kubelogin"
                    with DIALS.entered("test", DialPhase.LISTING):
                        assert DIALS.step == "Logging in with kubelogin; 2 contexts at the same time"
    assert DIALS.step == ""
