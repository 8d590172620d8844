"""Contexts for the screen: recently used first, with their settings; what the command line forbids stays forbidden."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.files.context_memory import MOST_PINNED, ContextMemory
from kymatui.errors import ConfigurationError, UnknownNameError
from kymatui.sessions.cluster.session_options import AccessOverrides, SessionOptions
from kymatui.sessions.contexts import KubeContexts
from kymatui.settings.config_file import Settings
from tests.adapters.kube.test_kubeconfig import config, write

SETTINGS = Settings(contexts={"prod*": {"accent": "red", "read_only": True}})


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    parts = [config(name, server=f"https://{name}.example") for name in ("dev", "prod-eu", "stage")]
    joined = {key: [entry for one in parts for entry in one[key]] for key in ("clusters", "users", "contexts")}
    return write(tmp_path / "config", {**joined, "current-context": "stage"})


@pytest.fixture
def memory(tmp_path: Path) -> ContextMemory:
    return ContextMemory(tmp_path / "state")


def contexts(kubeconfig: Path, memory: ContextMemory, opened: list[SessionOptions], **given: Any) -> KubeContexts:
    options = SessionOptions(str(kubeconfig), "dev", "apps", **given)
    return KubeContexts(lambda: options, SETTINGS, opened.append, context_memory=memory)


def test_the_recently_used_come_first_with_their_settings(kubeconfig: Path, memory: ContextMemory) -> None:
    found = contexts(kubeconfig, memory, [])
    assert [one.name for one in found.listed()] == ["dev", "prod-eu", "stage"]
    found.arrived("stage", 1000.0)
    found.arrived("prod-eu", 2000.0)
    listed = found.listed()
    assert [(one.name, one.used) for one in listed] == [("prod-eu", 2000.0), ("stage", 1000.0), ("dev", 0.0)]
    prod = listed[0]
    assert (prod.cluster, prod.user, prod.server) == ("prod-eu", "prod-eu", "https://prod-eu.example")
    assert (prod.accent, prod.read_only, prod.is_current) == ("red", True, False)
    assert [one.is_current for one in listed] == [False, True, False]


@pytest.mark.parametrize(
    ("forced", "name", "expected"), [(False, "dev", False), (False, "prod-eu", True), (True, "dev", True)]
)
def test_what_forbids_writing_stays_in_force(
    forced: bool, name: str, expected: bool, kubeconfig: Path, memory: ContextMemory
) -> None:
    opened: list[SessionOptions] = []
    access = AccessOverrides(user="admin", impersonated="jane", groups=("viewers",))
    contexts(kubeconfig, memory, opened, read_only=forced, access=access).open(name)
    (options,) = opened
    assert options.read_only is expected
    assert (options.context, options.namespace) == (name, ""), "a namespace belongs to the context that it came with"
    assert options.access == AccessOverrides(impersonated="jane", groups=("viewers",))


def test_a_context_that_failed_to_open_is_not_the_open_one(kubeconfig: Path, memory: ContextMemory) -> None:
    opened: list[str] = []

    def open_session(options: SessionOptions) -> None:
        opened.append(options.context)
        if options.context == "stage":
            raise ConfigurationError("no plugin")

    found = KubeContexts(lambda: SessionOptions(str(kubeconfig), "dev"), SETTINGS, open_session, context_memory=memory)
    with pytest.raises(ConfigurationError):
        found.open("stage")
    found.open_again()
    found.open_namespace("")
    assert opened == ["stage", "dev", "dev"]


def test_a_namespace_leaves_a_context_read_only(kubeconfig: Path, memory: ContextMemory) -> None:
    opened: list[SessionOptions] = []
    given = SessionOptions(str(kubeconfig))
    found = KubeContexts(lambda: given, SETTINGS, opened.append, context_memory=memory)
    found.arrived("prod-eu", 1.0)
    found.open_namespace("")
    assert [(one.read_only, one.namespace) for one in opened] == [(True, "")]


def test_an_unusable_context_is_refused_before_anything_is_opened(kubeconfig: Path, memory: ContextMemory) -> None:
    opened: list[SessionOptions] = []
    found = contexts(kubeconfig, memory, opened)
    with pytest.raises(UnknownNameError, match="prod-eu"):
        found.check("prod-eo")
    kubeconfig.write_text("{")
    with pytest.raises(ConfigurationError, match="is not YAML"):
        found.check("dev")
    assert not opened


def test_the_same_options_open_the_context_again(kubeconfig: Path, memory: ContextMemory) -> None:
    opened: list[SessionOptions] = []
    found = contexts(kubeconfig, memory, opened)
    found.open_again()
    found.open("stage")
    found.open_again()
    assert [(one.context, one.namespace) for one in opened] == [("dev", "apps"), ("stage", ""), ("stage", "")]


def test_changes_on_disk_are_those_since_the_context_was_opened(kubeconfig: Path, memory: ContextMemory) -> None:
    found = contexts(kubeconfig, memory, [])
    assert found.changes("dev") == ()
    found.arrived("dev", 1.0)
    assert found.changes("dev") == ()
    body = json.loads(kubeconfig.read_text())
    body["clusters"][0]["cluster"]["server"] = "https://new.example"
    write(kubeconfig, body)
    assert found.changes("dev") == ("server https://dev.example → https://new.example",)
    found.arrived("dev", 2.0)
    assert found.changes("dev") == ()
    write(kubeconfig, {**body, "contexts": []})
    with pytest.raises(UnknownNameError, match="dev"):
        found.changes("dev")


def test_pinned_modules_are_remembered_by_context(memory: ContextMemory) -> None:
    memory.pin("prod/eu", ["istio", "keda", "istio"])
    memory.note_use("prod/eu", 5.0)
    assert memory.of("prod/eu").pinned == ("istio", "keda")
    assert memory.of("prod_eu").pinned == (), "a name that is spelled alike is another context"
    memory.pin("prod/eu", ["", "x" * 300, *(f"m{n}" for n in range(MOST_PINNED + 5))])
    found = memory.of("prod/eu")
    assert (len(found.pinned), found.pinned[-1], found.used) == (MOST_PINNED, f"m{MOST_PINNED + 4}", 5.0)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[1]", "null", '{"context": 3}', '{"context": "a", "used": "x", "pinned": {"b": 1}}', "[" * 9999, "\x00"],
)
def test_a_broken_file_counts_as_missing(content: str, memory: ContextMemory, tmp_path: Path) -> None:
    memory.note_use("a", 5.0)
    (file,) = (tmp_path / "state").glob("*.json")
    file.write_text(content)
    assert memory.used().get("a", 0.0) == 0.0
    memory.note_use("a", 6.0)
    assert memory.used() == {"a": 6.0}
    assert memory.of("a").pinned == ()


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path, kubeconfig: Path) -> None:
    (tmp_path / "state").write_text("a file")
    found = contexts(kubeconfig, ContextMemory(tmp_path / "state"), [])
    found.arrived("dev", 1.0)
    assert [one.name for one in found.listed()] == ["dev", "prod-eu", "stage"]
