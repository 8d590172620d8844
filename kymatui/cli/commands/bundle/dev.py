"""`kymatui bundle dev DIR`: publish and reinstall a module on every save, on a sandbox or the current context."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import threading
from collections.abc import Iterator, Sequence

from kymatui.actions.components.stored_components import Publication, PushOutcome, find_component
from kymatui.actions.logs import LogState, LogStatus
from kymatui.actions.modules.install import plan_installs
from kymatui.actions.modules.install_plan import Adoption
from kymatui.actions.modules.module_sources import ModuleSource, find_installed
from kymatui.cli.cluster_options import add_duration, add_fetching, add_option, fetch_options
from kymatui.cli.commands.bundle.create import CONFIG, source_date_epoch
from kymatui.cli.commands.bundle.lint import problem_lines
from kymatui.cli.commands.modules.delete import delete_modules
from kymatui.cli.commands.modules.install_run import apply_installs
from kymatui.cli.options.direct_install import (
    CommandContext,
    add_clusters,
    add_git_override,
    cancellable,
    install_request,
    open_context,
    signals_handled,
)
from kymatui.cli.options.editing import confirm
from kymatui.cli.output.printing import print_line, print_message, print_text
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.kyma.problems import Severity
from kymatui.domain.logs.log_lines import PodLogLine, format_line
from kymatui.domain.logs.log_sources import LogSource
from kymatui.engine.bundles.bundle import Bundle
from kymatui.errors import (
    CancelledError,
    KymatuiError,
    PartlyDoneError,
    RefusedError,
    RegistryError,
    ServerError,
    ThrottledError,
    UnreachableError,
    UsageError,
)
from kymatui.ocm.component_location import NameMapping
from kymatui.publishing.config_reader import SourceProblem
from kymatui.publishing.create import Destination, publish_module
from kymatui.publishing.dev_loop import CycleEnd, ModuleFiles, ModuleFollower, run_dev_loop
from kymatui.publishing.lint import lint_module
from kymatui.publishing.lint_rules import ServerRules
from kymatui.publishing.module_build import BuildRequest, BuiltModule, build_module
from kymatui.publishing.places import alone_in, open_destination, open_sources

_SERVER_ERRORS = (RegistryError, UnreachableError, ServerError, ThrottledError)
"""What another attempt may mend without a save."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "folder DIR", "folder with the module config and its files (default: .)", nargs="?", default=".")
    add_option(parser, "-c --config-file FILE", f"module config, relative to DIR (default: {CONFIG})", default=CONFIG)
    group = parser.add_argument_group("where", "default: a sandbox that ends with the command")
    add_option(group, "--current-context", "install in the current context (or --context); asks first")
    add_option(group, "--keep", "keep the module installed at the end")
    add_option(group, "--direct", "install even if lifecycle-manager could manage the module")
    add_option(group, "--yes -y", "skip the confirmation")
    add_git_override(group)
    add_option(group, "--registry HOST", "registry to push to: HOST[:PORT][/PATH]", default="")
    add_option(group, "--overwrite", "replace a version of --registry that this command did not push")
    add_duration(parser, "--timeout", "2m", "time limit of each wait")
    add_fetching(group)
    add_clusters(parser)
    # the options of install and delete that an author's loop decides itself
    parser.set_defaults(
        force=False,
        prune=True,
        prune_definitions=False,
        prune_namespaces=False,
        policy="CreateAndDelete",
        no_backup=True,
        backup="",
        allow_downgrade=True,
        cascade=False,
        delete_crds=False,
        accept_unknown=False,
        way="let",
        dry_run=False,
        wait=False,
        output="table",
        verify=False,
        keyring="",
        public_key="",
        ca_cert="",
        signature="",
        issuer="",
        creates_namespace=True,
    )


def run(args: argparse.Namespace) -> int:
    """Return 0 after Ctrl-C, which is how the loop ends."""
    if args.keep and not args.current_context:
        raise UsageError("a sandbox ends with the command, so nothing can be kept", hint="use --current-context")
    if not args.current_context and (named := [name for name in _CLUSTER_OPTIONS if getattr(args, name, None)]):
        option = f"--{named[0].replace('_', '-')}"
        raise UsageError(f"{option} needs --current-context", hint="without it, a sandbox is started")
    config = os.path.join(args.folder, args.config_file)
    if not os.path.isfile(config):
        raise UsageError(f"{config} does not exist", hint="`kymatui bundle scaffold` writes one; -c names another file")
    with alone_in(config), _stoppable() as cancel, contextlib.ExitStack() as stack:
        is_sandbox = not args.current_context
        if is_sandbox or not args.registry:
            from kymatui.sandbox.door import start_sandbox  # a wing, which may be absent

            print_text("starting a sandbox")
            sandbox = stack.enter_context(start_sandbox(empty=True))
            args.insecure_registry = [*args.insecure_registry, sandbox.registry]
            if is_sandbox:
                args.kubeconfig = str(sandbox.kubeconfig)
                print_line(f"cluster   KUBECONFIG={sandbox.kubeconfig}")
        owns_registry = not args.registry
        registry = args.registry or sandbox.registry
        print_line(f"registry  {registry}")
        context = stack.enter_context(open_context(args))
        if is_sandbox:
            space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": KYMA_NAMESPACE}}
            context.cluster.apply(space)
        question = f"Reinstall the module of {args.folder} on every save"
        ending = "It stays installed" if args.keep else "It is deleted at the end"
        confirm(context.target, question, ending, yes=args.yes or is_sandbox)
        args.yes = True
        destination = open_destination(registry, "", NameMapping.URL_PATH, fetch_options(args))
        assert destination is not None
        loop = _DevRun(context, config, destination, cancel, owns_registry=owns_registry)
        try:
            run_dev_loop(ModuleFiles(config, loop.sources), loop.cycle, loop.follower.poll, loop.retrying, cancel.wait)
        except CancelledError:  # ctrl-c is how the loop ends
            if not cancel.is_set():
                raise
        finally:
            loop.clean_up(is_sandbox=is_sandbox)
    return 0


_CLUSTER_OPTIONS = ("kubeconfig", "context", "remote", "kcp_kubeconfig", "kcp_context")


@contextlib.contextmanager
def _stoppable() -> Iterator[threading.Event]:
    """Yield what Ctrl-C or SIGTERM sets; a second Ctrl-C ends the command at once."""
    with cancellable() as cancel, signals_handled(lambda *_: cancel.set(), signal.SIGTERM):
        yield cancel


class _DevRun:
    """The cycles of one run: lint, publish, install; and what they leave."""

    def __init__(
        self,
        context: CommandContext,
        config: str,
        destination: Destination,
        cancel: threading.Event,
        *,
        owns_registry: bool,
    ) -> None:
        self._place, self._args, self._config = context, context.args, config
        self._destination, self._owns_registry = destination, owns_registry
        self._cancel = cancel
        self.sources = open_sources(fetch_options(context.args))
        self.follower = ModuleFollower(context.cluster, _LogPrinter(), lambda words: print_line(sanitize(words)))
        self._pushed: dict[str, str] = {}  # digest by location
        self._installed: list[str] = []
        self._problems: Sequence[SourceProblem] = ()

    def cycle(self) -> CycleEnd:
        """Run one cycle; print what fails and wait, except for what makes the whole command useless."""
        try:
            module = self._built()
            if module is not None:
                location = self._published(module)
                self._install(module, location)
        except (CancelledError, _InstalledError):
            raise
        except KymatuiError as error:
            print_message(str(error), error.hint)
            if isinstance(error, _SERVER_ERRORS):
                return CycleEnd.RETRY
            print_text("waiting for the next save")
        else:
            if module is None:
                print_text("waiting for the next save")
        return CycleEnd.WAIT

    @staticmethod
    def retrying(seconds: float) -> None:
        print_line(f"trying again in {seconds:.0f} s, or at the next save")

    def _built(self) -> BuiltModule | None:
        """Return the module, None if it has errors, which are printed."""
        problems = lint_module(self._config, self.sources, ServerRules())
        broken = any(problem.severity is Severity.ERROR for problem in problems)
        if broken or problems != self._problems:
            print_text("\n".join(problem_lines(self._config, problems)))
        self._problems = problems
        if broken:
            return None
        build = BuildRequest(self._config, git=self._args.folder, epoch=source_date_epoch())
        return build_module(build, self.sources)

    def _published(self, module: BuiltModule) -> Publication:
        """Push the component. A version of a given registry is replaced only if this run pushed it, or on demand."""
        location = self._destination.location(module.config.name, module.config.version)
        overwrite = self._owns_registry or self._args.overwrite
        if not overwrite and str(location) in self._pushed:
            component = find_component(self._destination.store, location)
            overwrite = component is not None and component.digest == self._pushed[str(location)]
        done = publish_module(module, self._destination, overwrite=overwrite)
        if done.outcome is not PushOutcome.UNCHANGED:
            self._pushed[str(location)] = done.digest
        print_line(f"{done.outcome:<10}{done.location} {done.digest}")
        return done

    def _install(self, module: BuiltModule, done: Publication) -> None:
        name = module.config.short_name
        self._refuse_replacing(name)
        source = ModuleSource(component=done.location)
        request = install_request(self._place, name, source, "", Adoption.NEVER)
        requests = {name: request}
        items = plan_installs(self._place.port, requests)
        plan = items[0].plan
        if plan is not None and not plan.blockers and name not in self._installed:
            self._installed.append(name)  # from here on there may be something to delete
        apply_installs(self._place, "install", items, requests)
        if plan is not None:
            manager = module.config.manager
            ref = ObjectRef(manager.type, manager.namespace, manager.name) if manager is not None else None
            self.follower.follow(plan.bundle, _manager_in(plan.bundle, ref))

    def _refuse_replacing(self, name: str) -> None:
        """Raise an error if the module was installed before: it would be deleted at the end."""
        if name in self._installed or self._args.keep:
            return
        known = find_installed(self._place.cluster, name)
        if known is not None:
            raise _InstalledError(
                f"{name} {known.version} is installed in {self._place.target.name} already",
                hint=f"--keep upgrades it and leaves it; `kymatui delete {name}` deletes it",
            )

    # the end

    def clean_up(self, *, is_sandbox: bool) -> None:
        """Delete what was installed, and say what stays. Raise PartlyDoneError if something cannot be deleted."""
        self.follower.close()
        where = self._place.target.name
        names = ", ".join(self._installed)
        if self._pushed and not self._owns_registry:
            print_line(f"stays in the registry: {', '.join(self._pushed)}")
        if not self._installed:
            return
        if is_sandbox:
            print_line(f"the sandbox ends, and {names} with it")
            return
        if self._args.keep:
            print_line(f"{names} stays installed in {where}; `kymatui delete {names.replace(',', '')}` deletes it")
            return
        print_line(f"deleting {names} from {where}")
        self._args.wait = True
        try:
            delete_modules(self._place, self._installed)
        except KymatuiError as error:
            raise PartlyDoneError(
                f"{names} is still installed in {where}: {error}",
                hint=f"run `kymatui delete {names.replace(',', '')}`" + (f"; {error.hint}" if error.hint else ""),
            ) from error


class _InstalledError(RefusedError):
    """The module was installed before the command started."""


def _manager_in(bundle: Bundle, manager: ObjectRef | None) -> ObjectRef | None:
    """Return the manager as the bundle has it: a config may leave out its namespace."""
    if manager is None:
        return None
    same = (ref for ref in map(read_ref, bundle.objects) if (ref.kind, ref.name) == (manager.kind, manager.name))
    return next(same, None)


class _LogPrinter:
    """Implements `LogSink`: prints lines as they come, and each failure once."""

    def __init__(self) -> None:
        self._failures: dict[LogSource, LogStatus] = {}

    def add(self, lines: Sequence[PodLogLine]) -> None:
        print_text("\n".join(format_line(line, prefix=True) for line in lines))

    def report(self, source: LogSource, status: LogStatus) -> None:
        if status.state in (LogState.FORBIDDEN, LogState.FAILED) and self._failures.get(source) != status:
            self._failures[source] = status
            print_message(f"{source}: {status.state}: {status.message}")
