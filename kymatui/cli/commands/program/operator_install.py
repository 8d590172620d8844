"""`kymatui operator install`, `upgrade` and `uninstall`: the operator in a cluster, as plans like every other."""

from __future__ import annotations

import argparse
import sys

from msgspec.structs import replace

from kymatui.actions.modules.module_sources import find_installed
from kymatui.cli.cluster_options import add_option, add_options, read_duration
from kymatui.cli.commands.modules.delete import delete_modules
from kymatui.cli.commands.modules.install_run import apply_installs
from kymatui.cli.commands.program.operator_manifests import configure_deployment, deployment_options, require_image
from kymatui.cli.options.direct_install import CommandContext, add_running, open_context
from kymatui.cli.output.plan_changes import plan_document
from kymatui.cli.output.printing import print_line, print_text
from kymatui.domain.inventories import Inventory
from kymatui.engine.deletion.operator_deletion import CRDS_RELEASE, OPERATOR_RELEASE
from kymatui.errors import RefusedError
from kymatui.operator.installation.deployment import DeploymentOptions
from kymatui.operator.installation.install import deployed_options, plan_own_operator

_INSTALL_HINT = "run `kymatui operator install --image REFERENCE`"


def configure_install(parser: argparse.ArgumentParser) -> None:
    """Add the options of the operator's objects and of a plan."""
    add_option(parser, "--image REFERENCE", "image of kymatui, with tag or digest", required=True)
    _configure_plan(parser)
    parser.set_defaults(creates_namespace=True)


def configure_upgrade(parser: argparse.ArgumentParser) -> None:
    """Add the options that an upgrade can change; the others stay as installed."""
    add_options(parser, {"--image REFERENCE": "image of kymatui (default: the installed image)"}, "")
    _configure_plan(parser, upgrade=True)


def _configure_plan(parser: argparse.ArgumentParser, *, upgrade: bool = False) -> None:
    configure_deployment(parser, upgrade=upgrade)
    add_option(parser, "--force", "overwrite fields of other field managers")
    add_running(parser, remote=False)


def configure_uninstall(parser: argparse.ArgumentParser) -> None:
    """Add what is deleted besides the operator, and the options of a plan."""
    options = {
        "--delete-kymas": "delete all Kymas first; the operator uninstalls their modules before it is deleted",
        "--delete-crds": "also delete Kyma's CRDs; those with objects are kept",
        "--accept-unknown": "assume that kinds you cannot list have no objects",
        "--no-backup": "delete without a backup",
    }
    add_options(parser, options)
    parser.set_defaults(backup=None, way="let")
    add_running(parser, remote=False)


def install_operator(args: argparse.Namespace) -> int:
    """Install the operator with exactly the given options. Return the exit status."""
    options = deployment_options(args)
    with open_context(args, once=args.dry_run) as context:
        return _carry_out(context, "install", options)


def upgrade_operator(args: argparse.Namespace) -> int:
    """Upgrade the operator; options that are not given stay as they are. Return the exit status."""
    with open_context(args, once=args.dry_run) as context:
        known = find_installed(context.cluster, OPERATOR_RELEASE, args.namespace or "")
        if known is None:
            raise RefusedError(f"the operator is not installed in {context.cluster.name}", hint=_INSTALL_HINT)
        return _carry_out(context, "upgrade", _changed_options(args, deployed_options(context.cluster, known)))


def _changed_options(args: argparse.Namespace, known: DeploymentOptions) -> DeploymentOptions:
    """Return the installed options with those of the command line instead."""
    arguments = {name.partition("=")[0]: name for name in known.arguments}
    agent = known.agent
    args = argparse.Namespace(**vars(args))
    if "--shards" in arguments:
        args.shards = args.shards or int(arguments["--shards"].partition("=")[2])
    args.image, args.namespace = args.image or known.image, known.namespace
    args.replicas = args.replicas or known.replicas
    args.controllers = args.controllers or ",".join(known.controllers)
    args.manifest_namespaces = args.manifest_namespaces or ",".join(known.tenants)
    args.manifest_service_account = args.manifest_service_account or known.account
    args.listener_gateways = args.listener_gateways or known.gateways
    args.metrics_from = args.metrics_from or ",".join(known.scrapers)
    args.single_cluster = args.single_cluster or known.single_cluster
    args.watcher_image = args.watcher_image or (agent.image if agent is not None else "")
    args.watcher_address = args.watcher_address or (agent.address if agent is not None else "")
    args.service_monitor = args.service_monitor or known.monitor
    args.prometheus_rule = args.prometheus_rule or known.alerts
    if args.skip_finalizer_purging_for and not args.purge_grace and "--purge-grace" in arguments:
        args.purge_grace = read_duration(arguments["--purge-grace"].partition("=")[2])
    hosts = (text.partition("=")[2] for text in known.arguments if text.startswith("--insecure-registry="))
    args.insecure_registry = [*hosts, *args.insecure_registry]
    changed = deployment_options(args)
    arguments.pop("--insecure-registry", None)
    for text in changed.arguments:
        arguments[text if text.startswith("--insecure-registry=") else text.partition("=")[0]] = text
    return replace(changed, arguments=tuple(arguments.values()))


def _carry_out(context: CommandContext, verb: str, options: DeploymentOptions) -> int:
    require_image(options.image)
    items = plan_own_operator(context.cluster, options, force=context.args.force)
    return apply_installs(context, verb, items, kind=f"operator {verb}")


def uninstall_operator(args: argparse.Namespace) -> int:
    """Delete the operator; CRDs and Kymas only if the options say so. Return the exit status."""
    args.cascade = args.delete_kymas
    with open_context(args, once=args.dry_run) as context:
        known = find_installed(context.cluster, OPERATOR_RELEASE, args.namespace or "")
        crds = find_installed(context.cluster, CRDS_RELEASE, args.namespace or "") if args.delete_crds else None
        names = [inventory.name for inventory in (known, crds) if inventory is not None]
        if not names:
            return _nothing_to_delete(context)
        context.namespace = _namespace(known, crds)
        return delete_modules(context, names, kind="operator uninstall", delete_kymas=args.delete_kymas)


def _namespace(*inventories: Inventory | None) -> str:
    return next(inventory.namespace for inventory in inventories if inventory is not None)


def _nothing_to_delete(context: CommandContext) -> int:
    words = f"the operator is not installed by kymatui in {context.cluster.name}; no changes made"
    if context.args.output in ("json", "yaml"):
        print_text(plan_document(context.target, {"modules": [], "outcome": "unchanged"}, context.args.output))
    print_line(words, sys.stdout if context.args.output in ("table", "md") else sys.stderr)
    return 0
