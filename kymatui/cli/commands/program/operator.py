"""`kymatui reconcile manifest NAME`: the Manifest controller, until one Manifest needs nothing more."""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
import time
from pathlib import Path

from kymatui.cli.cluster_options import (
    add_cluster_options,
    add_duration,
    add_fetching,
    add_option,
    add_output,
    fetch_options,
)
from kymatui.cli.commands.program.operator_options import add_lookup_secrets, lookup_secrets
from kymatui.cli.options.unknown_names import require_namespace
from kymatui.cli.output.plan_changes import plan_document
from kymatui.cli.output.printing import print_line, print_text
from kymatui.cli.session_arguments import session_options_of
from kymatui.domain.kubernetes.object_meta import LABEL_SKIP
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.errors import ClusterError, ConfigurationError, PartlyDoneError, UnknownNameError
from kymatui.operator.manifest_context import connection_namespace, connection_target, open_manifest_context
from kymatui.operator.manifests.controller import ManifestReconciler, manifest_kind
from kymatui.operator.manifests.standalone_context import StandaloneContext
from kymatui.operator.manifests.standalone_pass import SOON


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "kind", "kind of the object", choices=("manifest",))
    add_option(
        parser, "name NAME", "name of the Manifest; -n sets its namespace (default: the context's, else kcp-system)"
    )
    add_duration(parser, "--timeout", "5m", "time limit of the whole wait")
    configure_fetching(parser)


def run(args: argparse.Namespace) -> int:

    context, namespace = _context(args)
    ref = ObjectRef(manifest_kind(context.home), namespace, args.name)
    if context.home.get(ref) is None:
        raise _unknown(context, ref)
    target = _say_target(context, namespace)
    words = _turns(context, ref, args.timeout)
    if args.output == "table":
        print_line(f"{ref}{words}")
    else:
        manifest = read_manifest(context.home.get(ref) or {})
        state = manifest.state if isinstance(manifest, Manifest) else None
        value = {"object": str(ref), "state": state, "words": f"{ref}{words}", "outcome": "done"}
        print_text(plan_document(target, value, args.output))
    return 0


def configure_fetching(parser: argparse.ArgumentParser) -> None:
    add_output(parser, ("table", "json", "yaml"))
    add_fetching(parser)
    add_option(
        parser,
        "--kustomizations DIR",
        "folder of kustomizations that Manifests may name by path (default: only by URL)",
    )
    add_lookup_secrets(parser, "")
    add_cluster_options(parser)


def _context(args: argparse.Namespace) -> tuple[StandaloneContext, str]:
    """Return the place of work and the namespace."""

    options, _ = session_options_of(args)
    folder = Path(args.kustomizations) if args.kustomizations else None
    if folder is not None and not folder.is_dir():
        raise ConfigurationError(f"--kustomizations {folder} is not a folder")
    secrets = lookup_secrets(args)
    context = open_manifest_context(options, fetch_options(args), folder=folder, secrets=secrets)
    require_namespace(context.home, args)
    return context, connection_namespace(context) or "kcp-system"


def _say_target(context: StandaloneContext, namespace: str) -> ClusterTarget:
    """Name the cluster on standard error before anything is reconciled."""

    target = connection_target(context, namespace)
    print_line(target.line, sys.stderr)
    return target


def _unknown(context: StandaloneContext, ref: ObjectRef) -> UnknownNameError:
    known: list[str] = []
    with contextlib.suppress(ClusterError):  # names only improve the message
        known = [str(body["metadata"]["name"]) for body in context.home.list(ref.kind, ref.namespace)]
    return UnknownNameError.near("Manifest", ref.name, known, where=f"in {ref.namespace} of {context.home.name}")


def _turns(context: StandaloneContext, ref: ObjectRef, timeout: float) -> str:
    """Reconcile until nothing more is needed; return what follows the Manifest's name in the answer."""

    reconciler, cancel = ManifestReconciler(context), threading.Event()
    deadline, last = time.monotonic() + timeout, ""
    while True:
        again = reconciler.reconcile(ref, cancel)
        manifest = read_manifest(context.home.get(ref) or {})
        if not isinstance(manifest, Manifest):
            return " deleted"
        if manifest.skipped:
            return f" skipped: it has the label {LABEL_SKIP}"
        words = f"{manifest.state}: {manifest.operation}"
        if words != last:
            print_line(words, sys.stderr)
            last = words
        if again is None:
            return f": {manifest.state}"
        if again > SOON:
            raise PartlyDoneError(f"{ref} is {manifest.state}: {manifest.operation}")
        if time.monotonic() + 1.0 > deadline:
            raise PartlyDoneError(
                f"{ref} is not finished within {timeout:g} s; {words}", hint="run the same command again to continue"
            )
        time.sleep(1.0)
