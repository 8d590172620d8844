"""What `--help` displays beside the options: the groups of commands, and examples of each.

Read for help and for the reference pages only; no command needs it to run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kymatui.cli.command_table import COMMANDS
from kymatui.cli.output.printing import example_as_started
from kymatui.errors import nearest_names

GROUPS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        "read a cluster",
        ("catalog", "module", "checks", "versions", "events", "logs", "drift", "audit", "rights", "diagnose"),
    ),
    (
        "change what the Kyma requests",
        ("enable", "disable", "channel", "policy", "manage", "unmanage", "label", "edit"),
    ),
    ("work on what runs", ("restart", "unpause")),
    ("install directly", ("install", "upgrade", "pull", "plan", "apply", "check", "adopt", "manifest")),
    ("delete, restore and resume", ("delete", "finalizers", "restore", "resume")),
    ("control plane and runtimes", ("fleet", "matrix", "waits", "whatif", "compare", "sync", "windows", "watchers")),
    ("controllers", ("operator", "reconcile")),
    ("charts", ("helm",)),
    ("publish modules", ("bundle",)),
    ("try and set up", ("demo", "sandbox", "config", "completion", "version", "help")),
)

EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "catalog": (
        "kymatui catalog                         # every module with channel, versions, drift and state",
        "kymatui catalog -o json                 # for scripts; --schema prints its JSON Schema",
        "kymatui catalog --signed                # whether components are signed; --public-key verifies them",
        "kymatui catalog --remote RUNTIME        # of one runtime of a control plane",
    ),
    "module": ("kymatui module keda", "kymatui module keda -o yaml", "kymatui module keda --remote RUNTIME"),
    "checks": (
        "kymatui checks keda --explain           # each rule with the expected and the actual value",
        "kymatui checks keda --mode strict       # as documented, not as lifecycle-manager evaluates",
    ),
    "versions": (
        "kymatui versions keda                   # where each version is available",
        "kymatui versions keda 1.8.2             # what differs from the installed version, and who is affected",
        "kymatui versions keda 1.6.0 1.8.2 -o md",
    ),
    "events": ("kymatui events keda", "kymatui events keda --types Warning --watch"),
    "logs": (
        "kymatui logs keda                       # of the manager's Pods, in the order of their times",
        "kymatui logs keda -f --since 5m --timestamps",
        "kymatui logs keda -p                    # of the instance before the last restart",
        "kymatui logs keda --all --tail 20       # of every Pod of the module",
    ),
    "drift": (
        "kymatui drift                           # exit status 2 if a module drifts",
        "kymatui drift -o json --remote RUNTIME",
    ),
    "audit": (
        "kymatui audit",
        "kymatui audit --module keda --rule drift.fields",
        "kymatui audit explain image.tag         # what a rule means; `kymatui audit rules` lists them",
        "kymatui audit --remote                  # a whole fleet",
    ),
    "rights": (
        "kymatui rights                          # the lists that you may not read",
        "kymatui rights enable keda -o yaml      # the Role that lets you enable it, for an administrator",
        "kymatui rights install keda --as jane   # of another user, as an administrator",
        "kymatui rights delete keda --options=--cascade --remote skr-1 --on control-plane",
    ),
    "diagnose": (
        "kymatui diagnose keda                   # objects, events, logs, rights; secrets are hidden",
        "kymatui diagnose keda -o ticket.tgz --remote RUNTIME",
        "kymatui diagnose                        # all modules, without their installed objects",
    ),
    "enable": (
        "kymatui enable keda --dry-run           # print the plan, change nothing",
        "kymatui enable keda nats --channel fast",
        "kymatui enable keda --remote RUNTIME",
    ),
    "disable": (
        "kymatui disable keda --dry-run",
        "kymatui disable serverless --cascade    # also delete user objects that block it",
        "kymatui disable keda --yes --timeout 2m",
    ),
    "channel": (
        "kymatui channel istio fast",
        "kymatui channel istio default           # the channel of the Kyma",
        "kymatui channel istio fast --fleet --plan azure --dry-run",
        "kymatui channel istio fast --contexts 'prod-*' --allow-fleet-writes",
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
        "kymatui label beta=true --dry-run       # what the label installs and uninstalls",
        "kymatui label beta=true internal-       # set one, remove one",
    ),
    "edit": (
        "kymatui edit serverless                 # its module CR, in $KUBE_EDITOR or $EDITOR",
        "kymatui edit serverless --dry-run       # print the plan, change nothing",
        "kymatui edit --kyma --remote RUNTIME",
    ),
    "restart": (
        "kymatui restart keda                    # the Pods of its manager, as kubectl rollout restart does",
        "kymatui restart keda --all --dry-run    # every workload of the module; print the plan, change nothing",
        "kymatui restart keda --object Deployment/keda-operator-metrics-apiserver",
    ),
    "unpause": (
        "kymatui unpause keda                    # remove the skip label, resume its rollout, scale it up",
        "kymatui unpause --kyma --remote RUNTIME",
    ),
    "install": (
        "kymatui install registry-proxy --version 0.14.0 --dry-run",
        "kymatui install shop --chart oci://registry.example/charts/shop -n shop --set replicas=2",
        "kymatui install --component reg.example/modules//kyma-project.io/module/sample:1.0.0  # without a template",
        "kymatui install registry-proxy --force  # repair: overwrite fields of other managers",
    ),
    "upgrade": (
        "kymatui upgrade registry-proxy --dry-run",
        "kymatui upgrade docker-registry --version 0.11.0 --allow-downgrade     # back to an older version",
        "kymatui upgrade --all                   # everything outdated in one plan",
        "kymatui upgrade --all --contexts 'prod-*' --allow-fleet-writes         # in many clusters, first one canary",
    ),
    "pull": (
        "kymatui pull registry-proxy --catalog all-modules.yaml                 # into namespace default",
        "kymatui pull --all --catalog all-modules.yaml -n modules --dry-run",
    ),
    "plan": ("kymatui plan registry-proxy", "kymatui plan registry-proxy --out plan.json"),
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
        "kymatui adopt docker-registry           # change the owner, keep the version",
    ),
    "manifest": (
        "kymatui manifest keda --dry-run         # for kymatui's own operator",
        "kymatui manifest keda --version 1.5.0",
    ),
    "delete": (
        "kymatui delete keda --dry-run           # what is deleted, who deletes it, what blocks it",
        "kymatui delete keda --cascade           # also delete objects that users created",
        "kymatui delete keda nats --yes",
    ),
    "finalizers": (
        "kymatui finalizers keda                 # what blocks the deletion, and who set it",
        "kymatui finalizers keda --object shop/cart --remove keda.sh/finalizer --typed shop/cart",
    ),
    "resume": (
        "kymatui resume                          # the one interrupted job; several are listed",
        "kymatui resume keda --dry-run           # what is left of the job on keda",
        "kymatui resume --list -o json           # the interrupted jobs of all clusters",
        "kymatui resume --contexts               # the interrupted edit of several contexts",
    ),
    "restore": (
        "kymatui restore                         # the backups on this machine",
        "kymatui restore keda --dry-run          # from the last deletion of keda",
    ),
    "fleet": (
        "kymatui fleet",
        "kymatui fleet --module keda@1.5.0 --plan azure",
        "kymatui fleet --drifting -l kyma-project.io/region=eu-central-1 -o json",
        "kymatui fleet --contexts 'prod-*'       # without a control plane: the clusters of these contexts",
    ),
    "matrix": ("kymatui matrix", "kymatui matrix keda nats", "kymatui matrix --plan azure -o json"),
    "compare": (
        "kymatui compare RUNTIME                 # exit status 2 if a difference is not intended",
        "kymatui compare RUNTIME -o json",
    ),
    "sync": (
        "kymatui sync RUNTIME",
        "kymatui sync RUNTIME --label beta=true  # what the label would install and uninstall",
    ),
    "waits": (
        "kymatui waits                           # all runtimes, the worst first",
        "kymatui waits --region eu-central-1 -o json",
    ),
    "windows": ("kymatui windows", "kymatui windows RUNTIME --waiting"),
    "whatif": (
        "kymatui whatif -f catalog/                  # ModuleReleaseMetas, ModuleTemplates and Kymas",
        "kymatui whatif -f keda.yaml --module keda   # the runtimes behind a number, each with its reason",
        "kymatui whatif --delete ModuleTemplate/keda-1.5.0 --fail-on never",
        "kymatui whatif --fleet fleet.json.gz --git origin/main...HEAD catalog/ -o html",
    ),
    "watchers": ("kymatui watchers", "kymatui watchers RUNTIME -o json"),
    "operator": (
        "kymatui operator                        # until interrupted; a second one waits for the Lease",
        "kymatui operator run --registry https://registry.example.org/modules --workers 8",
        "kymatui operator run --controllers manifest --resync 10m",
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
    "bundle": (
        "kymatui bundle scaffold --module-team kyma/blue",
        "kymatui bundle lint",
        "kymatui bundle create --registry registry.example/modules",
        "kymatui bundle verify registry.example/modules//kyma-project.io/module/keda:1.6.0 --public-key kyma.pub",
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
        "kymatui config show theme               # one option",
        "kymatui config validate kymatui.toml",
    ),
    "completion": (
        "source <(kymatui completion bash)       # in ~/.bashrc",
        "source <(kymatui completion zsh)        # in ~/.zshrc, after compinit",
    ),
    "version": ("kymatui version", "kymatui version -o json"),
    "help": (
        "kymatui help delete                     # same as `kymatui delete --help`",
        "kymatui help exit-statuses              # `kymatui help` lists the topics",
    ),
}

TOP_EXAMPLES: Final = (
    "kymatui                                 # the modules of the current context",
    "kymatui --context prod-eu --read-only",
    "kymatui --remote                        # the fleet of a control plane",
)

SUBCOMMAND_EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "helm template": (
        "kymatui helm template my-release ./chart -f values.yaml --set image.tag=1.2",
        "kymatui helm template demo --repo https://charts.example.org --version 1.x --include-crds",
    ),
    "helm lint": ("kymatui helm lint ./chart", "kymatui helm lint ./chart --strict -f values.yaml"),
    "helm show": (
        "kymatui helm show values ./chart",
        "kymatui helm show chart oci://registry.example/charts/shop --version 1.2.0",
    ),
    "helm pull": (
        "kymatui helm pull demo --repo https://charts.example.org",
        "kymatui helm pull oci://registry.example/charts/shop --untar --untardir charts",
    ),
    "bundle scaffold": (
        "kymatui bundle scaffold --module-team kyma/blue --gen-default-cr",
        "kymatui bundle scaffold --module-team kyma/blue --module-name example.org/module/shop --directory shop",
    ),
    "bundle lint": (
        "kymatui bundle lint                      # exit status 2 if there are errors",
        "kymatui bundle lint -c config/module-config.yaml --strict -o json",
        "kymatui bundle lint --check-images --against registry.example/modules   # the last version there",
    ),
    "bundle template": (
        "kymatui bundle template registry.example//kyma-project.io/module/keda:1.6.0 --channel fast --release-meta -",
        "kymatui bundle template registry.example//kyma-project.io/module/keda:1.6.0 -o template.yaml",
    ),
    "bundle create": (
        "kymatui bundle create                    # template.yaml from module-config.yaml, nothing is pushed",
        "kymatui bundle create --registry registry.example/modules --channel fast --release-meta keda.yaml",
        "kymatui bundle create --layout ./layout --constructor constructor.yaml",
    ),
    "bundle dev": (
        "kymatui bundle dev                       # on a sandbox of its own, until Ctrl-C",
        "kymatui bundle dev ./keda --current-context --registry registry.example/dev",
        "kymatui bundle dev ./keda --current-context --keep   # the module stays installed",
    ),
    "bundle add": (
        "kymatui bundle add reg.example/keda:1.6.0 --layer charts.tar -t reg.example/keda:1.6.0-charts",
        "kymatui bundle add reg.example/keda:1.6.0 --label acme.org/checked=yes -t reg.example/checked/keda:1.6.0",
        "kymatui bundle add reg.example/keda:1.6.0 --layer sbom.json:application/spdx+json -t reg.example/keda:sbom",
    ),
    "bundle copy": (
        "kymatui bundle copy reg.example//kyma-project.io/module/keda:1.6.0 mirror.example/modules",
        "kymatui bundle copy reg.example//kyma-project.io/module/keda:1.6.0 tar:keda.tar --recursive",
        "kymatui bundle copy tar:keda.tar//kyma-project.io/module/keda:1.6.0 mirror.example/modules --recursive",
        "kymatui bundle copy reg.example/keda-manager:1.6.0 mirror.example --signatures",
    ),
    "bundle diff": (
        "kymatui bundle diff reg.example//kyma-project.io/module/keda:1.6.0 1.7.0",
        "kymatui bundle diff reg.example//a.io/module/keda:1.6.0 mirror.example//a.io/module/keda:1.6.0 -o json",
    ),
    "bundle list": (
        "kymatui bundle list registry.example/modules//kyma-project.io/module/keda",
        "kymatui bundle list tar:keda.tar",
    ),
    "bundle push": (
        "kymatui bundle push ./layout registry.example/modules   # what `bundle create --layout` wrote",
        "kymatui bundle push keda.tar mirror.example/modules     # what `bundle copy --recursive` wrote, with images",
    ),
    "bundle pull": (
        "kymatui bundle pull registry.example/modules//kyma-project.io/module/keda:1.6.0 --unpack ./keda",
        "kymatui bundle pull localhost:5000//a.io/module/keda:1.6.0 --unpack k --insecure-registry localhost:5000",
    ),
    "bundle show": (
        "kymatui bundle show registry.example/modules//kyma-project.io/module/keda:1.6.0",
        "kymatui bundle show registry.example/modules//kyma-project.io/module/keda:1.6.0 --descriptor",
    ),
    "bundle sign": (
        "kymatui bundle sign registry.example//acme.org/module/keda:1.6.0 --signature acme --private-key acme.key",
        "kymatui bundle sign registry.example//acme.org/module/keda:1.6.0 --signature acme --private-key -",
        "kymatui bundle sign --cosign registry.example/keda-manager:1.6.0 --private-key env://COSIGN_PRIVATE_KEY",
    ),
    "bundle verify": (
        "kymatui bundle verify registry.example//kyma-project.io/module/keda:1.6.0 --public-key acme.pub",
        "kymatui bundle verify registry.example//kyma-project.io/module/keda:1.6.0 --signature acme --ca-cert root.pem",
        "kymatui bundle verify --cosign registry.example/keda-manager:1.6.0 --public-key cosign.pub",
    ),
    "bundle where": (
        "kymatui bundle where kyma-project.io/module/keda:1.6.0 --registry registry.example/modules",
        "kymatui bundle where registry.example//kyma-project.io/module/keda:1.6.0 --mapping sha256-digest",
    ),
    "operator run": (
        "kymatui operator run --registry https://registry.example.org/modules",
        "kymatui operator run --single-cluster --registry http://localhost:5000 --interval 10s",
        "kymatui operator run --restricted-modules billing,audit --maintenance-policy policy.json",
    ),
    "operator install": (
        "kymatui operator install --image registry.example.org/kymatui:0.1.0 --dry-run",
        "kymatui operator install --image registry.example.org/kymatui:0.1.0 --single-cluster --yes",
        "kymatui operator install --image kymatui:0.1.0 --service-monitor --metrics-from monitoring -o json",
    ),
    "operator upgrade": (
        "kymatui operator upgrade --image registry.example.org/kymatui:0.2.0   # other options stay as installed",
        "kymatui operator upgrade --replicas 3 --dry-run",
    ),
    "operator uninstall": (
        "kymatui operator uninstall --dry-run     # Kymas, modules and CRDs stay",
        "kymatui operator uninstall --delete-kymas --delete-crds --yes",
    ),
    "operator handover": (
        "kymatui operator handover --from lifecycle-manager --dry-run",
        "kymatui operator handover --to lifecycle-manager --yes     # after `operator uninstall`, before it is started",
    ),
    "operator crds": (
        "kymatui operator crds                    # for kubectl apply -f -",
        "kymatui operator crds --single-cluster -o json",
    ),
    "operator manifests": (
        "kymatui operator manifests --image registry.example.org/kymatui:0.1.0   # for kubectl apply -f -",
        "kymatui operator manifests --image kymatui:0.1.0 --controllers watcher --replicas 1 -o json",
    ),
    "sandbox up": (
        "kymatui sandbox up --kubeconfig sandbox.yaml --settled",
        "kymatui sandbox up --kubeconfig sandbox.yaml --clusters kcp,skr --fleet 50",
        "kymatui sandbox up --kubeconfig sandbox.yaml --empty --load manifests/",
    ),
    "sandbox fault": (
        "kymatui sandbox fault latency --kubeconfig sandbox.yaml --seconds 2s",
        "kymatui sandbox fault error --kubeconfig sandbox.yaml --verb list --resource pods --count 3",
        "kymatui sandbox fault list --kubeconfig sandbox.yaml",
        "kymatui sandbox fault clear --kubeconfig sandbox.yaml",
    ),
    "sandbox situation": (
        "kymatui sandbox situation cr-stays --kubeconfig sandbox.yaml",
        "kymatui sandbox situation kyma-deleted --kubeconfig sandbox.yaml --context kcp",
    ),
}

SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "catalog": ("get", "ls", "modules"),
    "module": ("describe", "show", "get"),
    "audit": ("problems", "doctor", "findings"),
    "delete": ("uninstall", "remove", "rm"),
    "drift": ("diff", "outdated"),
    "check": ("verify", "diff"),
    "restore": ("backups", "backup"),
    "resume": ("continue", "jobs", "retry"),
    "upgrade": ("rollback", "downgrade", "undo", "update"),
    "channel": ("rollback", "downgrade", "undo"),
    "fleet": ("runtimes",),
    "windows": ("maintenance",),
    "whatif": ("simulate", "what-if", "preview"),
}
"""Words of other tools, by the command that does the same here: for "did you mean"."""


def commands_like(word: str, more: Iterable[str] = ()) -> list[str]:
    """Return the commands that do what other tools call so, else those that are spelled almost like a word."""
    same = [name for name, words in SYNONYMS.items() if word in words]
    return same or nearest_names(word, [*(command.name for command in COMMANDS), *more])


def format_examples(name: str) -> str:
    """Return the examples of a command, or of kymatui itself, as the end of its help."""
    lines = EXAMPLES.get(name) or SUBCOMMAND_EXAMPLES.get(name, ()) if name else TOP_EXAMPLES
    return "\n".join(["examples:", *(f"  {example_as_started(line)}" for line in lines)]) if lines else ""
