"""`bundle scaffold`: the files of a new module, which only need to be filled in."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kymatui.cli.main import main
from tests.bundle.sources import CR, crd, workload


def scaffold(folder: Path, *more: str) -> int:
    return main(["bundle", "scaffold", "--module-team", "kyma/blue", "-d", str(folder), *more])


def test_a_scaffold_becomes_a_module_when_it_is_filled_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, config = "example.org/module/shop", tmp_path / "scaffold-module-config.yaml"
    assert scaffold(tmp_path, "--module-name", name, "--gen-default-cr", "--gen-security-config") == 0
    assert capsys.readouterr().out.splitlines() == [
        f"written   {tmp_path}/{file}"
        for file in ("manifest.yaml", "default-cr.yaml", "sec-scanners-config.yaml", "scaffold-module-config.yaml")
    ] + [f"next      fill in the files until `kymatui bundle lint -c {config}` finds no errors"]
    assert main(["bundle", "lint", "-c", str(config)]) == 2
    said = capsys.readouterr().out
    for field in ("repository", "documentation", "icons"):
        assert f"error: {field} must" in said
    text = config.read_text().replace("repository:", "repository: https://x.example/sources")
    text = text.replace("documentation:", "documentation: https://x.example/docs")
    config.write_text(text.replace("icons: {}", "icons: {logo: 'https://x.example/logo.png'}"))
    (tmp_path / "manifest.yaml").write_text(
        yaml.safe_dump_all([crd(properties={"size": {"type": "integer"}}), workload("r.io/shop:0.0.1")])
    )
    (tmp_path / "default-cr.yaml").write_text(yaml.safe_dump(CR))
    assert main(["bundle", "lint", "-c", str(config)]) == 0, capsys.readouterr().out
    security = yaml.safe_load((tmp_path / "sec-scanners-config.yaml").read_text())
    assert security["module-name"] == name


def test_files_that_exist_are_kept_and_the_config_is_never_replaced_silently(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "manifest.yaml").write_text("mine: 1\n")
    (tmp_path / "own.yaml").write_text("mine: 2\n")
    assert scaffold(tmp_path, "--gen-default-cr=own.yaml") == 0
    config = tmp_path / "scaffold-module-config.yaml"
    before = config.read_text()
    config.write_text("mine: 3\n")
    assert scaffold(tmp_path, "--gen-default-cr=own.yaml", "--gen-security-config") == 1
    assert "already exists" in capsys.readouterr().err
    assert config.read_text() == "mine: 3\n"
    assert not (tmp_path / "sec-scanners-config.yaml").exists(), "nothing is written before the check"
    assert scaffold(tmp_path, "--gen-default-cr=own.yaml", "--overwrite") == 0
    assert config.read_text() == before
    assert (tmp_path / "manifest.yaml").read_text() == "mine: 1\n"
    assert (tmp_path / "own.yaml").read_text() == "mine: 2\n"


def test_names_that_yaml_reads_otherwise_are_quoted(tmp_path: Path) -> None:
    assert (
        scaffold(tmp_path, "--module-version", "0.1.0-1e3", "--gen-manifest", "yes", "--module-team", "a: b # c") == 0
    )
    found = yaml.safe_load((tmp_path / "scaffold-module-config.yaml").read_text())
    assert (found["version"], found["manifest"], found["team"]) == ("0.1.0-1e3", "yes", "a: b # c")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--module-team", ""], "--module-team must not be empty"),
        (["--module-name", "shop"], "--module-name is invalid"),
        (["--module-name", ""], "--module-name must not be empty"),
        (["--module-version", "1.0"], "--module-version is not a semantic version"),
        (["--directory", "/nowhere/at/all"], "folder /nowhere/at/all does not exist"),
        (["--gen-default-cr", "manifest.yaml"], "need different names"),
        (["-c", ""], "need different names"),
    ],
)
def test_words_that_make_no_sense(
    more: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scaffold(tmp_path, *more) == 64
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_config_that_is_missing_says_how_to_get_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """scaffold writes another name than lint and create read, as modulectl does."""
    monkeypatch.chdir(tmp_path)
    for command in ("lint", "create"):
        assert main(["bundle", command]) == 1
        err = capsys.readouterr().err
        assert "module config module-config.yaml does not exist" in err
        assert "`kymatui bundle scaffold --module-team kyma/TEAM` writes a config" in err
    assert scaffold(Path()) == 0
    assert "`kymatui bundle lint -c scaffold-module-config.yaml`" in capsys.readouterr().out
    assert main(["bundle", "lint"]) == 1
    assert "rename scaffold-module-config.yaml to module-config.yaml" in capsys.readouterr().err
    (tmp_path / "scaffold-module-config.yaml").unlink()
    assert scaffold(Path(), "-c", "module-config.yaml") == 0
    assert "`kymatui bundle lint` finds no errors" in capsys.readouterr().out
    assert main(["bundle", "lint"]) == 2
