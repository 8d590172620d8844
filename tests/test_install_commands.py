"""No text names a package that does not exist: who takes its name runs code on the machines of its readers."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.documents import ROOT

INSTALLERS: Final = re.compile(
    r"""(?: (?:python[\d.]*\ -m\ )? (?:pip[\d.]*|pipx|uv|uv\ pip|uv\ tool|conda|mamba|poetry|pdm|rye)
          \ (?:install|inject|run|add|upgrade|download)\b
        | \b(?:uvx|npx|pnpx|bunx)\b
        | \b(?:npm|pnpm|yarn|bun|gem|cargo|go|brew|krew|helm\ plugin|apt|apt-get|dnf|yum|apk|pacman|snap|flatpak
             |winget|choco|scoop|nix-env|port|zypper)\ (?:install|add|i|get|-i|-S)\b
      )(?P<words>[^`\n]*)""",
    re.VERBOSE,
)
TEXTS: Final = sorted(
    path
    for pattern in ("*.md", "*.toml", ".ci/*", ".github/**/*", "deploy/**/*", "docs/**/*", "kymatui/**/*.py")
    for path in ROOT.glob(pattern)
    if path.is_file()
)
IMAGE: Final = re.compile(r"(?<![\w./-])((?:[\w.$-]+(?::\d+)?/)+kymatui[\w.-]*)[:@][\w\"']")


def dependencies() -> set[str]:
    """Return the packages of others that the project depends on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    named = [*project["dependencies"], *(requirement for extra in extras for requirement in extra)]
    return {re.split(r"[\[<>=;~! ]", requirement)[0] for requirement in named} - {project["name"]}


def packages(text: str) -> Iterator[str]:
    """Yield what the commands in a text install, except paths, addresses and variables."""
    for command in INSTALLERS.finditer(text):
        words = re.split(r"&&|\|\||[;|)(#]|\s-c\b", command["words"])[0].rstrip(".,: ")
        for word in shlex.split(words.replace("'", "").replace('"', "")):
            is_place = re.match(r"-|\.|/|\$|git\+https://|\w+://", word) or word.endswith((".whl", ".tar.gz"))
            if not is_place:
                yield word


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("pipx install kymatui", ["kymatui"]),
        ("`pip install 'kymatui[provenance]==1'`", ["kymatui[provenance]==1"]),
        ("python3 -m pip install -U kymatui", ["kymatui"]),
        ("RUN /opt/bin/pip install --no-cache-dir kymatui && rm x", ["kymatui"]),
        ("uvx kymatui catalog", ["kymatui", "catalog"]),
        ("uv tool install kymatui", ["kymatui"]),
        ("brew install kyma/tap/kymatui", ["kyma/tap/kymatui"]),
        ("kubectl krew install kyma-tui", ["kyma-tui"]),
        ("npm i kymatui", ["kymatui"]),
        ("- run: pipx run kymatui lint", ["kymatui", "lint"]),
        (".venv/bin/pip install --quiet -e '.[test]' && .venv/bin/pytest -q", []),
        ("pipx install . puts", ["puts"]),
        ('pipx install "$KYMATUI"', []),
        ("pip install git+https://git.example.org/kymatui@v1", []),
        ("pipx install ./kymatui-0.1.0-py3-none-any.whl", []),
        ("`pip install pysequoia` in the environment", ["pysequoia"]),
        ("kymatui install keda", []),
    ],
)
def test_a_package_is_found_in_a_command(text: str, named: list[str]) -> None:
    assert list(packages(text)) == named


def test_every_package_that_a_text_names_exists() -> None:
    known = dependencies()
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in TEXTS
        for name in packages(path.read_text("utf-8", "replace"))
        if name not in known
    }
    assert len(TEXTS) > 1000
    assert found == set()


def test_an_image_of_kymatui_is_one_of_an_example_registry() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {image}"
        for path in TEXTS
        for image in IMAGE.findall(path.read_text("utf-8", "replace"))
        if not re.match(r"(REGISTRY|\$\w+|[\w.-]+\.example(\.\w+)?(:\d+)?)/", image)
    }
    assert found == set()


def test_the_dockerfile_builds_the_checkout() -> None:
    text = Path(ROOT / "deploy/Dockerfile").read_text()
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {"python:3.13-slim"}
    assert "pip install --no-cache-dir ." in text
