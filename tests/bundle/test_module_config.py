"""Module configs: what modulectl reads of them, and every mistake with its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.publishing.config_reader import SourceProblemsError, require_no_errors
from kymatui.publishing.lint_rules import Problems, lint_config
from kymatui.publishing.module_config import ConfigManager, read_config
from tests.bundle.sources import CONFIG

LEAST = yaml.safe_dump(CONFIG, sort_keys=False)


def problems(text: str) -> list[str]:
    return [str(one) for one in read_config(text.encode(), "c.yaml")[1]]


def test_the_least_config_has_defaults() -> None:
    found, wrong = read_config(LEAST.encode(), "c.yaml")
    assert wrong == []
    assert (found.name, found.version, found.short_name) == (CONFIG["name"], "1.0.0", "sample")
    assert found.icons == {"module-icon": "https://docs.example.com/sample/logo.png"}
    assert found.security_scan
    assert (found.beta, found.internal, found.requires_downtime) == (False, False, False)
    assert (found.manager, found.default_cr, found.associated_resources, found.resources) == (None, "", (), {})


def test_every_field_is_read() -> None:
    text = """
beta: true
internal: yes
requiresDowntime: True
securityScanEnabled: false
manager: {name: m, namespace: n, group: apps, version: v1, kind: Deployment}
associatedResources: [{group: g, version: v1, kind: K}]
resources: {b: 'https://x.example/b', a: 'https://x.example/a'}
labels: {n: 1, t: true, e: , d: 2024-01-02}
annotations: &same {x: y}
defaultCR: https://x.example/cr.yaml
"""
    found, wrong = read_config((LEAST + text).encode(), "c.yaml")
    assert wrong == []
    assert (found.beta, found.internal, found.requires_downtime, found.security_scan) == (True, True, True, False)
    assert found.manager == ConfigManager(GroupVersionKind("apps", "v1", "Deployment"), "m", "n")
    assert found.associated_resources == (GroupVersionKind("g", "v1", "K"),)
    assert found.resources == {"b": "https://x.example/b", "a": "https://x.example/a"}
    assert found.labels == {"n": "1", "t": "true", "e": "", "d": "2024-01-02"}, "as they are written, as in go-yaml"
    assert found.default_cr == "https://x.example/cr.yaml"
    assert found.lines["beta"] == LEAST.count("\n") + 2


NO_VERSION = "version is not a semantic version of three numbers: "


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("version", "'1.0'", f"2: {NO_VERSION}'1.0'"),
        ("version", "v1.0.0", f"2: {NO_VERSION}'v1.0.0'"),
        ("version", "' 1.0.0 '", f"2: {NO_VERSION}' 1.0.0 '"),
        ("version", "1.0.0-01", f"2: {NO_VERSION}'1.0.0-01'"),
        ("version", "", "2: version must not be empty"),
        ("version", "[1]", "2: version must be text, not a list"),
        ("version", f"1.0.0-{'a' * 130}", "2: version makes a tag of more than 128 characters"),
        ("name", "Kyma/x", "1: name must not have upper-case letters"),
        ("name", "sample", "1: name is invalid: 'sample' is not a component name"),
        ("manifest", "/m.yaml", "3: manifest must not be an absolute path: /m.yaml"),
        ("manifest", "http://x.io/m", "3: manifest 'http://x.io/m' is not an https address"),
        ("manifest", "''", "3: manifest must not be empty"),
        ("manifest", "'https://[x'", "3: manifest 'https://[x' is not a valid address"),
        ("team", "''", "5: team must not be empty when security scan is enabled"),
        ("documentation", "ftp://x", "6: documentation 'ftp://x' is not an https address"),
        ("documentation", "https:///x", "6: documentation 'https:///x' is not a valid address: it names no host"),
        ("  link", "", "9: icons[0].link must not be empty"),
        ("  link", "http://x", "9: icons[0].link 'http://x' is not an https address"),
    ],
)
def test_a_mistake_is_reported_with_its_line(field: str, value: str, expected: str) -> None:
    text, count = re.subn(rf"(?m)^{field}: .*$", lambda _: f"{field}: {value}", LEAST)
    assert count == 1
    assert problems(text) == [f"c.yaml:{expected}"]


MANAGER = "manager: {name: m, group: apps, version: v1"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("beta: 'true'", "beta must be true or false, not 'true'"),
        ("beta: [x]", "beta must be true or false, not a list"),
        ("labels: [x]", "labels must be a map, not a list"),
        ("labels: {x: [y]}", "labels.x must be text, not a list"),
        ("name: kyma-project.io/module/other", "key 'name' is a duplicate: already defined at line 1"),
        ("resources: [{name: a, link: 'https://x'}, {name: a, link: 'https://y'}]", "resources has two entries 'a'"),
        ("resources: [{link: 'https://x'}]", "resources[0].name must not be empty"),
        ("resources: {a: }", "resources.a has no link"),
        ("resources: {a: 'http://x'}", "resources.a 'http://x' is not an https address"),
        ("resources: text", "resources must be a map, not a value"),
        (f"{MANAGER}}}", "manager.kind must not be empty"),
        (f"{MANAGER}, kind: D, namespace: A_b}}", "manager.namespace is not a name of a namespace: 'A_b'"),
        ("manager: text", "manager must be a map, not a value"),
        ("associatedResources: [{group: g, kind: K}]", "associatedResources[0].version must not be empty"),
        ("associatedResources: {a: b}", "associatedResources must be a list, not a map"),
        ("? [a]\n: b", "the file is not valid YAML: a map or a list is a key"),
        ("a: [", "the file is not valid YAML: "),
        ("a: *gone", "the file is not valid YAML: "),
        ("- a", "icons[1] must be a map, not a value"),
    ],
)
def test_a_field_of_a_wrong_form_is_reported(more: str, expected: str) -> None:
    found = problems(f"{LEAST}{more}\n")
    assert any(expected in one for one in found), found


def test_all_mistakes_are_reported_together() -> None:
    found, wrong = read_config(b"beta: 1\n", "c.yaml")
    with pytest.raises(SourceProblemsError) as refused:
        require_no_errors(wrong)
    said = str(refused.value)
    for name in ("name", "version", "manifest", "repository", "team", "documentation", "icons", "beta"):
        assert f": {name} must" in said
    assert found.name == ""


@pytest.mark.parametrize(
    ("written", "read"),
    [
        *((one, True) for one in ("y", "Y", "yes", "Yes", "YES", "on", "On", "'yes'", "'Yes'", "True", "TRUE")),
        *((one, False) for one in ("n", "N", "no", "NO", "off", "'off'", "false", "~")),
        *((one, None) for one in ("'true'", "1", "t", "tRUE", "maybe")),
    ],
)
def test_booleans_are_written_as_for_modulectl(written: str, read: bool | None) -> None:
    found, wrong = read_config(f"{LEAST}beta: {written}\n".encode(), "c.yaml")
    assert (found.beta if not wrong else None) == read


@pytest.mark.parametrize(
    ("address", "is_valid"),
    [
        *(
            (f"https://h{one}", True)
            for one in (":99999/x", "/a b", "_x/y", "?a b", "?%zz", "#a b", "<>/", ":/x", "/{}")
        ),
        *((one, True) for one in ("https://u:p@h/x", "https://ä.de/x", "https://h%C3%A4/", "https://[::1]:80/x")),
        *(
            (f"https://h{one}", False)
            for one in (":port/x", "/%zz", "/\t", "#%zz", "%20x/y", " y/z", "{}/x", "^/x", "\\x/y")
        ),
        *(
            (one, False)
            for one in (" https://h/x", "https://u p@h/x", "https://[::1/x", "https://[::1]x/", "https://u%zz@h/")
        ),
        *((one, False) for one in ("https://a:b:80/", "https://::1/x", "https://h/a\x7f", "https://h/x%")),
    ],
)
def test_addresses_are_valid_as_for_modulectl(address: str, is_valid: bool) -> None:
    text = yaml.safe_dump({**CONFIG, "documentation": address}, sort_keys=False)
    assert (problems(text) == []) == is_valid


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n...\n", "~"])
def test_an_empty_config_lacks_everything(text: str) -> None:
    assert "c.yaml:1: name must not be empty" in problems(text)


def test_a_config_may_use_anchors_and_merges() -> None:
    text = f"{LEAST}base: &base {{beta: true, labels: {{a: b}}}}\n<<: *base\n"
    found, wrong = read_config(text.encode(), "c.yaml")
    assert wrong == []
    assert (found.beta, found.labels) == (True, {"a": "b"})


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize("text", ["a: " + "[" * 5000, "x" * (1024 * 1024 + 1), BOMB], ids=["deep", "large", "aliases"])
def test_a_hostile_config_is_refused(text: str) -> None:
    (found, *_) = problems(text)
    assert found.startswith("c.yaml")


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    read_config(text.encode("utf-8", "surrogatepass"), "c.yaml")


def test_real_configs(shared: Path) -> None:
    folder = shared / "kyma/module-config/modulectl-e2e/moduleconfig"
    valid = {path.name: problems(path.read_text()) for path in (folder / "valid").glob("*.yaml")}
    assert len(valid) > 20
    assert {name: found for name, found in valid.items() if found} == {}
    elsewhere = {"not-existing-security.yaml", "with-manifest-image-latest-or-main-tags.yaml", "with-security.yaml"}
    invalid = {path.name for path in (folder / "invalid").glob("*.yaml") if not problems(path.read_text())}
    assert invalid <= elsewhere, "their mistakes are in other files"


@pytest.mark.parametrize("field", ["name", "version", "manifest", "repository", "team", "labels", "manager"])
@pytest.mark.parametrize(
    "value",
    ["1" * 200_000, "a-" * 100_000, "1." * 100_000, "\x1b]0;x\x07" * 9],
    ids=["digits", "dashes", "dots", "controls"],
)
def test_a_hostile_value_costs_little_and_is_not_printed_as_it_is(field: str, value: str) -> None:
    config = {**CONFIG, field: {value: value} if field in ("labels", "manager") else value}
    found, wrong = read_config(yaml.safe_dump(config).encode(), "c.yaml")
    problems = Problems("c.yaml", lines=found.lines)
    lint_config(found, problems)
    for one in [*wrong, *problems.found]:
        assert len(str(one)) < 600
        assert "\x1b" not in str(one)
