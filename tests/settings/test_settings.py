"""One file, checked by one schema; what is wrong is named with its place."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.errors import ConfigurationError
from kymatui.lists.catalog import COLUMNS
from kymatui.settings.config_file import ContextSettings, Settings, config_path, load_settings, read_file
from kymatui.settings.option_edit import as_toml
from kymatui.settings.options_schema import OPTIONS, find_faults, json_schema
from kymatui.ui.terminal.themes import THEMES

FULL = """
theme = "light"
ascii = true
columns = ["name", "state"]
sort = "drift"
catalogs = ["https://example.org/all-modules.yaml"]

[keys]
"app.quit" = "ctrl+q,f10"

[contexts."prod*"]
accent = "red"
read_only = true

[contexts.prod-sandbox]
accent = "green"

[plugins.k9s]
key = "ctrl+k"
command = 'k9s --context "$CONTEXT" -n "$NAMESPACE"'
scope = ["module", "tree"]
"""


def load(tmp_path: Path, text: str, **environment: str) -> Settings:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return load_settings({"KYMATUI_CONFIG": str(path), **environment})


def test_a_full_file(tmp_path: Path) -> None:
    settings = load(tmp_path, FULL)
    assert (settings.theme, settings.ascii, settings.sort) == ("light", True, "drift")
    assert settings.columns == ("name", "state")
    assert settings.keys == {"app.quit": "ctrl+q,f10"}
    (plugin,) = settings.own_commands
    assert (plugin.name, plugin.key, plugin.scope, plugin.output) == ("k9s", "ctrl+k", ["module", "tree"], "terminal")


@pytest.mark.parametrize(
    ("context", "wanted"),
    [
        ("prod-eu", ContextSettings("red", True)),
        ("prod-sandbox", ContextSettings("green", False)),
        ("dev", ContextSettings()),
    ],
)
def test_a_context_has_its_own_settings_by_name_or_pattern(
    tmp_path: Path, context: str, wanted: ContextSettings
) -> None:
    assert load(tmp_path, FULL).context(context) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("plugins = 3", "plugins: must be a table of plugins, not 3"),
        ("[plugins]\nk9s = 3", "plugins.k9s: must be a table, not 3"),
        ('[plugins.K9s]\ncommand = "true"', "plugins.K9s: a name has small letters, digits and -, e.g. k9s"),
        ("[plugins.k9s]\nconfirm = true", "plugins.k9s.command: is missing"),
        ('[plugins.k9s]\ncommand = "k9s"', 'plugins.k9s.command: name the cluster with "$CONTEXT"'),
        ('[plugins.x]\ncommand = "true"\nkey = "ctrl-k"', "plugins.x.key: 'ctrl-k' is not a key"),
        ('[plugins.x]\ncommand = "true"\nscope = ["modul"]', "plugins.x.scope[0]: 'modul' is not valid; did you mean"),
        ('[plugins.x]\ncommand = "true"\noutput = "pan"', "plugins.x.output: 'pan' is not valid; did you mean pane"),
        ('[plugins.x]\ncommand = "true"\nconfirm = 1', "plugins.x.confirm: must be true or false"),
        ('theme = "pink"', "theme: 'pink' is not valid; use one of dark, light, high-contrast"),
        ('them = "dark"', "them: no such option; did you mean theme?"),
        ("ascii = 1", "ascii: must be true or false, not 1"),
        ('columns = ["name", "colour"]', "columns[1]: 'colour' is not valid; use one of name, source"),
        ('columns = "name"', "columns: must be a list"),
        ('keys = "q"', "keys: must be a table of keys"),
        ('[keys]\n"app.quit" = "Ctrl Q"', "keys.app.quit: 'Ctrl Q' is not a key"),
        ('[contexts.prod]\naccent = "pink"', "contexts.prod.accent: 'pink' is not valid; use one of red, orange"),
        ('theme = "drak"', "theme: 'drak' is not valid; did you mean dark?"),
        ('columns = ["staet"]', "columns[0]: 'staet' is not valid; did you mean state?"),
        ("[contexts]\nprod = 3", "contexts.prod: must be a table"),
        ("theme = ", "is not valid TOML"),
        ("theme = " + "[" * 100_000, "is not valid TOML: it is nested too deeply"),
        ("theme = " + "7" * 5_000, "is not valid TOML"),
        ("#" * (1 << 20) + "\n", "is larger than 1 MiB"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load(tmp_path, text)
    assert message in str(refused.value)
    assert "config.toml" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "status"),
    [('theem = "dark"', 64), ('theme = "pink"', 64), ('columns = ["nmae"]', 64), ('ascii = "no"', 1), ("theme = ", 1)],
)
def test_an_unknown_name_has_the_status_of_unknown_names(tmp_path: Path, text: str, status: int) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load(tmp_path, text)
    assert refused.value.exit_code == status


def test_all_faults_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load(tmp_path, 'theme = "pink"\nascii = "no"')
    assert "theme:" in str(refused.value)
    assert "ascii:" in str(refused.value)


@pytest.mark.parametrize(("text", "wanted"), [("1", True), ("yes", True), ("0", False), ("off", False), ("", False)])
def test_the_environment_wins_over_the_file(tmp_path: Path, text: str, wanted: bool) -> None:
    assert load(tmp_path, "read_only = false", KYMATUI_READ_ONLY=text).read_only is wanted


def test_a_variable_that_is_neither_yes_nor_no_is_refused(tmp_path: Path) -> None:
    """A person who set it meant something; guessing which could let a write out."""
    with pytest.raises(ConfigurationError, match="KYMATUI_READ_ONLY: 'maybe' is not a valid value"):
        load(tmp_path, "", KYMATUI_READ_ONLY="maybe")


def test_no_file_means_defaults_but_a_named_file_must_be_there(tmp_path: Path) -> None:
    assert load_settings({"XDG_CONFIG_HOME": str(tmp_path)}).theme in ("dark", load_settings({}).theme)
    with pytest.raises(ConfigurationError, match="does not exist"):
        load_settings({"KYMATUI_CONFIG": str(tmp_path / "absent.toml")})


def test_the_path_can_be_named() -> None:
    assert config_path({"KYMATUI_CONFIG": "/etc/kymatui.toml"}) == Path("/etc/kymatui.toml")
    assert config_path({}).name == "config.toml"


def test_what_is_shown_is_a_valid_file_that_means_the_same(tmp_path: Path) -> None:
    settings = load(tmp_path, FULL)
    again = tmp_path / "again.toml"
    again.write_text(as_toml(settings))
    assert load_settings({"KYMATUI_CONFIG": str(again)}) == settings
    assert read_file(again)["contexts"] == {
        "prod*": {"accent": "red", "read_only": True},
        "prod-sandbox": {"accent": "green"},
    }


def test_the_json_schema_agrees_with_the_validation() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(tomllib.loads(FULL), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"theme": "pink"}, schema)


def test_the_choices_are_those_of_the_screen() -> None:
    choices = {option.name: option.choices for option in OPTIONS}
    assert choices["theme"] == tuple(theme.name.removeprefix("kymatui-") for theme in THEMES)
    assert choices["columns"] == tuple(column.id for column in COLUMNS)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([option.name for option in OPTIONS]) | st.text(), values, max_size=4))
def test_no_content_is_more_than_a_list_of_faults(body: dict[str, Any]) -> None:
    for fault in find_faults(body):
        assert fault.where
