"""Where the component of a template is: named by a person, by its own Manifest, or by all others."""

from __future__ import annotations

import pytest

from kymatui.actions.components.template_component import manifest_registry, template_location
from kymatui.errors import ConfigurationError
from kymatui.ocm import DescriptorError
from tests.domain import builders as b

KEDA = "kyma-project.io/module/keda"


def installed(module: str, repo: str, name: str = "raw-manifest") -> b.Json:
    found = b.manifest(module, "1.0.0")
    source = {"type": "oci-ref", "repo": repo, "name": name, "ref": "sha256:" + "0" * 64}
    found["spec"]["install"] = {"name": "raw-manifest", "source": source}
    return found


IN_ONE = f"reg.io/prod/component-descriptors/{KEDA}"


@pytest.mark.parametrize(
    ("manifests", "expected"),
    [
        ([], ""),
        ([installed("keda", "reg.io/prod/component-descriptors", KEDA)], "reg.io/prod"),  # lifecycle-manager's form
        ([installed("keda", IN_ONE)], "reg.io/prod"),
        ([installed("keda", f"https://{IN_ONE}")], "reg.io/prod"),
        ([installed("nats", IN_ONE.replace("keda", "nats"))], "reg.io/prod"),  # the only one that is known
        ([installed("nats", IN_ONE.replace("keda", "nats")), installed("a", IN_ONE.replace("reg", "b"))], "b.io/prod"),
        (
            [installed("x", "a.io/component-descriptors", "x.io/x"), installed("y", "b.io/component-descriptors", "y")],
            "",
        ),
        ([installed("keda", "reg.io/elsewhere")], ""),
        ([{"kind": "Manifest"}, b.manifest("keda", "1.0.0")], ""),
    ],
)
def test_manifests_name_the_registry(manifests: list[b.Json], expected: str) -> None:
    assert manifest_registry(manifests, KEDA) == expected


def test_a_person_has_precedence_and_what_is_unknown_is_named() -> None:
    template = b.a_template(b.template("keda", "1.0.0"))
    shelf = b.shelf(dict(template.raw), b.meta("keda", {"regular": "1.0.0"}))
    manifests = [installed("keda", IN_ONE)]
    assert str(template_location(template, shelf, manifests)) == f"reg.io/prod//{KEDA}:1.0.0"
    assert str(template_location(template, shelf, manifests, "https://own.io/x/")) == f"own.io/x//{KEDA}:1.0.0"
    with pytest.raises(ConfigurationError, match=f"the registry of {KEDA} is unknown"):
        template_location(template, shelf, [])
    with pytest.raises(ConfigurationError, match="names no component, and the ModuleReleaseMeta of keda has no"):
        template_location(template, b.shelf(dict(template.raw)), manifests)
    nameless = b.shelf(dict(template.raw), b.meta("keda", {"regular": "1.0.0"}, ocmComponentName="../../etc"))
    with pytest.raises(DescriptorError, match="is not a component name"):
        template_location(template, nameless, manifests)
