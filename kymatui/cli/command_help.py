"""What `--help` displays beside the options: the groups of commands, and examples of each.

Read for help and for the reference pages only; no command needs it to run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

GROUPS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("read a cluster", ("catalog", "module", "checks", "events", "drift", "audit")),
    (
        "change what the Kyma requests",
        ("enable", "disable", "channel", "policy", "manage", "unmanage", "label"),
    ),
    ("install directly", ("install", "upgrade", "plan", "apply", "check", "adopt", "manifest")),
    ("delete and restore", ("delete", "finalizers", "restore")),
    ("control plane and runtimes", ("fleet", "matrix", "compare", "sync", "windows", "watchers")),
    ("controllers", ("operator", "reconcile")),
    ("charts", ("helm",)),
    ("try and set up", ("demo", "sandbox", "config", "completion", "version", "help")),
)

EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "catalog": (
        "kymatui catalog                         # every module with channel, versions, drift and state",
        "kymatui catalog -o json                 # the same as a document; --schema describes it",
        "kymatui catalog --watch                 # print again whatever changes",
        "kymatui catalog --remote RUNTIME        # of one runtime behind a control plane",
    ),
    "module": (
        "kymatui module keda",
        "kymatui module keda -o yaml",
        "kymatui module keda --remote RUNTIME",
    ),
    "checks": (
        "kymatui checks keda --explain           # each rule, what it looked for and what it found",
        "kymatui checks keda --mode strict       # as documented, not as lifecycle-manager evaluates",
    ),
    "events": (
        "kymatui events keda",
        "kymatui events keda --types Warning --watch",
    ),
    "drift": (
        "kymatui drift                           # exit status 2 if a module has drifted",
        "kymatui drift -o json --remote RUNTIME",
    ),
    "audit": (
        "kymatui audit",
        "kymatui audit -o sarif --fail-on error",
        "kymatui audit explain image.tag         # what a rule means; `kymatui audit rules` lists them",
        "kymatui audit --remote                  # a whole fleet",
    ),
    "enable": (
        "kymatui enable keda --dry-run           # the plan, and nothing else",
        "kymatui enable keda nats --channel fast",
        "kymatui enable keda --remote RUNTIME",
    ),
    "disable": (
        "kymatui disable keda --dry-run",
        "kymatui disable serverless --cascade    # also the objects that would block its deletion",
        "kymatui disable keda --yes --timeout 120",
    ),
    "channel": (
        "kymatui channel istio fast",
        "kymatui channel istio default           # the channel of the Kyma",
        "kymatui channel istio fast --fleet --plan azure --dry-run",
    ),
    "policy": (
        "kymatui policy istio Ignore             # you delete the default CR yourself",
        "kymatui policy istio CreateAndDelete",
    ),
    "manage": ("kymatui manage istio", "kymatui manage istio --dry-run"),
    "unmanage": (
        "kymatui unmanage istio                  # keep it installed, stop updates",
        "kymatui unmanage istio --remote RUNTIME",
    ),
    "label": (
        "kymatui label beta=true --dry-run       # what that installs and uninstalls",
        "kymatui label beta=true internal-       # set one, remove one",
    ),
    "install": (
        "kymatui install registry-proxy --dry-run",
        "kymatui install registry-proxy --version 0.14.0",
        "kymatui install shop --chart oci://registry.example/charts/shop -n shop --set replicas=2",
        "kymatui install registry-proxy --force  # repair: overwrite what others wrote",
    ),
    "upgrade": (
        "kymatui upgrade registry-proxy --dry-run",
        "kymatui upgrade registry-proxy --version 0.14.0",
        "kymatui upgrade --all                   # everything outdated in one plan",
    ),
    "plan": (
        "kymatui plan registry-proxy",
        "kymatui plan registry-proxy --out plan.json",
    ),
    "apply": (
        "kymatui apply plan.json                 # refused if the cluster changed since the plan",
        "kymatui apply plan.json --yes",
    ),
    "check": (
        "kymatui check registry-proxy            # exit status 2 if a field differs",
        "kymatui check registry-proxy -o json",
    ),
    "adopt": (
        "kymatui adopt docker-registry --dry-run",
        "kymatui adopt docker-registry           # changes the owner, keeps the version",
    ),
    "manifest": (
        "kymatui manifest keda --dry-run         # for kymatui's own operator",
        "kymatui manifest keda --version 1.5.0",
    ),
    "delete": (
        "kymatui delete keda --dry-run           # what is deleted, by whom, and what blocks it",
        "kymatui delete keda --cascade           # also objects that users created",
        "kymatui delete keda nats --yes",
    ),
    "finalizers": (
        "kymatui finalizers keda                 # what blocks the deletion, and who set it",
        "kymatui finalizers keda --object shop/cart --remove keda.sh/finalizer --typed shop/cart",
    ),
    "restore": (
        "kymatui restore                         # the backups on this machine",
        "kymatui restore keda --dry-run          # from the newest backup of keda",
    ),
    "fleet": (
        "kymatui fleet",
        "kymatui fleet --module keda@1.4.0 --plan azure",
        "kymatui fleet --drifting -l region=eu-central-1 -o json",
        "kymatui fleet --group region",
    ),
    "matrix": ("kymatui matrix", "kymatui matrix --plan azure -o json"),
    "compare": (
        "kymatui compare RUNTIME                 # exit status 2 if a difference is not intended",
        "kymatui compare RUNTIME -o json",
    ),
    "sync": (
        "kymatui sync RUNTIME",
        "kymatui sync RUNTIME --label beta=true  # what that label would install and uninstall",
    ),
    "windows": (
        "kymatui windows",
        "kymatui windows RUNTIME --waiting",
    ),
    "watchers": ("kymatui watchers", "kymatui watchers RUNTIME -o json"),
    "operator": (
        "kymatui operator                        # until interrupted; a second one waits for its Lease",
        "kymatui operator --workers 8 --resync 600",
    ),
    "reconcile": (
        "kymatui reconcile manifest keda -n kcp-system",
        "kymatui reconcile manifest keda -n kcp-system -o json",
    ),
    "helm": (
        "kymatui helm template my-release ./chart -f values.yaml --set image.tag=1.2",
        "kymatui helm lint ./chart",
        "kymatui helm pull demo --repo https://charts.example.org",
    ),
    "demo": (
        "kymatui demo",
        "kymatui demo --remote                   # a control plane with a small fleet",
        "kymatui demo --check                    # test an installation in a few seconds",
    ),
    "sandbox": (
        "kymatui sandbox up --kubeconfig sandbox.yaml",
        "kymatui sandbox fault --help",
        "kymatui sandbox situation cr-stays --kubeconfig sandbox.yaml",
    ),
    "config": (
        "kymatui config path",
        "kymatui config show",
        "kymatui config validate kymatui.toml",
    ),
    "completion": (
        "source <(kymatui completion bash)       # in ~/.bashrc",
        "source <(kymatui completion zsh)        # in ~/.zshrc, after compinit",
    ),
    "version": ("kymatui version", "kymatui version -o json"),
    "help": (
        "kymatui help delete                     # as `kymatui delete --help`",
        "kymatui help exit-statuses              # `kymatui help` lists the topics",
    ),
}


def format_examples(name: str) -> str:
    """Return the examples of a command as the end of its help."""
    return "\n".join(["examples:", *(f"  {line}" for line in EXAMPLES[name])]) if name in EXAMPLES else ""
