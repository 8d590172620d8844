"""ModuleTemplates of both generations: which module and version they say they are, and what their schema refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.module_templates import ManagerRef, ModuleTemplate, TemplateGeneration, template_violations
from tests.domain.builders import Json, a_template, community_template, labels, old_template, template


def real(shared: Path, name: str) -> ModuleTemplate:
    return a_template(yaml.safe_load((shared / "kyma/moduletemplates" / name).read_text()))


@pytest.mark.parametrize(
    ("path", "module", "version", "generation"),
    [
        pytest.param(
            "community-current/cad-operator-0.1.0.yaml",
            "cloud-active-defense-operator",
            "0.1.1",
            TemplateGeneration.NEW,
            id="63 the content counts, not the file's name",
        ),
        pytest.param(
            "busola-fixtures/busola-1-0-32.yaml", "busola", "1.0.32", TemplateGeneration.NEW, id="63 nor the descriptor"
        ),
        pytest.param("busola-fixtures/eventing-fast.yaml", "eventing", "1.2.0", TemplateGeneration.OLD, id="old style"),
        pytest.param(
            "old-style/klm-2024-06_moduletemplate_template_operator_v2_fast.yaml",
            "template-operator",
            "2.4.2-e2e-test",
            TemplateGeneration.OLD,
            id="old style of 2024",
        ),
        pytest.param(
            "old-style/klm-2024-06_operator_v1beta2_moduletemplate_ocm.software.v3alpha1.yaml",
            "kyma-component-descriptors",
            "0.0.1",
            TemplateGeneration.OLD,
            id="a descriptor of schema v3alpha1",
        ),
    ],
)
def test_63_identity(path: str, module: str, version: str, generation: TemplateGeneration, shared: Path) -> None:
    found = real(shared, path)
    if "v3alpha1" in path:
        assert (found.component, found.component_version) != ("", "")
        return
    assert (found.module, found.version, found.generation) == (module, version, generation)


def test_63_a_name_that_breaks_the_convention(shared: Path) -> None:
    found = real(shared, "busola-fixtures/busola-1-0-32.yaml")
    assert not found.follows_convention
    assert found.conventional_name == "busola-1.0.32"
    assert found.component_version == "0.0.29"


@pytest.mark.parametrize(
    ("raw", "module"),
    [
        pytest.param(template("mod", "1.0.0", name="x"), "mod", id="the spec"),
        pytest.param(old_template("x", "mod", "fast", "1.0.0"), "mod", id="the label"),
        pytest.param(old_template("x", "mod", "fast", "1.0.0", labelled={}), "mod", id="the component"),
        pytest.param(
            old_template("mod-fast", "", "fast", "", labelled={}, descriptor={}),
            "mod",
            id="the name before the channel",
        ),
        pytest.param(template("", "1.0.0", name="mod-1.0.0"), "mod", id="the name before the version"),
        pytest.param(old_template("mod", "", "", "", labelled={}, descriptor={}), "mod", id="the name"),
    ],
)
def test_where_the_modules_name_comes_from(raw: Json, module: str) -> None:
    assert a_template(raw).module == module


def test_where_the_version_comes_from() -> None:
    annotated = old_template("x", "mod", "fast", "", descriptor={})
    annotated["metadata"]["annotations"] = {"operator.kyma-project.io/module-version": "3.0.0"}
    assert a_template(annotated).version == "3.0.0"
    assert a_template(old_template("x", "mod", "fast", "2.0.0")).version == "2.0.0"
    assert a_template(template("mod", "1.0.0")).version == "1.0.0"


def test_what_is_read() -> None:
    raw = template(
        "mod",
        "1.0.0",
        resources=[{"name": "rawManifest", "link": "https://x/y.yaml"}],
        associatedResources=[{"group": "g", "version": "v1", "kind": "K"}],
        info={"repository": "https://r", "documentation": "https://d"},
        requiresDowntime=True,
        somethingNew={"kept": 1},
    )
    found = a_template(raw)
    assert found.manager == ManagerRef(GroupVersionKind("apps", "v1", "Deployment"), "kyma-system", "mod-manager")
    assert [(link.name, link.address) for link in found.links] == [("rawManifest", "https://x/y.yaml")]
    assert found.associated == (GroupVersionKind("g", "v1", "K"),)
    assert (found.repository, found.documentation, found.requires_downtime) == ("https://r", "https://d", True)
    assert found.raw["spec"]["somethingNew"] == {"kept": 1}


def violations(**spec: Any) -> list[str]:
    return [str(flaw) for flaw in template_violations(a_template(template("mod", "1.0.0", **spec)))]


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"moduleName": "cluster-ip"}, "spec.moduleName"),
        ({"moduleName": "mod2"}, "spec.moduleName"),
        ({"version": "1.0"}, "spec.version"),
        ({"version": "1.0.0-rc.1"}, "spec.version"),
        ({"channel": "Fast"}, "spec.channel"),
        ({"channel": "ab"}, "spec.channel"),
        ({"customStateCheck": [{"jsonPath": "a", "value": "b", "mappedState": "Green"}]}, "mappedState"),
        ({"mandatory": "yes"}, "spec.mandatory"),
    ],
)
def test_63_and_40_what_the_schema_refuses(spec: dict[str, Any], path: str) -> None:
    content = {key: value for key, value in spec.items() if key not in ("moduleName", "version")}
    raw = template("mod", "1.0.0", **content)
    raw["spec"].update(spec)
    found = [str(flaw) for flaw in template_violations(a_template(raw))]
    assert len(found) == 1
    assert path in found[0]


def test_what_the_schema_lets_through() -> None:
    assert (
        violations(channel="fast", customStateCheck=[{"jsonPath": "a", "value": "b", "mappedState": "Unmanaged"}]) == []
    )


@pytest.mark.parametrize(
    ("value", "is_true"), [("true", True), ("True", True), ("TRUE", True), ("yes", False), ("", False)]
)
def test_12_labels_are_compared_without_case(value: str, is_true: bool) -> None:
    found = a_template(community_template("mod", "1.0.0", labelled=labels(beta=value, internal=value)))
    assert (found.beta, found.internal) == (is_true, is_true)
