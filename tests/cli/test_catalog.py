"""`kymatui catalog`: answers on standard output, everything else on standard error, and an exit status."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kymatui.cli.main import main
from kymatui.cli.output.printing import markdown, table
from kymatui.domain.kubernetes.terminal_text import sanitize
from tests.adapters.clusters import Cluster, Exchange, serving, write_kubeconfig
from tests.sessions.worlds import KYMAS, MANIFESTS, METAS, NAMESPACE, TEMPLATES, kyma_cluster


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    found = kyma_cluster(2)
    yield found
    found.close()


@pytest.fixture
def kubeconfig(cluster: Cluster, tmp_path: Path) -> Iterator[str]:
    with serving(cluster.respond) as address:
        yield str(write_kubeconfig(tmp_path, address))
        cluster.close()


def test_the_table_has_a_row_a_module(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "--kubeconfig", kubeconfig]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["NAME", "SOURCE", "CHANNEL", "INSTALLED", "DESIRED", "NEWEST", "DRIFT", "STATE"]
    assert [line.split()[0] for line in lines[1:]] == ["moduleaa", "moduleab"]


@pytest.mark.parametrize("before", [True, False], ids=["before the command", "behind it"])
def test_cluster_options_may_stand_before_the_command_or_behind_it(
    kubeconfig: str, before: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--kubeconfig", kubeconfig, "--context", "test", "--read-only"]
    assert main([*options, "catalog"] if before else ["catalog", *options]) == 0
    assert "moduleaa" in capsys.readouterr().out


def test_json_has_the_documented_keys(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "--kubeconfig", kubeconfig, "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"cluster", "kyma", "modules", "problems", "counts", "unknown", "lists"}
    assert found["cluster"] == "test"
    assert found["kyma"] == {"name": "default", "namespace": NAMESPACE, "channel": "regular", "state": None}
    assert [module["name"] for module in found["modules"]] == ["moduleaa", "moduleab"]


def test_yaml_says_the_same_as_json(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["catalog", "--kubeconfig", kubeconfig, "-o", "json"])
    as_json = json.loads(capsys.readouterr().out)
    main(["catalog", "--kubeconfig", kubeconfig, "-o", "yaml"])
    assert yaml.safe_load(capsys.readouterr().out) == as_json


@pytest.mark.parametrize("form", ["wide", "md"])
def test_wide_and_markdown_say_why(kubeconfig: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "--kubeconfig", kubeconfig, "-o", form]) == 0
    out = capsys.readouterr().out
    assert "REASON" in out
    assert "regular=1.0.0" in out


def test_forbidden_kinds_are_said_beside_the_rows(
    cluster: Cluster, kubeconfig: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.refusals = {MANIFESTS: 403, f"{MANIFESTS}/{NAMESPACE}": 403}
    assert main(["catalog", "--kubeconfig", kubeconfig]) == 0
    said = capsys.readouterr()
    assert "moduleaa" in said.out
    assert f"you may not list {MANIFESTS}" in said.err


@pytest.mark.parametrize("command", [["catalog"], ["module", "moduleaa"], ["drift"], ["checks", "moduleaa"]])
def test_several_lists_that_may_not_be_read_are_one_line_in_every_command(
    command: list[str], cluster: Cluster, kubeconfig: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.refusals = {name: 403 for kind in (MANIFESTS, METAS) for name in (kind, f"{kind}/{NAMESPACE}")}
    main([*command, "--kubeconfig", kubeconfig])
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "may not list" in line]
    assert line.startswith("kymatui: you may not list 2 kinds, so versions and states are partly unknown. ")
    cluster.refusals = {MANIFESTS: 403, METAS: 403}
    main([*command, "-n", NAMESPACE, "--kubeconfig", kubeconfig])
    lines = [line for line in capsys.readouterr().err.splitlines() if f"the namespace {NAMESPACE} may be read" in line]
    assert len(lines) == 1
    assert "(2 lists)" in lines[0]


def test_a_cluster_without_kyma_is_said_with_what_can_be_done(
    cluster: Cluster, kubeconfig: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (KYMAS, TEMPLATES, METAS, MANIFESTS):
        cluster.remove(name)
    assert main(["catalog", "--kubeconfig", kubeconfig]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "has no Kyma" in said.err
    assert "kymatui demo" in said.err


@pytest.mark.parametrize(
    ("command", "hidden", "message"),
    [
        (["unpause", "moduleaa"], MANIFESTS, "whether moduleaa is paused is unknown"),
        (["unpause", "--kyma"], KYMAS, "which Kyma to edit is unknown"),
        (["edit", "--kyma"], KYMAS, "which Kyma to edit is unknown"),
    ],
)
def test_what_may_pause_a_module_unseen_is_unknown(
    command: list[str], hidden: str, message: str, cluster: Cluster, kubeconfig: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.refusals = {hidden: 403, f"{hidden}/{NAMESPACE}": 403}
    assert main([*command, "--kubeconfig", kubeconfig, "--yes"]) == 1
    told = capsys.readouterr()
    assert (message in told.err, "you may not list" in told.err, told.out) == (True, True, "")


def test_an_expired_token_is_said(cluster: Cluster, kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(exchange: Exchange) -> bool:
        exchange.status(401, "Unauthorized")
        return True

    cluster.before = refuse
    assert main(["catalog", "--kubeconfig", kubeconfig]) == 1
    assert "does not accept the credentials of user 'u'" in capsys.readouterr().err


def test_a_token_that_expired_since_the_last_time_is_said_with_what_can_be_done(
    cluster: Cluster, kubeconfig: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the server serves is known from before, and not asked for again."""
    assert main(["catalog", "--kubeconfig", kubeconfig]) == 0
    capsys.readouterr()

    def refuse(exchange: Exchange) -> bool:
        exchange.status(401, "Unauthorized")
        return True

    cluster.before = refuse
    assert main(["catalog", "--kubeconfig", kubeconfig]) == 1
    said = capsys.readouterr().err
    assert "does not accept the credentials of user 'u'" in said
    assert "hint: log in again" in said


def test_a_server_that_is_not_there_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(lambda exchange: exchange.drop()) as address:
        file = write_kubeconfig(tmp_path, address)
    assert main(["catalog", "--kubeconfig", str(file)]) == 1
    assert f"nothing listens at {address}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["catalog", "--kubeconfig", "gone"], 1, "not found"),
        (["catalog"], 1, "no kubeconfig"),
        (["catalog", "--timeout", "0"], 64, "--timeout"),
        (["catalog", "-o", "xml"], 64, 'invalid value "xml" for --output'),
        (["catalog", "--what"], 64, 'no option "--what"; did you mean --watch?'),
        (["catalog", "--zzz"], 64, "`kymatui catalog --help`"),
    ],
)
def test_bad_words_are_said_without_a_traceback(
    words: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == status
    found = capsys.readouterr()
    assert said in found.err
    assert "Traceback" not in found.err


def test_an_empty_catalog_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = kyma_cluster(0)
    with serving(empty.respond) as address:
        kubeconfig = str(write_kubeconfig(tmp_path, address))
        for form in ("table", "md"):
            assert main(["catalog", "--kubeconfig", kubeconfig, "-o", form]) == 0
            printed = capsys.readouterr()
            assert (printed.out, "No modules: the cluster has no ModuleTemplates" in printed.err) == ("", True)
        assert main(["catalog", "--kubeconfig", kubeconfig, "-o", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["modules"] == []
    empty.close()


def test_no_module_is_said_where_nothing_drifts_or_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = kyma_cluster(0)
    words = "No modules: the cluster has no ModuleTemplates or ModuleReleaseMetas.\n"
    with serving(empty.respond) as address:
        kubeconfig = str(write_kubeconfig(tmp_path, address))
        assert main(["drift", "--kubeconfig", kubeconfig]) == 0
        assert capsys.readouterr().out == words
        assert main(["audit", "--kubeconfig", kubeconfig, "--fail-on", "never"]) == 0
        assert words in capsys.readouterr().out
    empty.close()


def test_an_unknown_context_is_said(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "--kubeconfig", kubeconfig, "--context", "prod"]) == 64
    assert "contexts: test" in capsys.readouterr().err


def test_nothing_but_reading_leaves(cluster: Cluster, kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--read-only", "catalog", "--kubeconfig", kubeconfig]) == 0
    capsys.readouterr()
    assert {request.split()[0] for request in cluster.requests} == {"GET"}


def test_text_from_a_cluster_cannot_act_on_the_terminal() -> None:
    assert sanitize("a\x1b[2Jb\r\n\u202e") == "a [2Jb   "
    assert "\x1b" not in table(["A"], [["\x1b[31m"]])
    assert markdown(["A"], [["a|b\n<x>"]]) == "| A |\n| --- |\n| a\\|b \\<x\\> |"


def test_columns_are_aligned_by_what_is_seen() -> None:
    assert table(["A", "B"], [["日本", "x"], ["", "y"]]) == "A      B\n日本   x\n-      y"


@pytest.mark.parametrize(
    ("words", "forbidden", "seen"),
    [
        ([], (), ["moduleaa", "moduleab", "team"]),
        (["-n", "team-a"], (), ["moduleaa", "moduleab", "team"]),
        ([], ("",), ["moduleaa", "moduleab"]),
        (["-n", "team-a"], ("",), ["moduleaa", "moduleab", "team"]),
        (["-n", "elsewhere"], ("", "/elsewhere"), ["moduleaa", "moduleab"]),
    ],
    ids=["all", "all, one named", "kyma-system alone", "one named", "one named that is forbidden, too"],
)
def test_a_namespace_is_where_one_looks_that_may_not_list_all(
    cluster: Cluster,
    kubeconfig: str,
    words: list[str],
    forbidden: tuple[str, ...],
    seen: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Here for the ModuleTemplates; release metas may be listed everywhere."""
    spec = {"moduleName": "team", "version": "0.1.0", "descriptor": {}}
    cluster.put(TEMPLATES, {"metadata": {"name": "team-0.1.0", "namespace": "team-a"}, "spec": spec})
    cluster.refusals = {f"{TEMPLATES}{place}": 403 for place in forbidden}
    assert main(["catalog", "--kubeconfig", kubeconfig, *words, "-o", "json"]) == 0
    assert [module["name"] for module in json.loads(capsys.readouterr().out)["modules"]] == seen
