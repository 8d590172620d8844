"""`kymatui sandbox`: serve the embedded cluster to other tools, and make a running one misbehave."""

from __future__ import annotations

import argparse
from pathlib import Path

from kymatui.cli.cluster_options import add_duration, add_option, add_options
from kymatui.cli.output.printing import print_line, print_message, print_text
from kymatui.errors import ConfigurationError, UsageError
from kymatui.sandbox.door import FAULTS, MAX_KYMAS, send_sandbox_fault, serve_sandbox
from kymatui.sandbox.situations import SITUATIONS, create_situation

_HIGHEST_PORT = 65_535


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="subcommands", metavar="SUBCOMMAND", dest="action")
    for name, (text, configure_subcommand) in _SUBCOMMANDS.items():
        configure_subcommand(actions.add_parser(name, help=text, description=f"{text[:1].upper()}{text[1:]}."))


def _configure_up(parser: argparse.ArgumentParser) -> None:
    # the option of the front door names a kubeconfig to read; this one is written
    add_option(parser, "--kubeconfig FILE", "file to write the kubeconfig to", dest="written_kubeconfig", required=True)
    add_options(parser, {"--port N": "port of the first cluster, the next one has N+1 (default: a free port)"}, 0, int)
    add_options(parser, {"--viewer-token T": "token of a user in group viewers without permissions"}, "")
    add_option(parser, "--clusters NAMES", "names of the clusters, e.g. kcp,skr (default: sandbox; with --fleet: kcp)")
    add_option(parser, "--empty", "start without sample objects")
    add_option(
        parser,
        "--load PATH…",
        "create the objects of a YAML or JSON file, or of a folder, in the first cluster; repeatable",
    )
    add_options(parser, {"--fleet N": "make the first cluster a control plane with N Kymas (default: 13)"}, read=int)
    add_options(parser, {"--settled": "wait until all sample modules have reached their final state"})
    parser.set_defaults(perform=_up)


def _add_running_sandbox(parser: argparse.ArgumentParser, context: str) -> None:
    text = "kubeconfig of the sandbox"
    add_option(parser, "--kubeconfig FILE", text, dest="read_kubeconfig", required=True)
    add_option(parser, "--context NAME", context, dest="read_context", default="")


def _configure_fault(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "fault FAULT", f"one of {', '.join(FAULTS)}", choices=FAULTS)
    _add_running_sandbox(parser, "context of the cluster (default: current-context)")
    options = {
        "--verb VERB": "only requests with this verb: get, list, watch, create, update, patch, delete (default: any)",
        "--resource NAME": 'only this resource, e.g. "deployments.apps" (default: any)',
    }
    add_options(parser, options, "")
    add_option(parser, "--in NS", "only this namespace (default: any)", dest="of_namespace", default="")
    add_option(parser, "--name NAME", "only this object (default: any)", default="")
    add_duration(parser, "--seconds", "1s", "latency, or Retry-After of throttle")
    add_option(parser, "--count N", "number of requests (default: all)", type=int, default=0)
    add_options(parser, {"--probability P": "probability for each request, above 0 up to 1 (default: 1)"}, 1.0, float)
    options = {
        "--token TOKEN": "token to revoke or restore (revoke-token, restore-token)",
        "--finalizer FINALIZER": "finalizer that blocks the deletion (hold)",
    }
    add_options(parser, options, "")
    parser.set_defaults(perform=_fault)


def _configure_situation(parser: argparse.ArgumentParser) -> None:
    add_option(
        parser, "situation SITUATION", f"one of {', '.join(SITUATIONS)}; see docs/guide/sandbox.md", choices=SITUATIONS
    )
    _add_running_sandbox(parser, "context of the cluster with the Manifests (default: current-context)")
    parser.set_defaults(perform=_situation)


_SUBCOMMANDS = {
    "up": ("serve the sandbox until interrupted", _configure_up),
    "fault": ("inject a fault into a running sandbox", _configure_fault),
    "situation": ("reproduce a situation that was seen with a real lifecycle-manager", _configure_situation),
}


def run(args: argparse.Namespace) -> int:
    if not getattr(args, "perform", None):
        raise UsageError(
            "missing subcommand: up, fault or situation", hint="`kymatui sandbox up --kubeconfig FILE` serves a cluster"
        )
    return int(args.perform(args))


def _up(args: argparse.Namespace) -> int:
    if not 0 <= args.port <= _HIGHEST_PORT:
        raise UsageError(f"--port must be between 0 and {_HIGHEST_PORT}, not {args.port}", hint="0 takes a free port")
    clusters = args.clusters if args.clusters is not None else "sandbox" if args.fleet is None else "kcp"
    names = [name.strip() for name in clusters.split(",") if name.strip()]
    if not names or len(set(names)) != len(names):
        raise UsageError(
            f"--clusters needs different names, not {args.clusters!r}", hint="for example: --clusters kcp,skr"
        )
    if args.fleet is not None and not 0 <= args.fleet <= MAX_KYMAS:
        raise UsageError(f"--fleet must be between 0 and {MAX_KYMAS}, not {args.fleet}")
    load = [Path(path) for path in args.load]
    for path in load:  # told before anything is served
        if not path.exists():
            raise ConfigurationError(f"{path} does not exist", hint="--load takes files and folders")
    return serve_sandbox(
        kubeconfig=Path(args.written_kubeconfig),
        clusters=names,
        port=args.port,
        viewer_token=args.viewer_token,
        empty=args.empty,
        load=load,
        settled=args.settled,
        fleet=args.fleet,
        say=print_text,
        warn=print_message,
    )


_NEEDED = {"hold": ("resource", "name"), "release": ("resource", "name")}


def _fault(args: argparse.Namespace) -> int:
    missing = [f"--{name}" for name in _NEEDED.get(args.fault, ()) if not getattr(args, name)]
    if missing:
        raise UsageError(
            f"sandbox fault {args.fault} needs {', '.join(missing)}", hint="run `kymatui sandbox fault --help`"
        )
    fault = {
        "verb": args.verb,
        "resource": args.resource,
        "namespace": args.of_namespace,
        "name": args.name,
        "seconds": args.seconds,
        "count": args.count,
        "probability": args.probability,
        "token": args.token,
        "finalizer": args.finalizer,
    }
    print_text(send_sandbox_fault(Path(args.read_kubeconfig), args.read_context, args.fault, fault))
    return 0


def _situation(args: argparse.Namespace) -> int:
    print_line(create_situation(Path(args.read_kubeconfig), args.read_context, args.situation))
    return 0
