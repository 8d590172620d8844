"""What runs the operator in a cluster: printed, as a chart, accepted by a server, and with least permissions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import kymatui
from kymatui.cli.main import main
from kymatui.domain.remote.watcher_agent import AgentOptions
from kymatui.errors import HelmError
from kymatui.helm.charts.chart import load_chart
from kymatui.helm.rendering.render import render
from kymatui.operator.installation.deployment import CONTROLLER_PERMISSIONS, DeploymentOptions, operator_objects
from kymatui.operator.installation.install import read_options
from kymatui.operator.monitoring.operator_metrics import METRICS
from kymatui.operator.program import CONTROLLERS

Json = dict[str, Any]
CHART = Path(__file__).resolve().parents[2] / "deploy" / "chart"
IMAGE = "registry.example.org/kymatui:0.1.0"


def identity(body: Json) -> tuple[str, str, str]:
    return body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"]


def objects(**more: Any) -> dict[tuple[str, str, str], Json]:
    return {identity(one): one for one in operator_objects(DeploymentOptions(IMAGE, "kcp-system", **more))}


def rendered(**values: Any) -> dict[tuple[str, str, str], Json]:
    found = render(load_chart(CHART), {"image": IMAGE, **values}, release_name="any", namespace="kcp-system")
    bodies = [one for part in found.manifests for one in yaml.safe_load_all(part.content) if one]
    return {identity(one): one for one in bodies}


@pytest.mark.parametrize(
    ("values", "more"),
    [
        ({}, {}),
        ({"replicas": 1, "singleCluster": True}, {"replicas": 1, "single_cluster": True}),
        (
            {
                "listenerGateways": ["10.1.0.0/16", "10.2.0.7/32"],
                "registry": "https://r.example/m",
                "restrictedModules": ["a", "b"],
                "purgeGrace": "5m",
                "skipFinalizerPurgingFor": ["things.example.org", "*.helm.cattle.io"],
            },
            {
                "gateways": "10.1.0.0/16,10.2.0.7/32",
                "arguments": [
                    "--registry=https://r.example/m",
                    "--restricted-modules=a,b",
                    "--purge-grace=5m",
                    "--skip-finalizer-purging-for=things.example.org,*.helm.cattle.io",
                ],
            },
        ),
        ({"watcher": {"image": "a:1", "address": "l.example:443"}}, {"agent": AgentOptions("a:1", "l.example:443")}),
        (
            {"serviceMonitor": True, "prometheusRule": True, "metricsFrom": ["monitoring", "10.1.0.0/16"]},
            {"monitor": True, "alerts": True, "scrapers": ("monitoring", "10.1.0.0/16")},
        ),
        ({"shards": 4, "replicas": 3}, {"arguments": ["--shards=4"], "replicas": 3}),
        ({"insecureRegistries": ["a:1", "b:2"]}, {"arguments": ["--insecure-registry=a:1", "--insecure-registry=b:2"]}),
        (
            {
                "manifestNamespaces": ["shop", "web"],
                "manifestServiceAccount": "deployer",
                "lookupSecrets": ["shop/db", "web/*"],
                "logLevel": "info,manifest=debug",
            },
            {
                "tenants": ("shop", "web"),
                "account": "deployer",
                "arguments": ["--lookup-secrets=shop/db,web/*", "--log-level=info,manifest=debug"],
            },
        ),
    ],
    ids=["defaults", "single cluster", "listener", "agent", "monitoring", "shards", "registries", "manifests"],
)
def test_the_chart_renders_what_is_printed(values: Json, more: Json) -> None:
    chart, printed = rendered(**values), objects(**more)
    assert sorted(chart) == sorted(printed)
    for key, body in printed.items():
        assert chart[key] == body, key


@pytest.mark.parametrize(
    "values",
    [
        {"image": ""},
        {"replicas": 0},
        {"shards": 65},
        {"registry": "r.example"},
        {"replica": 3},
        {"serviceMonitor": True},
        {"metricsFrom": ["Monitoring"]},
        {"manifestNamespaces": ["a b"]},
        {"manifestServiceAccount": ""},
        {"lookupSecrets": ["db"]},
        {"logLevel": "loud"},
    ],
)
def test_the_chart_refuses_values_that_cannot_work(values: Json) -> None:
    with pytest.raises(HelmError):
        rendered(**values)


def test_a_pod_may_do_little() -> None:
    pod = objects()["Deployment", "kcp-system", "kymatui-operator"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert set(container["resources"]) == {"requests", "limits"}
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"


def admitted(port: int, **more: Any) -> list[Json]:
    """The sources from which the NetworkPolicy lets in to a port; one without sources lets all in."""
    (policy,) = [one for one in objects(**more).values() if one["kind"] == "NetworkPolicy"]
    rules = [rule for rule in policy["spec"]["ingress"] if port in [one["port"] for one in rule["ports"]]]
    assert "Ingress" in policy["spec"]["policyTypes"]
    assert all(rule["from"] for rule in rules)
    return [source for rule in rules for source in rule["from"]]


def test_metrics_are_open_only_to_whom_the_network_policy_names() -> None:
    assert admitted(8080) == []
    assert admitted(8080, gateways="10.1.0.0/16") == []
    assert admitted(8080, scrapers=("monitoring", "10.1.0.0/16")) == [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}},
        {"ipBlock": {"cidr": "10.1.0.0/16"}},
    ]
    assert admitted(8082, scrapers=("monitoring",)) == []


def rules(**more: Any) -> list[tuple[str, str, str, str]]:
    """Scope, group, resource and verb of everything that is allowed."""
    return [
        (identity(body)[1], group, resource, verb)
        for body in objects(**more).values()
        for rule in body.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


KYMA_GROUP = "operator.kyma-project.io"


@pytest.mark.parametrize("more", [{}, {"gateways": "10.1.0.0/16", "tenants": ("shop", "web")}])
def test_kymas_and_manifests_are_reached_only_in_the_namespaces_that_are_named(more: Json) -> None:
    found = rules(**more)
    named = {"kcp-system", *more.get("tenants", ())}
    assert {scope for scope, group, resource, _ in found if group == KYMA_GROUP and resource == "kymas"} == {
        "kcp-system"
    }
    for resource in ("manifests", "manifests/status", "events"):
        assert {scope for scope, _, name, _ in found if name == resource} == named
    assert {(group, resource) for scope, group, resource, _ in found if not scope} == {
        ("apiextensions.k8s.io", "customresourcedefinitions")
    }


def test_only_the_named_service_account_of_a_named_namespace_may_be_impersonated() -> None:
    assert not [rule for rule in rules() if "impersonate" in rule]
    impersonating = [
        (identity(body)[1], rule)
        for body in objects(tenants=("shop", "web"), account="deployer").values()
        for rule in body.get("rules", ())
        if "impersonate" in rule["verbs"]
    ]
    rule = {
        "apiGroups": [""],
        "resources": ["serviceaccounts"],
        "verbs": ["impersonate"],
        "resourceNames": ["deployer"],
    }
    assert impersonating == [("shop", rule), ("web", rule)]


def test_permissions_name_every_verb_and_secrets_only_at_home() -> None:
    found = rules()
    assert not [one for one in found if "*" in one]
    assert {scope for scope, _, resource, _ in found if resource == "secrets"} == {"kcp-system"}
    assert {verb for _, _, resource, verb in found if resource == "secrets"} == {"list", "watch"}
    assert ("", "operator.kyma-project.io", "watchers", "delete") not in found


def test_controllers_that_do_not_run_have_no_permissions() -> None:
    found = rules(controllers=("watcher",))
    resources = {resource for scope, group, resource, _ in found if group == "networking.istio.io"}
    assert resources == {"gateways", "virtualservices"}
    assert not [one for one in found if one[2] in ("secrets", "kymas/status", "customresourcedefinitions")]


def test_every_controller_declares_its_permissions() -> None:
    assert set(CONTROLLERS) <= set(CONTROLLER_PERMISSIONS)


def test_the_command_prints_yaml_and_json_and_refuses_wrong_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operator", "manifests", "--image", IMAGE]) == 0
    assert {identity(one): one for one in yaml.safe_load_all(capsys.readouterr().out)} == objects()
    assert main(["operator", "manifests", "--image", IMAGE, "-o", "json", "--listener-gateways", "10.0.0.7"]) == 0
    listed = json.loads(capsys.readouterr().out)["items"]
    assert {identity(one): one for one in listed} == objects(gateways="10.0.0.7/32")
    assert main(["operator", "manifests", "--image", IMAGE, "--insecure-registry", "a:1"]) == 0
    printed = {identity(one): one for one in yaml.safe_load_all(capsys.readouterr().out)}
    assert printed == objects(arguments=["--insecure-registry=a:1"])
    for wrong in (
        ("--image", "two words"),
        ("--image", IMAGE, "--replicas", "0"),
        ("--image", IMAGE, "--controllers", "wacher"),
        ("--image", IMAGE, "--registry", "r.example"),
        ("--image", IMAGE, "--service-monitor"),
        ("--image", IMAGE, "--metrics-from", "10.0.0.7/8"),
        ("--image", IMAGE, "--metrics-from", "a_b"),
        ("--image", IMAGE, "--manifest-namespaces", "a_b"),
        ("--image", IMAGE, "--lookup-secrets", "db"),
        ("--image", IMAGE, "--lookup-secrets", "*/*"),
        ("--image", IMAGE, "--manifest-namespaces", "shop,kcp-system"),
        ("--image", IMAGE, "--manifest-namespaces", "shop", "--controllers", "kyma"),
        ("--image", IMAGE, "--manifest-namespaces", "shop", "--manifest-service-account", "a:b"),
    ):
        assert main(["operator", "manifests", *wrong]) == 64, wrong


def test_an_upgrade_finds_the_options_in_the_deployment() -> None:
    for more in (
        {},
        {
            "replicas": 3,
            "controllers": ("kyma", "manifest"),
            "tenants": ("shop", "web"),
            "account": "deployer",
            "gateways": "10.1.0.0/16,10.2.0.7/32",
            "scrapers": ("monitoring", "10.1.0.0/16"),
            "agent": AgentOptions("a:1", "l.example:443"),
            "arguments": ("--registry=https://r.example/m?a=b", "--restricted-modules=a,b"),
            "monitor": True,
            "alerts": True,
        },
        {"single_cluster": True},
    ):
        options = DeploymentOptions(IMAGE, "kcp-system", **more)
        made = {one["kind"]: one for one in operator_objects(options)}
        deployment, policy = made["Deployment"], made["NetworkPolicy"]
        assert read_options(deployment, policy, monitor=options.monitor, alerts=options.alerts) == options


def test_alerts_name_metrics_that_the_operator_has() -> None:
    spec = objects(alerts=True)["PrometheusRule", "kcp-system", "kymatui-operator"]["spec"]
    rules = [rule for group in spec["groups"] for rule in group["rules"]]
    named = {name for rule in rules for name in re.findall(r"([a-z_]+)\{", rule["expr"])}
    assert named - {"up"} <= {metric.name for metric in METRICS}
    assert len(named) == 6
    assert {rule["labels"]["severity"] for rule in rules} == {"critical", "warning"}
    (monitor,) = [one for one in objects(monitor=True).values() if one["kind"] == "ServiceMonitor"]
    (service,) = [one for one in objects().values() if one["kind"] == "Service"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] in [port["name"] for port in service["spec"]["ports"]]


def test_the_chart_has_the_programs_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == kymatui.__version__
