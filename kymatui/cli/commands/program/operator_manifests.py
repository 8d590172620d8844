"""`kymatui operator manifests` and `crds`: print what the operator needs in a cluster. Nothing is sent."""

from __future__ import annotations

import argparse
import ipaddress
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from kymatui.cli.cluster_options import add_insecure_registries, add_option, add_options, add_output, read_duration
from kymatui.cli.commands.program.operator_options import (
    LOGGED,
    NAMESPACE,
    add_log_level,
    add_lookup_secrets,
    add_manifest_namespaces,
    add_shards,
    lookup_secrets,
    manifest_account,
    manifest_namespaces,
    read_controllers,
    require_shards,
)
from kymatui.cli.output.printing import print_text
from kymatui.errors import UsageError
from kymatui.operator.installation.deployment import DeploymentOptions, operator_objects
from kymatui.operator.installation.install import kyma_crds
from kymatui.operator.monitoring.log_levels import LogLevels
from kymatui.operator.program import OperatorOptions, purge_terms
from kymatui.operator.program_ports import agent_options, read_networks

_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]*")


def configure_manifests(parser: argparse.ArgumentParser) -> None:
    """Add the options that `operator` itself does not have, and the output format."""
    add_option(parser, "--image REFERENCE", "image of kymatui, with tag or digest", required=True)
    namespace = "namespace of Kymas and access Secrets (default: kcp-system; with --single-cluster: kyma-system)"
    add_options(parser, {"--namespace NAMESPACE": namespace}, argparse.SUPPRESS)
    configure_deployment(parser)
    add_insecure_registries(parser)
    add_output(parser, ("yaml", "json"))


def configure_deployment(parser: argparse.ArgumentParser, *, upgrade: bool = False) -> None:
    """Add the options of the operator's objects but the namespace; those of an `upgrade` have no defaults."""
    replicas = "the installed number" if upgrade else "2"
    text = f"number of Pods; without --shards one is active, the others stand by (default: {replicas})"
    add_options(parser, {"--replicas N": text}, 0 if upgrade else 2, int)
    options = {
        "--controllers NAMES": "controllers to run, separated by commas (default: all)",
        "--registry URL": "registry of the modules' components",
        "--restricted-modules NAMES": "modules that only Kymas with a matching kymaSelector get",
        "--listener-gateways CIDRS": "networks of the gateways that forward events; opens port 8082",
        "--watcher-image REFERENCE": "image of the runtime watcher's agent; lets the operator write certificates in "
        "istio-system",
        "--watcher-address HOST:PORT": "gateway of the control plane, to which the agents post events",
    }
    add_options(parser, options, argparse.SUPPRESS)
    add_manifest_namespaces(parser, argparse.SUPPRESS)
    add_lookup_secrets(parser, argparse.SUPPRESS)
    add_shards(parser, argparse.SUPPRESS)
    add_log_level(parser, argparse.SUPPRESS)
    single = "the control plane is also the only runtime; makes the operator cluster-admin"
    add_options(parser, {"--single-cluster": single}, argparse.SUPPRESS)
    configure_purge(parser, shared=True)
    options = {
        "--metrics-from SOURCES": "namespaces and networks (CIDR) whose Pods may read /metrics, separated by commas "
        "(default: none; probes of the kubelet always pass)",
        "--service-monitor": "add a ServiceMonitor, with which a Prometheus Operator scrapes; needs --metrics-from",
        "--prometheus-rule": "add a PrometheusRule: operator down, Kymas in Error, …",
    }
    add_options(parser, options, "")


def configure_purge(parser: argparse.ArgumentParser, *, shared: bool = False) -> None:
    """Add the options of the purge; `shared` ones have the defaults of `operator` itself."""
    add_option(
        parser,
        "--purge-grace DURATION",
        "after this time in deletion, finalizers of all custom resources in a Kyma's runtime are removed, so that "
        "they no longer block the deletion (default: never)",
        type=read_duration,
        default=argparse.SUPPRESS if shared else 0.0,
    )
    add_option(
        parser,
        "--skip-finalizer-purging-for CRDS",
        "CRDs whose objects keep their finalizers: PLURAL.GROUP or *.GROUP, separated by commas",
        default=argparse.SUPPRESS if shared else "",
    )


def configure_crds(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where Kymas are, and the output format."""
    options = {
        "--namespace NAMESPACE": "namespace of Kymas (default: kcp-system; with --single-cluster: kyma-system)",
        "--single-cluster": "the control plane is also the only runtime",
    }
    add_options(parser, options, argparse.SUPPRESS)
    add_output(parser, ("yaml", "json"))


def print_manifests(args: argparse.Namespace) -> int:
    """Print the objects. Raise UsageError, UnknownNameError."""
    return _print(operator_objects(deployment_options(args)), args.output)


def print_crds(args: argparse.Namespace) -> int:
    """Print the CRDs and the namespace of Kymas."""
    options = OperatorOptions(namespace=args.namespace or "", single_cluster=args.single_cluster)
    return _print(kyma_crds(options.kyma_namespace), args.output)


def _print(objects: Sequence[Mapping[str, Any]], output: str) -> int:
    if output == "json":
        print_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent=2))
    else:
        print_text(yaml.dump_all(objects, Dumper=_Plain, sort_keys=False, width=120).rstrip("\n"))
    return 0


class _Plain(yaml.SafeDumper):
    """YAML without anchors, which some readers of CRDs refuse."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def deployment_options(args: argparse.Namespace) -> DeploymentOptions:
    """Return the options of a command line. Raise UsageError, UnknownNameError, ConfigurationError."""
    require_image(args.image)
    if args.replicas < 1:
        raise UsageError("--replicas must be at least 1")
    require_shards(args.shards or 1)
    names = read_controllers(args)
    gateways = ",".join(str(network) for network in read_networks(args.listener_gateways))
    scrapers = tuple(read_sources(args.metrics_from))
    if args.service_monitor and not scrapers:
        raise UsageError(
            "--service-monitor needs --metrics-from: the NetworkPolicy lets no other Pod read /metrics",
            hint="name the namespace of Prometheus, e.g. --metrics-from monitoring",
        )
    purge_terms(args.purge_grace, args.skip_finalizer_purging_for, names, single=args.single_cluster)
    more = {
        "--registry": args.registry,
        "--restricted-modules": args.restricted_modules,
        "--purge-grace": f"{args.purge_grace:g}s" if args.purge_grace else "",
        "--shards": str(args.shards) if args.shards else "",
        "--skip-finalizer-purging-for": args.skip_finalizer_purging_for,
        "--lookup-secrets": ",".join(lookup_secrets(args)),
        "--log-level": str(LogLevels.parse(args.log_level, LOGGED)) if args.log_level else "",
    }
    plain = (f"--insecure-registry={host}" for host in dict.fromkeys(args.insecure_registry))
    home = OperatorOptions(namespace=args.namespace or "", single_cluster=args.single_cluster).kyma_namespace
    return DeploymentOptions(
        image=args.image,
        namespace=home,
        replicas=args.replicas,
        controllers=names,
        tenants=manifest_namespaces(args, home, names),
        account=manifest_account(args),
        gateways=gateways,
        scrapers=scrapers,
        single_cluster=args.single_cluster,
        agent=agent_options(args.watcher_image, args.watcher_address),
        arguments=[*(f"{option}={value}" for option, value in more.items() if value), *plain],
        monitor=args.service_monitor,
        alerts=args.prometheus_rule,
    )


def read_sources(text: str) -> Iterator[str]:
    """Yield namespaces and networks, which are separated by commas. Raise UsageError."""
    for part in filter(None, (text_part.strip() for text_part in text.split(","))):
        if NAMESPACE.fullmatch(part):
            yield part
            continue
        try:
            yield str(ipaddress.ip_network(part))
        except ValueError as error:
            raise UsageError(
                f'--metrics-from "{part}" is neither a namespace nor a network', hint="e.g. monitoring or 10.1.0.0/16"
            ) from error


def require_image(image: str) -> None:
    """Raise UsageError for what is no reference of an image."""
    if not _IMAGE.fullmatch(image):
        raise UsageError(f'--image "{image}" is not a reference', hint="e.g. registry.example.org/kymatui:0.1.0")
