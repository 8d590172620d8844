"""Which cluster a command line means, and who may forbid to write to it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from kymatui.cli.session_arguments import open_configured_session, session_options_of, with_remote_option
from kymatui.errors import ConfigurationError
from tests.adapters.clusters import write_kubeconfig


def words(**given: object) -> argparse.Namespace:
    return argparse.Namespace(**{"kubeconfig": None, "context": None, "namespace": None, "read_only": False, **given})


def configuration(folder: Path, text: str) -> dict[str, str]:
    file = folder / "config.toml"
    file.write_text(text)
    return {"KYMATUI_CONFIG": str(file)}


def test_what_a_person_said_is_taken_and_nothing_else() -> None:
    options, _ = session_options_of(words(kubeconfig="k", context="c", namespace="n", catalog=["a", "b"]), {})
    assert (options.kubeconfig, options.context, options.namespace) == ("k", "c", "n")
    assert options.catalogs == ("a", "b")
    assert not options.read_only
    assert session_options_of(argparse.Namespace(), {})[0].kubeconfig == ""


@pytest.mark.parametrize(
    ("option", "variable", "file", "shut"),
    [
        (False, None, "", False),
        (True, None, "", True),
        (True, "0", "read_only = false", True),
        (False, "1", "", True),
        (False, "yes", "read_only = false", True),
        (False, " True ", "", True),
        (False, "0", "", False),
        (False, "no", "", False),
        (False, "", "", False),
        (False, None, "read_only = true", True),
        (False, "0", "read_only = true", False),  # the environment is nearer than the file
    ],
)
def test_the_command_line_the_environment_and_the_file_can_shut_the_gate(
    option: bool, variable: str | None, file: str, shut: bool, tmp_path: Path
) -> None:
    environment = configuration(tmp_path, file)
    if variable is not None:
        environment["KYMATUI_READ_ONLY"] = variable
    assert session_options_of(words(read_only=option), environment)[0].read_only is shut


def test_a_variable_that_says_neither_opens_nothing() -> None:
    with pytest.raises(ConfigurationError, match="KYMATUI_READ_ONLY: 'yse' is not a valid value"):
        session_options_of(words(), {"KYMATUI_READ_ONLY": "yse"})


@pytest.mark.parametrize(("context", "shut"), [("prod-eu", True), ("test", False)])
def test_a_context_that_is_configured_read_only_is_opened_so(context: str, shut: bool, tmp_path: Path) -> None:
    document = json.loads(write_kubeconfig(tmp_path, "http://127.0.0.1:1").read_text())
    document["contexts"].append({"name": "prod-eu", "context": document["contexts"][0]["context"]})
    (tmp_path / "two").write_text(json.dumps(document))
    environment = configuration(tmp_path, '[contexts."prod*"]\nread_only = true\n')
    session = open_configured_session(
        *session_options_of(words(kubeconfig=str(tmp_path / "two"), context=context), environment)
    )
    assert session.read_only is shut
    session.close()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("run `kymatui module keda`", "run `kymatui module keda --remote one`"),
        ("`kymatui check a`, `kymatui plan`", "`kymatui check a --remote one`, `kymatui plan --remote one`"),
        ("`kymatui catalog --remote RUNTIME`", "`kymatui catalog --remote RUNTIME`"),
        ("`kymatui fleet` lists the runtimes", "`kymatui fleet` lists the runtimes"),
        ("`kymatui upgrade …`, or kubectl", "`kymatui upgrade … --remote one`, or kubectl"),
    ],
)
def test_what_is_advised_for_a_runtime_is_about_it(text: str, told: str) -> None:
    assert with_remote_option(text, "one") == told
