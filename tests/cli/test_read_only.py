"""Every command, read-only: what reaches a server that records everything is reading, and nothing else.

The commands are taken from the parsers, so that none can be forgotten: one that has no example here is run with words
that its parser takes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from kymatui.adapters.kube.auth.context_list import list_contexts
from kymatui.adapters.kube.transport.transport import is_read_only_request
from kymatui.cli.command_table import COMMANDS, by_name
from kymatui.cli.commands.program import screen
from kymatui.cli.main import main
from kymatui.cli.subcommands import LazySubcommands
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sessions.contexts import KubeContexts
from tests.adapters.clusters import Cluster, Exchange, serving, write_kubeconfig
from tests.sandboxes.starting import told_sandbox
from tests.sessions.worlds import KYMAS, METAS, kyma_cluster, named

READING = {
    "catalog": ["catalog"],
    "module": ["module", "moduleaa"],
    "checks": ["checks", "moduleaa", "--explain"],
    "versions": ["versions", "moduleaa"],
    "drift": ["drift"],
    "audit": ["audit"],
    "plan": ["plan", "shop", "--chart", "CHART", "-n", "shop"],
    "finalizers": ["finalizers", "moduleab"],
    "check": ["check", "shop", "--chart", "CHART", "-n", "shop"],
    "fleet": ["fleet"],
    "matrix": ["matrix"],
    "whatif": ["whatif", "--label", "beta=true", "--fail-on", "never"],
    "demo": ["demo", "--check"],
    "config": ["config", "show"],
    "completion": ["completion", "bash"],
    "helm template": ["helm", "template", "CHART"],
    "helm lint": ["helm", "lint", "CHART"],
    "helm show": ["helm", "show", "chart", "CHART"],
    "helm pull": ["helm", "pull", "SERVER/chart-1.0.0.tgz", "--destination", "FOLDER"],
    "bundle where": ["bundle", "where", "kyma-project.io/module/keda:1.0.0", "--registry", "r.example"],
    "bundle diff": ["bundle", "diff", "127.0.0.1:1//a.io/b:1.0.0", "1.0.1"],
    "bundle list": ["bundle", "list", "127.0.0.1:1//a.io/b"],
    "bundle show": ["bundle", "show", "127.0.0.1:1//a.io/b:1.0.0"],
    "bundle pull": ["bundle", "pull", "127.0.0.1:1//a.io/b:1.0.0", "--unpack", "FOLDER/pulled"],
    "bundle verify": ["bundle", "verify", "127.0.0.1:1//a.io/b:1.0.0", "--public-key", "/nowhere"],
    "operator manifests": ["operator", "manifests", "--image", "r.example/kymatui:1"],
    "operator crds": ["operator", "crds"],
    "sandbox up": ["sandbox", "up", "--empty", "--kubeconfig", "FOLDER/written"],
}
WRITING = {
    "enable": ["enable", "moduleab", "--yes", "--no-wait"],
    "disable": ["disable", "moduleaa", "--yes", "--no-wait"],
    "channel": ["channel", "moduleaa", "fast", "--yes", "--no-wait"],
    "manage": ["manage", "moduleac", "--yes", "--no-wait"],
    "unmanage": ["unmanage", "moduleaa", "--yes", "--no-wait"],
    "policy": ["policy", "moduleaa", "Ignore", "--yes", "--no-wait"],
    "label": ["label", "beta=true", "--yes", "--no-wait"],
    "edit": ["edit", "moduleaa", "--yes"],
    "restart": ["restart", "moduleaa", "--yes"],
    "unpause": ["unpause", "moduleaa", "--yes"],
    "install": ["install", "moduleab", "--direct", "--yes"],
    "upgrade": ["upgrade", "moduleab", "--direct", "--yes"],
    "pull": ["pull", "moduleab", "--yes"],
    "apply": ["apply", "/nowhere/plan.json", "--yes"],
    "delete": ["delete", "moduleab", "--yes"],
    "adopt": ["adopt", "moduleab", "--yes"],
    "manifest": ["manifest", "moduleab", "--yes"],
    "restore": ["restore", "/nowhere/backup.yaml", "--yes"],
    "resume": ["resume", "--yes"],
    "reconcile": ["reconcile", "manifest", "moduleaa"],
    "operator run": ["operator", "run"],
    "operator install": ["operator", "install", "--image", "r.example/kymatui:1", "--yes"],
    "operator upgrade": ["operator", "upgrade", "--yes"],
    "operator uninstall": ["operator", "uninstall", "--yes"],
    "operator handover": ["operator", "handover", "--to", "lifecycle-manager", "--yes"],
    "sandbox fault": ["sandbox", "fault", "error", "--kubeconfig", "KUBECONFIG"],
    "sandbox situation": ["sandbox", "situation", "not-applied", "--kubeconfig", "KUBECONFIG"],
    "finalizers --object": ["finalizers", "--object", "a", "moduleaa", "--remove", "b", "--typed", "a"],
}
"""What changes something, and therefore leaves with 4."""
PUBLISHING = {
    "bundle create": ["bundle", "create", "--registry", "r.example"],
    "bundle add": ["bundle", "add", "127.0.0.1:1/a:1", "-t", "127.0.0.1:1/b:1"],
    "bundle dev": ["bundle", "dev", "/nowhere"],
    "bundle copy": ["bundle", "copy", "127.0.0.1:1//a.io/b:1.0.0", "127.0.0.1:1/c"],
    "bundle push": ["bundle", "push", "/nowhere", "127.0.0.1:1/c"],
    "bundle sign": ["bundle", "sign", "r.example//a.io/b:1.0.0", "--private-key", "/nowhere"],
}
"""What changes a registry, and leaves with 4 too, unless only a context is read-only."""
DIRECT = (
    "install",
    "upgrade",
    "pull",
    "apply",
    "delete",
    "adopt",
    "manifest",
    "finalizers --object",
    "restore",
    "resume",
)
DEPLOYING = ("operator install", "operator upgrade", "operator uninstall", "operator handover")
ELSEWHERE = (
    "edit",
    "restart",
    "unpause",
    "sandbox fault",
    "sandbox situation",
    "reconcile",
    "operator run",
    *DEPLOYING,
    *DIRECT,
)
"""Those that write to what this world has not; their own tests show that they do."""
LACKING = ("helm pull", "plan", "check", "bundle diff", "bundle list", "bundle pull", "bundle show", "bundle verify")
"""Those that need more of a server than the one here has: charts to pull, a version, Secrets, a registry, a key."""


def leaves(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The full names of the commands below a parser, with their own."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield name, parser
    for action in below:
        for word, sub in action.choices.items():
            if isinstance(action, LazySubcommands):
                action.configured(word)
            yield from leaves(sub, f"{name} {word}")


def every_command() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for command in COMMANDS:
        parser = argparse.ArgumentParser()
        command.load().configure(parser)
        yield from leaves(parser, command.name)


def made_up(name: str, parser: argparse.ArgumentParser) -> list[str]:
    """Words that a parser takes: something for each place, and consent where it is asked for."""
    words = name.split()
    for action in parser._actions:
        if not action.option_strings and action.nargs != "*":
            words.append(str(next(iter(action.choices))) if action.choices else "moduleaa")
    return [*words, *(option for option in ("--yes",) if option in parser._option_string_actions)]


OTHERS = {
    name: made_up(name, parser) for name, parser in every_command() if name not in {**READING, **WRITING, **PUBLISHING}
}
ALL = {**READING, **WRITING, **PUBLISHING, **OTHERS}


def test_every_example_is_of_a_command_that_is_there() -> None:
    assert {name.partition(" --")[0] for name in ALL} == {name for name, _ in every_command()}
    assert all(words[: len(name.split())] == name.split() for name, words in ALL.items())


class World:
    """A cluster that records what reaches it, and a folder with a chart."""

    def __init__(self, folder: Path, address: str) -> None:
        self.kubeconfig = write_kubeconfig(folder, address)
        self._names = {"CHART": chart(folder), "SERVER": address, "FOLDER": folder, "KUBECONFIG": self.kubeconfig}

    def words(self, name: str) -> list[str]:
        found = list(ALL[name])
        for placeholder, value in self._names.items():
            found = [word.replace(placeholder, str(value)) for word in found]
        return found


def chart(folder: Path) -> Path:
    made = folder / "chart"
    (made / "templates").mkdir(parents=True)
    (made / "Chart.yaml").write_text("apiVersion: v2\nname: chart\nversion: 1.0.0\n")
    (made / "templates" / "one.yaml").write_text('kind: ConfigMap # {{ lookup "v1" "Secret" "" "" }}\n')
    return made


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    found = kyma_cluster(3)
    modules = [{"name": "moduleaa"}, {"name": "moduleac", "managed": False}]
    found.put(KYMAS, {"metadata": named("default"), "spec": {"channel": "regular", "modules": modules}})
    channels = [{"channel": channel, "version": "1.0.0"} for channel in ("regular", "fast")]
    found.put(METAS, {"metadata": named("moduleaa"), "spec": {"moduleName": "moduleaa", "channels": channels}})
    yield found
    found.close()


@pytest.fixture
def seen() -> list[tuple[str, str]]:
    return []


@pytest.fixture
def world(
    cluster: Cluster, seen: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    monkeypatch.chdir(tmp_path)  # where `diagnose` leaves its archive
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KYMATUI_READ_ONLY", raising=False)
    monkeypatch.chdir(tmp_path)  # what is gathered goes there

    def respond(exchange: Exchange) -> None:
        seen.append((exchange.method, exchange.path))
        if exchange.path.endswith("/selfsubjectaccessreviews"):
            exchange.json({"status": {"allowed": True}}, 201)
        else:
            cluster.respond(exchange)

    with serving(respond) as address:
        found = World(tmp_path, address)
        monkeypatch.setenv("KUBECONFIG", str(found.kubeconfig))
        monkeypatch.setattr("kymatui.cli.commands.program.demo.start_sandbox", lambda **_: embedded(found))
        monkeypatch.setattr(
            "kymatui.cli.commands.program.sandbox.serve_sandbox", lambda **_: 0
        )  # a server of one's own writes to no cluster
        yield found
        cluster.close()


@contextmanager
def embedded(world: World | SimpleNamespace) -> Iterator[SimpleNamespace]:
    """What `demo` starts, for a test that wants to see its requests."""
    yield SimpleNamespace(kubeconfig=world.kubeconfig)


def run(words: list[str], how: str, monkeypatch: pytest.MonkeyPatch) -> int:
    if how == "variable":
        monkeypatch.setenv("KYMATUI_READ_ONLY", "1")
        return main(words)
    return main(["--read-only", *words])


@pytest.mark.parametrize("how", ["option", "variable"])
@pytest.mark.parametrize("name", READING)
def test_a_command_that_reads_sends_nothing_else(
    name: str, how: str, world: World, seen: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    status = run(world.words(name), how, monkeypatch)
    assert status in ((1,) if name in LACKING else (0, 2)), "the server has not all that is asked for; 2 are findings"
    assert [asked for asked in seen if not is_read_only_request(*asked)] == []
    silent = name.startswith(
        ("helm template", "helm lint", "helm show", "config", "completion", "sandbox", "bundle ", "operator")
    )
    assert bool(seen) is not silent


@pytest.mark.parametrize("how", ["option", "variable"])
@pytest.mark.parametrize("name", [*WRITING, *PUBLISHING])
def test_a_command_that_writes_is_refused_before_it_sends_anything_of_it(
    name: str,
    how: str,
    world: World,
    seen: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(world.words(name), how, monkeypatch) == 4
    assert seen == [], "nothing is asked, so that no other refusal can come first"
    cause = "--read-only" if how == "option" else "KYMATUI_READ_ONLY"
    assert capsys.readouterr().err.splitlines()[0] == refusal(name, f"kymatui runs read-only ({cause})")


def refusal(name: str, why: str) -> str:
    return f"kymatui: {name.split()[0]} is refused: {why}; no changes made"


@pytest.mark.parametrize("name", WRITING)
def test_a_context_that_is_read_only_by_configuration_refuses_in_the_same_way(
    name: str,
    world: World,
    seen: list[tuple[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "config.toml").write_text('[contexts."*"]\nread_only = true\n')
    monkeypatch.setenv("KYMATUI_CONFIG", str(tmp_path / "config.toml"))
    assert main(world.words(name)) == 4
    assert seen == []
    (context,) = [one.name for one in list_contexts(str(world.kubeconfig))]
    expected = refusal(name, f"context {context} is read-only (configuration file)")
    assert capsys.readouterr().err.splitlines()[0] == expected


@pytest.mark.parametrize("name", [name for name in WRITING if "--yes" in WRITING[name]])
def test_an_audit_refuses_in_the_same_way(
    name: str, world: World, seen: list[tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--audit", *world.words(name)]) == 4
    assert seen == []
    assert capsys.readouterr().err.splitlines()[0] == refusal(name, "kymatui runs read-only (--audit)")


@pytest.mark.parametrize("name", [name for name in WRITING if WRITING[name][1:2] in (["moduleaa"], ["moduleab"])])
def test_a_fleet_and_a_runtime_are_refused_before_either_cluster_is_asked(
    name: str, world: World, seen: list[tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    for more in (["--remote", "dev-1"], ["--fleet"]):
        if not {more[0]} <= set(dict(every_command())[name]._option_string_actions):
            continue
        assert main(["--read-only", *world.words(name), *more]) == 4
        assert seen == []
        assert capsys.readouterr().err.splitlines()[0] == refusal(name, "kymatui runs read-only (--read-only)")


def test_an_operator_without_a_subcommand_writes() -> None:
    command = by_name("operator")
    assert command is not None
    parser = argparse.ArgumentParser()
    command.load().configure(parser)
    assert command.writes(parser.parse_args([]))


def test_a_command_that_asks_for_consent_is_one_that_writes() -> None:
    asking = {name for name, parser in every_command() if {"--yes", "--typed"} & set(parser._option_string_actions)}
    assert asking - {"plan"} <= {name.partition(" --")[0] for name in {**WRITING, **PUBLISHING}}


@pytest.mark.parametrize("name", ALL)
def test_the_table_of_commands_says_which_examples_write(name: str) -> None:
    command = by_name(name.split()[0])
    assert command is not None
    parser = argparse.ArgumentParser()
    command.load().configure(parser)
    assert command.writes(parser.parse_args(ALL[name][1:])) is (name in {**WRITING, **PUBLISHING})


@pytest.mark.parametrize("name", OTHERS)
def test_a_command_without_an_example_sends_nothing_that_writes(
    name: str,
    world: World,
    seen: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = run(world.words(name), "option", monkeypatch)
    assert status in (0, 1, 2, 64), "4 would be a command that writes and of which the table says that it reads"
    assert [asked for asked in seen if not is_read_only_request(*asked)] == []
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("name", [name for name in WRITING if name not in ELSEWHERE])
def test_the_same_example_writes_where_it_may(name: str, world: World, seen: list[tuple[str, str]]) -> None:
    main(world.words(name))
    assert [method for method, path in seen if not is_read_only_request(method, path)] != []


def test_the_log_of_a_real_server_agrees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kymatui.cli.commands.program.sandbox.serve_sandbox", lambda **_: 0)
    with told_sandbox() as running:
        folder = SimpleNamespace(kubeconfig=running.kubeconfig)
        monkeypatch.setattr("kymatui.cli.commands.program.demo.start_sandbox", lambda **_: embedded(folder))
        monkeypatch.setenv("KUBECONFIG", str(running.kubeconfig))
        client = FaultClient.for_kubeconfig(running.kubeconfig)
        client.requests(forget=True)
        names = {"CHART": chart(tmp_path), "SERVER": "http://127.0.0.1:9", "FOLDER": tmp_path}
        for name in (*WRITING, *OTHERS, "audit", "plan"):  # of the others the recording above tells
            given = [str(names.get(word, word)) for word in ALL[name]]
            for other in ("moduleaa", "moduleab", "moduleac"):
                given = [word.replace(other, "istio") for word in given]
            main(["--read-only", *given])
        told = client.requests()
    ours = [one for one in told["requests"] if "kymatui" in one["agent"]]
    assert len(ours) > 100
    assert [one for one in ours if not is_read_only_request(one["method"], one["path"])] == []


def test_the_screen_is_opened_on_a_gate_that_is_shut(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def show(
        args: object, settings: object, connect: object, options: object, contexts: KubeContexts, **_: object
    ) -> int:
        assert callable(connect)
        opened.append(connect())
        opened.append(contexts.open_again())
        opened.append(contexts.open(contexts.listed()[0].name))
        return 0

    monkeypatch.setattr(screen, "show", show)
    for words in ([], ["demo"]):
        for how in ("option", "variable"):
            with monkeypatch.context() as patch:
                assert run(words, how, patch) == 0
    assert [session.read_only for session in opened] == [True] * 12
    for session in opened:
        session.close()
