"""`kymatui operator`: the controllers of a control plane, until they are stopped."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from kymatui.cli.cluster_options import add_duration, add_option, add_options, fetch_options, read_duration
from kymatui.cli.commands.program.operator import configure_fetching
from kymatui.cli.commands.program.operator_handover import configure_handover, hand_over
from kymatui.cli.commands.program.operator_install import (
    configure_install,
    configure_uninstall,
    configure_upgrade,
    install_operator,
    uninstall_operator,
    upgrade_operator,
)
from kymatui.cli.commands.program.operator_manifests import (
    configure_crds,
    configure_manifests,
    configure_purge,
    print_crds,
    print_manifests,
)
from kymatui.cli.commands.program.operator_options import (
    LOGGED,
    add_log_level,
    add_manifest_namespaces,
    add_shards,
    lookup_secrets,
    manifest_account,
    manifest_namespaces,
    read_controllers,
    require_shards,
    split_names,
)
from kymatui.cli.options.direct_install import signals_handled
from kymatui.cli.options.unknown_names import require_namespace
from kymatui.cli.output.plan_changes import plan_document
from kymatui.cli.output.printing import print_line, print_text
from kymatui.cli.session_arguments import session_options_of
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.request_scope import RequestRate
from kymatui.errors import ConfigurationError, UsageError
from kymatui.operator.framework.controller import GroupReports, Reconciliation, RequeueIntervals
from kymatui.operator.manifest_context import connection_target
from kymatui.operator.monitoring.event_correlation import ObjectEvent
from kymatui.operator.monitoring.log_levels import LevelFile, LogLevels
from kymatui.operator.monitoring.metric_registry import MetricRegistry
from kymatui.operator.monitoring.operator_log import LogFormat, OperatorLog
from kymatui.operator.monitoring.operator_metrics import (
    METRICS,
    SHARD_HELD,
    WINDOWS_READ,
    WORKQUEUE_DEPTH,
    CircuitMetrics,
    Monitoring,
    ReconcileMetrics,
)
from kymatui.operator.monitoring.state_metrics import StateMetrics
from kymatui.operator.program import (
    CONTROLLERS,
    OperatorOptions,
    operator_context,
    operator_group,
    purge_terms,
    read_windows,
    refuse_lifecycle_manager,
)
from kymatui.operator.program_ports import ListenerOptions, ListenerPort, agent_options, monitoring_port

_INTERVALS: Final = {
    "kyma": ("success", "busy", "warning", "error"),
    "manifest": ("success", "busy", "warning", "error"),
    "mandatory-module": ("success",),
    "watcher": ("success",),
}
"""The options that lifecycle-manager has, too: --CONTROLLER-requeue-STATE-interval."""
_BY_CONTROLLER: Final = {"mandatory-module": "mandatory"}
_DEFAULTS: Final = {"mandatory": RequeueIntervals(success=30.0), "watcher": RequeueIntervals(success=60.0)}

_Action = tuple[str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], int]]
_ACTIONS: Final[Mapping[str, _Action]] = {
    "install": ("install the operator in a cluster", configure_install, install_operator),
    "upgrade": ("upgrade the operator in a cluster", configure_upgrade, upgrade_operator),
    "uninstall": ("delete the operator, keep Kymas and CRDs", configure_uninstall, uninstall_operator),
    "handover": (
        "let the operator continue what lifecycle-manager has installed, or the reverse",
        configure_handover,
        hand_over,
    ),
    "manifests": (
        "print the objects that run the operator in a cluster; apply `operator crds` first",
        configure_manifests,
        print_manifests,
    ),
    "crds": ("print the CRDs of Kyma, and the namespace of Kymas", configure_crds, print_crds),
}
"""Help, options and function of the subcommands besides `run`."""


def configure(parser: argparse.ArgumentParser) -> None:
    _configure_run(parser)
    actions = parser.add_subparsers(title="subcommands", metavar="[SUBCOMMAND]", dest="action")
    text = "reconcile until interrupted; the same as `kymatui operator`"
    run = actions.add_parser("run", help=text, description=f"{text[:1].upper()}{text[1:]}.")
    _configure_run(run)
    for name, (text, configure, _) in _ACTIONS.items():
        configure(actions.add_parser(name, help=text, description=f"{text[:1].upper()}{text[1:]}."))


def run(args: argparse.Namespace) -> int:
    if args.action in _ACTIONS:
        return _ACTIONS[args.action][2](args)
    options, fetch = _operator_options(args), fetch_options(args)
    session, _ = session_options_of(args)
    level_file = LevelFile(Path(args.log_level_file), LOGGED) if args.log_level_file else None
    levels = level_file.read() if level_file is not None else LogLevels.parse(args.log_level, LOGGED)
    log = OperatorLog(lambda line: print_line(line, sys.stderr), LogFormat(args.log_format), levels)
    registry = MetricRegistry(METRICS)
    metrics = ReconcileMetrics(registry)

    def decided(ref: ObjectRef, event: ObjectEvent) -> None:
        log.decided(ref, event)
        metrics.decided(ref, event)

    def finished(reconciliation: Reconciliation) -> None:
        log.finished(reconciliation)
        metrics.finished(reconciliation)

    context = operator_context(options, GroupReports(log.failed, log.news, finished), session, fetch, decided)
    context.guards.changed = CircuitMetrics(registry).changed
    services = [ListenerPort(listener, context, registry)] if (listener := _listener_options(args)) else []
    stop, hangup, received = threading.Event(), threading.Event(), list[int]()

    def end(number: int, _: object) -> None:
        received.append(number)  # nothing is written here: the thread that it interrupts may be writing
        stop.set()

    with contextlib.ExitStack() as handling:
        handling.enter_context(signals_handled(end, signal.SIGINT, signal.SIGTERM))
        if level_file is not None:
            handling.enter_context(signals_handled(lambda *_: hangup.set(), signal.SIGHUP))
        require_namespace(context.standalone.home, args)
        target = connection_target(context.standalone, "")
        log.head(target.line)
        monitoring = Monitoring(registry)
        if options.windows is not None:
            registry.set(WINDOWS_READ, 1)
        with monitoring_port(args.metrics, monitoring) as port:
            refuse_lifecycle_manager(context)
            if args.output != "table":
                print_text(plan_document(target, {"outcome": "started"}, args.output))
            names = ", ".join(options.controllers or CONTROLLERS)
            log.head(f"kymatui: reconciling {context.standalone.home.name}; controllers: {names}")
            more = [StateMetrics(context.standalone.home, options.kyma_namespace, registry)] if port else []
            if port:
                log.head(f"kymatui: metrics and probes on port {port}")
            group = operator_group(context, *more, services=services, registry=registry)
            registry.read_from(
                WORKQUEUE_DEPTH, lambda: {(name, name): float(count) for name, count in group.waiting().items()}
            )
            registry.read_from(SHARD_HELD, lambda: {(str(shard),): 1.0 for shard in group.held_shards()})
            monitoring.started()
            with log.running(
                stop,
                level_file,
                hangup,
                lambda: signal.Signals(received[0]).name if received else "the Lease or a controller has ended",
            ):
                group.run(stop)
    return 0


def _configure_run(parser: argparse.ArgumentParser) -> None:
    options = {
        "--controllers NAMES": f"controllers to run, separated by commas (default: {','.join(CONTROLLERS)})",
        "--registry URL": "registry of the modules' components: http://HOST:PORT or https://HOST[/PATH]",
        "--restricted-modules NAMES": "modules that only Kymas with a matching kymaSelector get, separated by commas",
        "--maintenance-policy FILE": "JSON file with the maintenance windows of updates with downtime",
        "--single-cluster": "the control plane is also the only runtime; no access Secrets",
    }
    add_options(parser, options, "")
    add_options(parser, {"--workers N": "objects that each controller reconciles in parallel (default: 4)"}, 4, int)
    add_manifest_namespaces(parser, "")
    add_shards(parser, None)
    rate = RequestRate()
    text = f"requests per second to the control plane, and to each runtime (default: {rate.qps:g})"
    add_options(parser, {"--k8s-client-qps N": text}, rate.qps, float)
    text = f"requests that may be sent in a burst (default: {rate.burst})"
    add_options(parser, {"--k8s-client-burst N": text}, rate.burst, int)
    add_duration(parser, "--resync", "30m", "interval for reconciling an unchanged Manifest that no Kyma owns")
    text = "serve /metrics, /healthz and /readyz on [HOST]:PORT, e.g. :8080 (default: not served)"
    add_options(parser, {"--metrics ADDRESS": text}, "")
    add_option(
        parser,
        "--log-format",
        "format of the log on standard error; json has object and reconcile id (default: text)",
        choices=[str(form) for form in LogFormat],
        default=str(LogFormat.TEXT),
    )
    add_log_level(parser, "")
    text = "file with such levels, in place of --log-level; read again when it changes, and after SIGHUP"
    add_options(parser, {"--log-level-file FILE": text}, "")
    configure_purge(parser)
    _configure_listener(parser)
    configure_fetching(parser)
    group = parser.add_argument_group("intervals")
    options = {"--interval DURATION": "value for all of the following intervals, e.g. 1s"}
    for name, states in _INTERVALS.items():
        defaults = _DEFAULTS.get(_BY_CONTROLLER.get(name, name), RequeueIntervals())
        for state in states:
            options[f"--{name}-requeue-{state}-interval DURATION"] = f"(default: {getattr(defaults, state):g}s)"
    add_options(group, options, read=read_duration)


def _configure_listener(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("events of runtimes")
    options = {
        "--listener ADDRESS": "receive events of runtimes' agents on [HOST]:PORT, e.g. :8082 (default: not served)",
        "--listener-gateways CIDRS": "networks of the gateways whose forwarded client certificates are trusted",
        "--watcher-image REFERENCE": "install this image of the runtime watcher's agent on runtimes",
        "--watcher-address HOST:PORT": "gateway of the control plane, to which the agents post events",
        "--listener-cert FILE": "serve TLS with this certificate (PEM)",
        "--listener-key FILE": "key of --listener-cert (PEM)",
        "--listener-ca FILE": "CA certificates that issue the certificates of runtimes (PEM)",
    }
    add_options(group, options, "")


def _operator_options(args: argparse.Namespace) -> OperatorOptions:
    """Return the options of a command line. Raise UsageError, ConfigurationError."""
    if args.workers < 1:
        raise UsageError("--workers must be greater than 0")
    require_shards(1 if args.shards is None else args.shards)
    if not (args.k8s_client_qps > 0 and args.k8s_client_burst >= 1):
        raise UsageError("--k8s-client-qps and --k8s-client-burst must be greater than 0")
    names = read_controllers(args)
    folder = Path(args.kustomizations) if args.kustomizations else None
    if folder is not None and not folder.is_dir():
        raise ConfigurationError(f"--kustomizations {folder} is not a folder")
    home = OperatorOptions(namespace=args.namespace or "", single_cluster=args.single_cluster).kyma_namespace
    return OperatorOptions(
        controllers=names,
        tenants=manifest_namespaces(args, home, names),
        account=manifest_account(args),
        secrets=lookup_secrets(args),
        namespace=args.namespace or "",
        registry=args.registry.rstrip("/"),
        restricted=frozenset(split_names(args.restricted_modules)),
        windows=read_windows(Path(args.maintenance_policy)) if args.maintenance_policy else None,
        single_cluster=args.single_cluster,
        intervals=_intervals(args),
        workers=args.workers,
        resync=args.resync,
        folder=folder,
        agent=agent_options(args.watcher_image, args.watcher_address),
        purge=purge_terms(args.purge_grace, args.skip_finalizer_purging_for, names, single=args.single_cluster),
        rate=RequestRate(args.k8s_client_qps, args.k8s_client_burst),
        shards=1 if args.shards is None else args.shards,
    )


def _listener_options(args: argparse.Namespace) -> ListenerOptions | None:
    """Return the options of the listener, None without one. Raise UsageError for options that need one."""
    more = (args.listener_gateways, args.listener_cert, args.listener_key, args.listener_ca)
    if args.listener:
        return ListenerOptions(args.listener, *more)
    if any(more):
        raise UsageError("--listener-gateways, -cert, -key and -ca need --listener", hint="e.g. --listener :8082")
    return None


def _intervals(args: argparse.Namespace) -> dict[str, RequeueIntervals]:
    """Return the intervals of each controller: `--interval`, then the controller's own options."""
    intervals = {}
    for name, states in _INTERVALS.items():
        controller = _BY_CONTROLLER.get(name, name)
        known = _DEFAULTS.get(controller, RequeueIntervals())
        known = known if args.interval is None else RequeueIntervals.every(args.interval)
        for state in states:
            seconds: float | None = getattr(args, f"{name}_requeue_{state}_interval".replace("-", "_"))
            if seconds is not None:
                known = known.with_interval(state, seconds)
        intervals[controller] = known
    return intervals
