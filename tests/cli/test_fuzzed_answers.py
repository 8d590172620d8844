"""Answers that are wrong somewhere, under commands: a few seeds of `tests.benchmarks.fuzz_answers`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.kube.transport import transport as transports
from kymatui.adapters.kube.transport.streams import AnswerStream
from kymatui.cli.main import main
from tests.adapters.clusters import Cluster, Exchange, serving, write_kubeconfig
from tests.benchmarks.fuzz_answers import PROGRAMMING, STATUSES
from tests.benchmarks.mutating import Mutator
from tests.cli.walking import small_cluster

COMMANDS = (
    ["catalog", "-o", "json"],
    ["module", "moduleaa"],
    ["windows"],
    ["audit", "--objects", "-o", "json"],
    ["delete", "moduleaa", "--yes", "--timeout", "2"],
    ["disable", "moduleaa", "--yes", "--no-wait"],
    ["check", "moduleaa"],
    ["fleet"],
)


def mutated(monkeypatch: pytest.MonkeyPatch, mutator: Mutator) -> None:
    read, lines = transports._body, AnswerStream._lines
    monkeypatch.setattr(transports, "_body", lambda *given: mutator.body(read(*given)))
    monkeypatch.setattr(AnswerStream, "_lines", lambda stream: map(mutator.body, lines(stream)))


def run_on(cluster: Cluster, folder: Path, words: list[str]) -> tuple[int, list[str]]:
    """The exit status, and the requests that could have changed something."""
    writes: list[str] = []

    def respond(exchange: Exchange) -> None:
        if exchange.method != "GET" and "selfsubject" not in exchange.path:
            writes.append(f"{exchange.method} {exchange.path}")
        cluster.respond(exchange)

    with serving(respond) as address:
        status = main([*words, "--kubeconfig", str(write_kubeconfig(folder, address))])
        cluster.close()
    return status, writes


@pytest.mark.parametrize("seed", range(24))
def test_whatever_a_server_answers_a_command_ends_with_an_error_of_the_project(
    seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    mutated(monkeypatch, Mutator(seed))
    with small_cluster() as cluster:
        status, _ = run_on(cluster, tmp_path, COMMANDS[seed % len(COMMANDS)])
    told = "".join(capfd.readouterr())
    assert status in STATUSES, told
    assert PROGRAMMING.search(told) is None, told


NOT_UNDERSTOOD: list[bytes] = [b"null", b"[]", b"{}", b"\xff", b'{"kind":"Status","status":"Success"}', b"[" * 100_000]


@pytest.mark.parametrize("body", NOT_UNDERSTOOD, ids=repr)
@pytest.mark.parametrize("words", [COMMANDS[4], COMMANDS[5]], ids=lambda words: words[0])
def test_nothing_is_written_where_no_answer_is_understood(
    words: list[str], body: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Discovery is read; objects and lists are not."""
    read = transports._body

    def replaced(response: Any, *given: Any) -> bytes:
        found = read(response, *given)
        path = str(response.geturl()).partition("?")[0]
        return found if path.endswith(("/api", "/apis")) or response.status >= 300 else body

    monkeypatch.setattr(transports, "_body", replaced)
    monkeypatch.setattr(AnswerStream, "_lines", lambda stream: iter((body,)))
    with small_cluster() as cluster:
        status, writes = run_on(cluster, tmp_path, words)
    assert status not in (0, 3)
    assert writes == []
