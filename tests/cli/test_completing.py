"""Completion: what is offered where, in the shells themselves, and that a name is never anything but a name."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from kymatui.adapters.files.backups import backup_path
from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.auth.kubeconfig import read_kubeconfig
from kymatui.cli import shell_completion
from kymatui.cli.commands.program import completion
from kymatui.cli.main import main
from kymatui.cli.shell_completion import FILES, bash_candidates, candidates, quoted, split_line
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.sessions.cluster.completion_cache import (
    CompletionNames,
    load_names,
    names_in,
    save_names,
    save_session_names,
)
from kymatui.sessions.control_plane.runtime_completion import save_runtime_names
from tests.domain.builders import community_template, meta, snapshot, template

pytestmark = pytest.mark.xdist_group("completion")
BREAKS = " \t\n\"'><=;|&(:"
ODD = [
    "plain",
    "with space",
    "$(touch PWNED)",
    "`touch PWNED`",
    "quo'te",
    'dou"ble',
    "semi;touch PWNED",
    "a:b",
    "*",
    "ü",
]
NAMES = CompletionNames({"istio": ("1.11.0", "1.12.0"), "keda": ()}, ("fast", "regular"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kubeconfig with odd contexts, and what was seen of the cluster of the current one."""
    import yaml

    entries = [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in [*ODD, "two\nlines", "bell\x07"]]
    cluster = {"name": "c", "cluster": {"server": "https://127.0.0.1:9"}}
    file = tmp_path / "kubeconfig"
    content = {"clusters": [cluster], "users": [{"name": "u", "user": {}}], "contexts": entries}
    file.write_text(yaml.safe_dump({**content, "current-context": "plain"}))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("KUBECONFIG", str(file))
    config = read_kubeconfig()
    assert config is not None
    key = config.context("").key
    save_names(key, NAMES)
    seen = [("kcp-system", "skr-2"), ("kcp-system", "skr-1"), ("kcp-system", "twice"), ("other", "twice")]
    home = cast("Client", SimpleNamespace(transport=SimpleNamespace(connection=connect())))
    save_runtime_names(home, seen)
    save_names(("skr-1", key), CompletionNames({"nats": ()}))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    kept = backup_path("plain", "nats", 0.0)
    kept.parent.mkdir(parents=True)
    kept.write_text("# nats 1.0.0 in plain\n")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("cata", ["catalog"]),
        ("--read", ["--read-only"]),
        ("enable ", ["istio", "keda"]),
        ("enable k", ["keda"]),
        ("enable --yes i", ["istio"]),
        ("enable istio --channel ", ["fast", "regular", "default"]),
        ("enable istio --channel=f", ["--channel=fast"]),
        ("enable istio --policy I", ["Ignore"]),
        ("enable istio ", ["keda"]),
        ("enable istio keda ", []),
        ("channel istio r", ["regular"]),
        ("channel istio k", ["keda"]),
        ("channel istio regular ", []),
        ("policy istio C", ["CreateAndDelete"]),
        ("install istio --version 1.1", ["1.11.0", "1.12.0"]),
        ("install keda --version ", []),
        ("install istio -o y", ["yaml"]),
        ("--context pl", ["plain"]),
        ("enable istio --context wi", ["with space"]),
        ("--context plain enable is", ["istio"]),
        ("--kubeconfig ", [FILES]),
        ("apply ", [FILES]),
        ("restore ", ["nats"]),
        ("restore ./", [FILES]),
        ("audit ex", ["explain"]),
        ("config show the", ["theme"]),
        ("config validate ", [FILES]),
        ("config path ", []),
        ("audit explain drift.fi", ["drift.fields"]),
        ("helm tem", ["template"]),
        ("helm pull --des", ["--destination"]),
        ("bundle where --mapping sha", ["sha256-digest"]),
        ("completion z", ["zsh"]),
        ("reconcile manifest ", []),
        ("nonsense ", []),
        ("nonsense --", []),
        ("enable -- ke", ["keda"]),
        ("--context nowhere enable ", []),
        ("enable --remote ", ["kcp-system/twice", "other/twice", "skr-1", "skr-2"]),
        ("compare s", ["skr-1", "skr-2"]),
        ("--remote skr-2", ["skr-2"]),
        ("enable --remote skr-1 ", ["nats"]),
        ("enable --remote skr-2 --context plain k", ["keda"]),
        ("compare --kcp-context with", ["with space"]),
        ("label b", ["beta=true", "beta=false", "beta-"]),
    ],
)
def test_what_is_offered_where(line: str, offered: list[str]) -> None:
    words, last = split_line(line)
    assert candidates(words, last.text) == offered


def test_names_that_a_terminal_would_act_upon_are_not_offered() -> None:
    assert set(candidates(["--context"], "")) == set(ODD)


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("kymatui --context with", ["with\\ space"]),
        ("kymatui --context with\\ s", ["with\\ space"]),
        ("kymatui --context 'wi", ["with space"]),
        ("kymatui --context '$(t", ["$(touch PWNED)"]),
        ('kymatui --context "$(t', ["\\$(touch PWNED)"]),
        ("kymatui --context \\$", ["\\$\\(touch\\ PWNED\\)"]),
        ("kymatui --context=wi", ["with\\ space"]),
        ("kymatui --context a:", ["b"]),
        ("kymatui --context quo\\'", ["quo\\'te"]),
        ("true; kymatui enable k", ["keda"]),
        ("kymatui enable", ["enable"]),
        ("kymatui apply ", [FILES]),
    ],
)
def test_what_bash_is_given_to_put_there(line: str, offered: list[str]) -> None:
    assert bash_candidates(line, BREAKS) == offered


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_what_is_quoted_is_the_same_text_to_a_shell(name: str, quote: str) -> None:
    text = quote + quoted(name, quote) + quote
    told = subprocess.run(["bash", "-c", f"printf %s {text}"], capture_output=True, text=True, check=True)
    assert told.stdout == name


def test_what_a_session_saw_is_kept_and_only_names_are() -> None:
    seen = snapshot(
        templates=[template("istio", "1.2.0"), community_template("$(x)", "1.0.0"), {"kind": "ModuleTemplate"}],
        release_metas=[meta("keda", {"fast": "1.0.0", "a b": "1.0.0"})],
        feeds={"moduletemplates.operator.kyma-project.io": Feed(FeedState.LIVE, 1.0)},
    )
    assert names_in(seen) == CompletionNames({"istio": ("1.2.0",), "keda": ()}, ("fast",))
    save_session_names("here", seen)
    assert load_names("here") == (names_in(seen), True)
    assert load_names("here", now=time.time() + 90_000)[1] is False
    assert load_names("elsewhere") == (CompletionNames(), False)


def test_a_file_of_names_that_somebody_spoilt_offers_nothing(home: Path) -> None:
    (file,) = (one for one in (home / "cache" / "kymatui" / "names").iterdir() if '"istio"' in one.read_text())
    for text in ("", "[]", '{"modules": 1}', '{"modules": {"$(x)": ["1"]}, "channels": ["`y`"]}'):
        file.write_text(text)
        assert candidates(["enable"], "") == []
        file.touch()


def test_a_cluster_that_does_not_answer_is_given_up_in_silence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import threading

    held = threading.Event()
    left: list[int] = []

    def ask(words: object) -> None:
        shell_completion._asks.set()
        held.wait(60)

    monkeypatch.setattr(shell_completion, "_PATIENCE", 0.05)
    monkeypatch.setattr(shell_completion, "_answer", ask)
    monkeypatch.setattr("os._exit", left.append)
    shell_completion.main(["zsh", "enable", ""])
    held.set()
    assert left == [0]
    assert capsys.readouterr() == ("", "")


def test_parsers_that_take_longer_than_a_cluster_may_are_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(words: object) -> list[str]:
        time.sleep(0.2)
        return ["keda"]

    monkeypatch.setattr(shell_completion, "_PATIENCE", 0.01)
    monkeypatch.setattr(shell_completion, "_answer", answer)
    assert shell_completion.main(["zsh", "enable", ""]) == 0
    assert capsys.readouterr().out == "keda\n"


@pytest.mark.parametrize("words", [[], ["bash"], ["bash", "x", "y", "z"], ["zsh"], ["fish", "--context", ""]])
def test_whatever_a_shell_asks_it_gets_candidates_or_silence(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    assert main(["__complete", *words]) == 0
    assert capsys.readouterr().err == ""


# the shells themselves


@pytest.fixture
def bin_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = home / "bin"
    folder.mkdir()
    program = folder / "kymatui"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m kymatui "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    for shell, script in completion.SCRIPTS.items():
        (home / f"script.{shell}").write_text(script)
    return folder


class Terminal:
    """A shell on a terminal of its own; what it echoes is gone through in order."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self.child, self._master = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, {**os.environ, "TERM": "dumb", "PS1": "READY>", "HISTFILE": ""})
        self._seen = ""

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def until(self, pattern: str, limit: float = 60.0) -> re.Match[str]:
        deadline = time.monotonic() + limit
        while (match := re.search(pattern, self._seen)) is None:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._master], [], [], left)[0]:
                raise AssertionError(f"{pattern!r} did not come: {self._seen!r}")
            self._seen += os.read(self._master, 65536).decode(errors="replace")
        self._seen = self._seen[match.end() :]
        return match

    def close(self) -> None:
        os.close(self._master)
        os.waitpid(self.child, 0)


@pytest.fixture
def bash(bin_folder: Path, home: Path) -> Iterator[Terminal]:
    found = Terminal(["bash", "--norc", "--noprofile", "-i"], home)
    found.until("READY>")
    found.type("bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; . ./script.bash; echo lo''aded\r")
    found.until("loaded\r\n")
    yield found
    found.close()


def test_in_bash_a_tab_writes_the_word_and_runs_nothing(bash: Terminal, home: Path) -> None:
    typed = {
        "--context plai": "plain",
        "--context wit": "with space",
        "--context 'wit": "with space",
        "--context \\$": "$(touch PWNED)",
        "--context '$(to": "$(touch PWNED)",
        '--context "\\$(to': "$(touch PWNED)",
        "--context sem": "semi;touch PWNED",
        "--context a:": "a:b",
        "enable kee\x7f": "keda",
    }
    for keys, word in typed.items():
        bash.until("READY>")
        bash.type(f"kymatui {keys}\t")
        bash.type("\x01printf '<%s>' \x05; echo e''nd\r")
        told = bash.until("(<kymatui>.*)end\r\n").group(1)
        assert told.endswith(f"<{word}>"), (keys, told)
    assert not (home / "PWNED").exists()


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.usefixtures("bin_folder")
def test_in_fish_names_are_offered_and_nothing_runs(home: Path) -> None:
    lines = {"kymatui enable ": {"istio", "keda"}, "kymatui --context ": set(ODD), "kymatui cata": {"catalog"}}
    for line, offered in lines.items():
        words = ["fish", "--no-config", "-c", f'source script.fish; complete -C "{line}"']
        told = subprocess.run(words, capture_output=True, text=True, check=True, cwd=home)
        assert set(told.stdout.splitlines()) == offered
    assert not (home / "PWNED").exists()


ZSH_TYPED = {
    "cata": "catalog",
    "enable ke": "keda",
    "--context wit": "with space",
    "--context 'wit": "with space",
    "--context sem": "semi;touch PWNED",
    "--context \\$": "$(touch PWNED)",
    "--context=qu": "--context=quo'te",
}


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
@pytest.mark.usefixtures("bin_folder")
def test_in_zsh_a_tab_writes_the_word_and_runs_nothing(home: Path) -> None:
    zsh = Terminal(["zsh", "-f", "-i"], home)
    zsh.type("PS1='READY>'; autoload -U compinit; compinit -u -D; . ./script.zsh; unsetopt zle_bracketed_paste; ")
    zsh.type("echo lo''aded\r")
    zsh.until("loaded\r\n")
    for keys, word in ZSH_TYPED.items():
        zsh.until("READY>")
        zsh.type(f"kymatui {keys}\t")
        zsh.type("\x01printf '<%s>' \x05; echo e''nd\r")
        assert zsh.until("(<kymatui>.*)end\r\n").group(1).endswith(f"<{word}>")
    zsh.close()
    assert not (home / "PWNED").exists()


@pytest.mark.parametrize("shell", sorted(completion.SCRIPTS))
def test_the_script_of_each_shell_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "__complete" in capsys.readouterr().out
