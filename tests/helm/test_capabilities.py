"""Versions of Kubernetes as `--kube-version` takes them and as charts see them."""

from __future__ import annotations

import pytest

from kymatui.errors import HelmError
from kymatui.helm import Chart, render
from kymatui.helm.rendering.capabilities import KubeVersion


@pytest.mark.parametrize(
    ("given", "version", "printed", "major", "minor"),
    [
        ("v1.33.4", "v1.33.4", "v1.33.4", "1", "33"),
        ("1.33.4", "v1.33.4", "v1.33.4", "1", "33"),
        ("v1.22", "v1.22", "v1.22", "1", "22"),
        ("1.22.3.4", "v1.22.3.4", "v1.22.3.4", "1", "22"),
        ("v1.27.3-eks-x", "v1.27.3-eks-x", "v1.27.3", "1", "27"),
        ("v1.22.1+k3s1", "v1.22.1+k3s1", "v1.22.1", "1", "22"),
        ("1.22+", "v1.22+", "v1.22", "1", "22"),
        ("1.022", "v1.022", "v1.22", "1", "22"),
        (" 1.2 ", "v 1.2 ", "v1.2", "1", "2"),
        ("0.0", "v0.0", "v0.0", "0", "0"),
    ],
)
def test_what_follows_the_numbers_is_in_the_version_but_not_printed(
    given: str, version: str, printed: str, major: str, minor: str
) -> None:
    found = KubeVersion(given)
    assert (found.version, str(found)) == (version, printed)
    assert (found.read_field("Major"), found.read_field("Minor")) == (major, minor)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("1", 'illegal version string "1"'),
        ("1.x", 'illegal version string "1.x"'),
        ("V1.2", 'could not parse "V1.2" as version'),
        ("", 'could not parse "" as version'),
        ("v01.2", 'illegal zero-prefixed version component "01" in "v01.2"'),
        ("1.18446744073709551616", "value out of range"),
    ],
)
def test_what_is_no_version_is_refused(given: str, reason: str) -> None:
    with pytest.raises(HelmError) as caught:
        KubeVersion(given)
    assert str(caught.value).startswith(f"invalid kube version '{given}': ")
    assert reason in str(caught.value)


_STRUCT = "{v1.35.0-gke.1 v1.35.0 1 35}"
BUILT_IN = [  # what Helm v4.1.4 answers
    ("{{ index .Capabilities.KubeVersion }}", "v1.35.0"),
    ("{{ .Capabilities.KubeVersion | index }}", "v1.35.0"),
    ("{{ index (index .Capabilities.KubeVersion) }}", "v1.35.0"),
    ("{{ index (default 1 .Capabilities.KubeVersion) }}", _STRUCT),
    ("{{ print (index .Capabilities.KubeVersion) }}", _STRUCT),
    ("{{ html .Capabilities.KubeVersion }}", _STRUCT),
    ("{{ toToml .Capabilities.KubeVersion }}", 'Version = "v1.35.0-gke.1"\nMajor = "1"\nMinor = "35"\n'),
    ("{{ toJson .Capabilities.KubeVersion }}", '{"Version":"v1.35.0-gke.1","Major":"1","Minor":"35"}'),
    (
        '{{ dict "a" .Capabilities.HelmVersion | toToml }}',
        '[a]\n  Version = "v4.1"\n  GitCommit = ""\n  GitTreeState = ""\n  GoVersion = "go1.26.8"\n'
        '  KubeClientVersion = "v1.35"\n',
    ),
    ("{{ .Capabilities | toString | trunc 32 }}", "&{{v1.35.0-gke.1 v1.35.0 1 35} ["),
    ("{{ html .Capabilities | trunc 31 }}", "{{v1.35.0-gke.1 v1.35.0 1 35} ["),
    ('{{ define "x" }}{{ . }}{{ end }}{{ include "x" .Capabilities | trunc 31 }}', "{{v1.35.0-gke.1 v1.35.0 1 35} ["),
    ('{{ define "x" }}{{ deepCopy . }}{{ end }}{{ include "x" .Capabilities | trunc 24 }}', "{{v1.35.0-gke.1  1 35} ["),
    ("{{ toYamlPretty .Files }}", "f.txt:\n  - 104\n  - 105"),
    ('{{ toYamlPretty (toDate "2006" "2020") }}', "2020-01-01T00:00:00Z"),
    ('{{ deepEqual (semver "1.2.3") (semver "1.2.3") }}', "true"),
    ('{{ deepEqual (semver "1.2.3") (semver "v1.2.3") }}', "false"),
    ('{{ uniq (list (semver "1.2.3") (semver "1.2.3")) | len }}', "1"),
]


@pytest.mark.parametrize(("template", "text"), BUILT_IN)
def test_the_built_in_objects_print_as_in_helm(template: str, text: str) -> None:
    files = {"Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.2.3\n", "f.txt": "hi", "templates/t.txt": template}
    made = render(Chart.from_files(files), {}, release_name="r", namespace="n", kube_version="v1.35.0-gke.1")
    assert made.files["c/templates/t.txt"] == text
