"""The words that the commands of direct installation share, and the way from them to a cluster and a bundle."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kymatui.actions.unknown_names import unknown_module
from kymatui.cli.cluster_options import (
    add_cluster_options,
    add_component_registry,
    add_duration,
    add_fetching,
    add_option,
    add_options,
    add_output,
    add_remote_options,
    fetch_options,
)
from kymatui.cli.options.chart_values import add_values, value_flags
from kymatui.cli.options.registry_options import component_source
from kymatui.cli.options.unknown_names import require_namespace
from kymatui.cli.output.printing import print_line, print_message
from kymatui.cli.session_arguments import open_chosen
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.domain.plans.direct_install import unknown_lists
from kymatui.domain.rights import role_hint
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import CancelledError, ForbiddenError
from kymatui.settings.config_file import load_settings

if TYPE_CHECKING:
    from kymatui.actions.modules.install_plan import Adoption, InstallRequest
    from kymatui.actions.modules.module_sources import ModuleSource
    from kymatui.actions.modules.signatures import SignatureOptions
    from kymatui.actions.session import Session
    from kymatui.domain.catalog.rows import Catalog, ModuleRow
    from kymatui.engine.deletion.deletion_state import DeletionState
    from kymatui.engine.jobs.run import Progress


FORMATS = ("table", "json", "yaml", "md")
LISTED: Final = 40.0
"""Seconds until what the cluster has not listed counts as unknown: longer than the silence that ends a list."""


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the options for the source of a module: by default the template of that name in the catalog."""
    group = parser.add_argument_group("source", "default: the ModuleTemplate of that name in the catalog")
    options = {
        "--version VERSION": "template or chart version to install (default: newest)",
        "--file PATH": "install raw YAML: a folder, or a file or archive[//FOLDER], also at an https:// URL",
        "--chart CHART": "install a chart: path, URL, oci://…, or a name with --repo",
        "--repo URL": "chart repository of --chart",
        "--kustomize PATH": "install a kustomization: a folder, or archive[//FOLDER] as a file or an https:// URL",
        "--component REF": "install a module from a component: HOST[:PORT][/PATH]//COMPONENT:VERSION, or layout:DIR//…",
    }
    add_options(group, options, "")
    add_component_registry(group, "with --verify")
    add_values(group)
    add_option(
        group,
        "--reset-values",
        "discard the values of the chart's release (default: merge the new values into them)",
        dest="keeps_values",
        action="store_false",
    )
    options = {
        "--skip-schema-validation": "do not check the values with the chart's schema",
        "--follow-links": "also follow symbolic links that lead out of the chart's repository",
    }
    add_options(group, options)
    _add_signers(parser)


def _add_signers(parser: argparse.ArgumentParser) -> None:
    """Add the options of signatures; each of them requires a valid one."""
    group = parser.add_argument_group(
        "signature", "any of these options requires a valid signature; nothing unsigned is used"
    )
    options = {
        "--verify": "verify a chart by its provenance, a module by its OCM component",
        "--keyring FILE": "OpenPGP certificates of chart signers",
        "--public-key FILE": "PEM public key of the module's signer",
        "--ca-cert FILE": "PEM root certificates of module signers, instead of --public-key",
        "--signature NAME": "signature to verify, if a module has several",
        "--issuer DN": "name that the signer's certificate must have (default: CN with the name of --signature)",
    }
    add_options(group, options, "")


def add_intent(parser: argparse.ArgumentParser) -> None:
    """Add the options for how a module is installed."""
    group = parser.add_argument_group("installation")
    add_option(group, "--direct", "install even if lifecycle-manager could manage it")
    add_option(
        group,
        "--force",
        "repair: overwrite fields of other field managers, and continue what helm left pending; see the plan",
    )
    add_option(
        group, "--no-prune", "keep objects that the new version no longer has", dest="prune", action="store_false"
    )
    text = "also create its ModuleTemplate there, so that kyma CLI and the dashboard list the module, e.g. default"
    add_option(group, "--template NAMESPACE", text, default="")
    options = {
        "--prune-definitions": "also delete CRDs that the new version no longer has, with all their objects",
        "--prune-namespaces": "also delete namespaces that the new version no longer has, with all their objects",
    }
    add_options(group, options)
    add_option(
        group,
        "--policy",
        "default CR: create it on the first installation, or ignore it (default: CreateAndDelete)",
        choices=("CreateAndDelete", "Ignore"),
        default="CreateAndDelete",
    )
    add_option(group, "--no-backup", "do not save deleted objects to a backup")
    add_option(group, "--allow-downgrade", "allow a version lower than the installed one")


def add_confirmation(parser: argparse.ArgumentParser, *, git: bool = True) -> None:
    """Add options for the plan and its confirmation; `git` for what Flux or Argo CD may apply again."""
    add_option(parser, "--dry-run", "print the plan, change nothing")
    add_option(parser, "--yes -y", "skip the confirmation")
    if git:
        add_git_override(parser)


def add_consent(parser: argparse.ArgumentParser, limit: str, *, git: bool = True) -> None:
    """Add options for confirmation, waiting and output; `limit` is the help of the time limit."""
    add_confirmation(parser, git=git)
    wait = parser.add_mutually_exclusive_group()
    add_option(wait, "--wait", "wait until the change is done (default)", dest="wait", default=True)
    add_option(wait, "--no-wait", "do not wait until the change is done", dest="wait", action="store_false")
    add_duration(parser, "--timeout", "5m", limit)
    add_output(parser, FORMATS)


def add_git_override(parser: argparse._ActionsContainer) -> None:
    """Add the option that changes here what comes from Git."""
    add_option(
        parser,
        "--override-gitops",
        "also change objects that Flux or Argo CD applies from Git, until they are applied again",
    )


def add_running(parser: argparse.ArgumentParser, *, remote: bool = True) -> None:
    """Add options for confirmation, waiting, output and cluster; with `remote`, those of a runtime too."""
    add_consent(parser, "time limit of each wait")
    add_fetching(parser)
    if remote:
        add_clusters(parser)
    else:
        add_cluster_options(parser)


def add_clusters(parser: argparse.ArgumentParser) -> None:
    """Add the options for the cluster: one, or a runtime of a control plane."""
    add_cluster_options(parser)
    add_remote_options(parser, remote="runtime of the control plane to work on: Kyma name, shoot or runtime ID")


class CommandContext:
    """A cluster to work on, with its catalog as it is now; of a runtime, with what its control plane says.

    memory  what was read of the catalog, for whoever reads it again
    """

    def __init__(self, args: argparse.Namespace, session: Session, namespace: str) -> None:
        from kymatui.sessions.install_port import SessionInstallPort

        self.args, self.session, self.namespace = args, session, namespace
        self._settings = load_settings(os.environ)
        fetch = fetch_options(args).with_registry(getattr(args, "registry", "") or self._settings.registry)
        self.port = SessionInstallPort(session, fetch)
        self.blobs, self.memory = self.port.blobs, self.port.cache

    @property
    def cluster(self) -> Cluster:
        return self.port.cluster

    @property
    def signers(self) -> SignatureOptions | None:
        """Return the required signature; None if no signature is required."""
        from kymatui.actions.modules.signatures import SignatureOptions

        args = self.args
        signers = SignatureOptions(args.keyring, args.public_key, args.ca_cert, args.signature, args.issuer)
        if not args.verify and signers == SignatureOptions():
            return None
        return (
            signers if signers.public_key or signers.roots else replace(signers, public_key=self._settings.public_key)
        )

    @property
    def source(self) -> ModuleSource:
        from kymatui.actions.modules.module_sources import ModuleSource

        args = self.args
        component, layout = component_source(args.component) if args.component else (None, "")
        return ModuleSource(
            file=args.file,
            chart=args.chart,
            kustomization=args.kustomize,
            component=component,
            layout=layout,
            repository=args.repo,
            version=args.version,
            keeps_values=args.keeps_values,
            checks_values=not args.skip_schema_validation,
            follows_links=args.follow_links,
            **value_flags(args),
        )

    @property
    def target(self) -> ClusterTarget:
        """Return the cluster, as plans and questions name it."""
        return self.session.target

    @property
    def catalog(self) -> Catalog:
        """Return the catalog as it is now."""
        from kymatui.actions.modules.install_plan import read_catalog

        return read_catalog(self.port)

    def require_row(self, catalog: Catalog, name: str, *command: str) -> ModuleRow:
        """Return the row of a module. Raise ForbiddenError where the user may not read whether it exists."""
        if (row := catalog.row(name)) is not None:
            return row
        lists = ", ".join(f"{kind} ({why})" for kind, why in unknown_lists(self.session.snapshot().feeds))
        refused = f"it is unknown whether {catalog.cluster} has the module {name}: {lists}"
        raise ForbiddenError(refused, hint=role_hint(*command), status=403)

    def require_module(self, state: DeletionState) -> None:
        """Raise UnknownNameError where neither the catalog nor the cluster has what was looked for."""
        if not state.has_manager and (catalog := self.catalog).row(state.module) is None:
            raise unknown_module(catalog, state.module)


@contextmanager
def open_context(args: argparse.Namespace, *, once: bool = False) -> Iterator[CommandContext]:
    """Open the cluster of a command line, listed; with `--remote` the runtime and its control plane.

    `once` says that the catalog as it is now is all that is wanted of it: whoever writes looks again on the way.
    """
    with (
        closing(open_chosen(args, elsewhere=True, once=once)) as session,
        no_changes_on_interrupt(),  # whoever writes does it within `cancellable`, which tells more
    ):
        session.start(lambda: None)
        # what is missing then is refused where it counts, see `refuse_managed`
        session.wait_complete(getattr(args, "listed_within", LISTED))
        if not getattr(args, "creates_namespace", False):
            require_namespace(session.cluster, args)
        yield CommandContext(args, session, getattr(args, "namespace", None) or "")


def install_request(
    context: CommandContext, name: str, source: ModuleSource, namespace: str, adoption: Adoption
) -> InstallRequest:
    """Return what a command line wants of one module."""
    from kymatui.actions.modules.install_plan import InstallRequest

    args = context.args
    return InstallRequest(
        name,
        source,
        namespace,
        force=args.force,
        prune=args.prune,
        prune_definitions=args.prune_definitions,
        prune_namespaces=args.prune_namespaces,
        policy=Policy(args.policy),
        adoption=adoption,
        direct=args.direct,
        allow_downgrade=getattr(args, "allow_downgrade", False),
        signers=context.signers,
        backup=not getattr(args, "no_backup", False),
        template=getattr(args, "template", ""),
    )


@contextmanager
def cancellable() -> Iterator[threading.Event]:
    """Set by Ctrl-C or SIGTERM, so that a run ends between two requests and says what is left; twice ends it at once.

    A closed terminal (SIGHUP) ends the process: nobody would read what is left, and the journal has it.
    """
    cancel, numbers = threading.Event(), list[int]()

    def stop(number: int, frame: object) -> None:
        numbers.append(number)
        if cancel.is_set():
            raise KeyboardInterrupt
        cancel.set()
        with suppress(OSError):  # nobody reads it any more
            print_message("stopping after the current request; press Ctrl-C again to stop now")

    try:
        with signals_handled(stop, *_stopping_signals()):
            yield cancel
    except CancelledError as error:
        _set_status(error, numbers)
        raise
    except KeyboardInterrupt:
        words = "interrupted; the last request may still take effect"
        stopped = CancelledError(words, hint="run the same command again to continue", is_at_once=True)
        _set_status(stopped, numbers)
        raise stopped from None


@contextmanager
def signals_handled(handler: Callable[[int, object], object], *numbers: int) -> Iterator[None]:
    """Handle signals for a block, and as before afterwards; only the main thread can."""
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, handler) for number in numbers} if is_main else {}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def _stopping_signals() -> tuple[int, ...]:
    """Return Ctrl-C, and SIGTERM unless the process was started to ignore it."""
    ends = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    return (signal.SIGINT, signal.SIGTERM) if ends else (signal.SIGINT,)


def _set_status(error: CancelledError, numbers: Sequence[int]) -> None:
    """Set the exit status that shells expect of the first signal."""
    if numbers:
        error.exit_code = 128 + numbers[0]


def waiting_note(words: str, actor: Actor | None) -> str:
    """Return what follows a line of progress: who acts next, "" where the line names them or says what to do."""
    if not actor or actor.value == "you" or actor.value in words:
        return ""
    return f" (waiting for {actor.value})"


class ProgressPrinter:
    """Says on standard error what happens, each thing once in a row."""

    def __init__(self) -> None:
        self._last = ""
        self._lock = threading.Lock()

    def __call__(self, progress: Progress) -> None:
        counts = progress.total and progress.done and progress.waits is None
        count = f"[{progress.done} of {format_count(progress.total, progress.unit)}] " if counts else ""
        about = f" {progress.about}" if progress.about else ""
        line = f"  {count}{sanitize(progress.message)}{about}{waiting_note(progress.message, progress.waits)}"
        with self._lock:
            if line != self._last:
                print_line(line, sys.stderr)
                self._last = line


@contextmanager
def no_changes_on_interrupt() -> Iterator[None]:
    """Turn an interrupt into an error which says that nothing was changed; for steps without writes."""
    try:
        yield
    except KeyboardInterrupt:
        raise CancelledError("interrupted; no changes made") from None
