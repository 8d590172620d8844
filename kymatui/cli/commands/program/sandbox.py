"""`kymatui sandbox`: serve the embedded cluster to other tools, and make a running one misbehave."""

from __future__ import annotations

import argparse
from pathlib import Path

from kymatui.composition.sandbox import FAULTS, MAX_KYMAS, send_sandbox_fault, serve_sandbox
from kymatui.composition.sandbox_situations import SITUATIONS
from kymatui.errors import ConfigurationError, UsageError

_HIGHEST_PORT = 65_535


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action")
    _configure_up(actions.add_parser("up", help="serve until interrupted"))
    _configure_fault(actions.add_parser("fault", help="make a running sandbox misbehave"))
    _configure_situation(
        actions.add_parser("situation", help="bring about what a real lifecycle-manager was seen to leave behind")
    )


def _configure_up(parser: argparse.ArgumentParser) -> None:
    # the option of the front door names a kubeconfig to read; this one is written
    parser.add_argument(
        "--kubeconfig", metavar="FILE", dest="written_kubeconfig", required=True, help="where to write the kubeconfig"
    )
    parser.add_argument(
        "--port", type=int, default=0, metavar="N", help="default: a free one; the next cluster has N+1"
    )
    parser.add_argument(
        "--viewer-token", default="", metavar="T", help="token of a user in group viewers without rights"
    )
    parser.add_argument(
        "--clusters", default="kcp", metavar="NAMES", help="comma-separated, e.g. kcp,skr (default: kcp)"
    )
    parser.add_argument("--empty", action="store_true", help="without the sample world")
    parser.add_argument(
        "--load",
        action="append",
        default=[],
        metavar="PATH",
        help="YAML and JSON of a file, or of all in a folder, into the first cluster; may be given often",
    )
    parser.add_argument(
        "--fleet", type=int, metavar="N", help="make the first cluster a control plane with N Kymas (default: 13)"
    )
    parser.add_argument("--settled", action="store_true", help="be ready only when the sample world has come to rest")
    parser.set_defaults(perform=_up)


def _configure_fault(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("fault", choices=FAULTS, help="what happens")
    parser.add_argument(
        "--kubeconfig", metavar="FILE", dest="read_kubeconfig", required=True, help="the kubeconfig of the sandbox"
    )
    parser.add_argument("--context", metavar="NAME", dest="read_context", default="", help="default: the current one")
    parser.add_argument("--verb", default="", help="get, list, watch, create, update, patch, delete (default: any)")
    parser.add_argument(
        "--resource", default="", metavar="NAME", help='in full, e.g. "deployments.apps" (default: any)'
    )
    parser.add_argument("--in", dest="of_namespace", default="", metavar="NS", help="of one namespace")
    parser.add_argument("--name", default="", help="of one object")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long (latency), or Retry-After (throttle)")
    parser.add_argument("--count", type=int, default=0, help="how many requests (default: all)")
    parser.add_argument("--probability", type=float, default=1.0, help="of each request, above 0 up to 1")
    parser.add_argument("--token", default="", help="which token stops being valid (revoke-token, restore-token)")
    parser.add_argument("--finalizer", default="", help="which one nobody removes (hold)")
    parser.set_defaults(perform=_fault)


def _configure_situation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("situation", choices=SITUATIONS, help="see docs/guide/sandbox.md")
    parser.add_argument(
        "--kubeconfig", metavar="FILE", dest="read_kubeconfig", required=True, help="the kubeconfig of the sandbox"
    )
    parser.add_argument(
        "--context",
        metavar="NAME",
        dest="read_context",
        default="",
        help="of the Manifests (default: the current one)",
    )
    parser.set_defaults(perform=_situation)


def run(args: argparse.Namespace) -> int:
    if not getattr(args, "perform", None):
        raise UsageError("say what to do", hint="`kymatui sandbox up --kubeconfig FILE` serves a cluster")
    return int(args.perform(args))


def _up(args: argparse.Namespace) -> int:
    if not 0 <= args.port <= _HIGHEST_PORT:
        raise UsageError(f"there is no port {args.port}", hint=f"0 to {_HIGHEST_PORT}, 0 for a free one")
    names = [name.strip() for name in args.clusters.split(",") if name.strip()]
    if not names or len(set(names)) != len(names):
        raise UsageError(f"--clusters {args.clusters!r} does not name clusters", hint="for example: --clusters kcp,skr")
    if args.fleet is not None and not 0 <= args.fleet <= MAX_KYMAS:
        raise UsageError(f"--fleet {args.fleet} is no fleet", hint=f"0 to {MAX_KYMAS} Kymas")
    load = [Path(path) for path in args.load]
    for path in load:  # told before anything is served
        if not path.exists():
            raise ConfigurationError(f"{path} is not there", hint="--load takes files and folders.")
    return serve_sandbox(
        kubeconfig=Path(args.written_kubeconfig),
        clusters=names,
        port=args.port,
        viewer_token=args.viewer_token,
        empty=args.empty,
        load=load,
        settled=args.settled,
        fleet=args.fleet,
    )


_NEEDED = {"hold": ("resource", "name"), "release": ("resource", "name")}


def _fault(args: argparse.Namespace) -> int:
    missing = [f"--{name}" for name in _NEEDED.get(args.fault, ()) if not getattr(args, name)]
    if missing:
        raise UsageError(
            f"sandbox fault {args.fault} needs {', '.join(missing)}", hint="see `kymatui sandbox fault -h`"
        )
    given = {
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
    print(send_sandbox_fault(Path(args.read_kubeconfig), args.read_context, args.fault, given))
    return 0


def _situation(args: argparse.Namespace) -> int:
    from kymatui.composition.sandbox_situations import create_situation

    print(create_situation(Path(args.read_kubeconfig), args.read_context, args.situation))
    return 0
