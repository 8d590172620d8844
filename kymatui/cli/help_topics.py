"""The topics of `kymatui help TOPIC`: what holds for many commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

_ACCESS: Final = """\
kymatui finds the cluster like kubectl: --kubeconfig, $KUBECONFIG (several files), ~/.kube/config, or the service
account inside a Pod. --context selects a context, -n a namespace.

Credential plugins run as for kubectl: what they print appears immediately, and they get the terminal unless their
interactiveMode is Never. A login may take 10 minutes (KYMATUI_LOGIN_TIMEOUT in seconds), beside the --timeout.
Proxies come from the kubeconfig (proxy-url) or from HTTPS_PROXY, HTTP_PROXY and NO_PROXY, as Go programs read them.

With --remote RUNTIME the cluster is a control plane (--kcp-kubeconfig, --kcp-context). kymatui reads the kubeconfig of
the runtime from its access Secret; --skr-kubeconfig and --skr-context replace it."""

_READ_ONLY: Final = """\
--read-only, KYMATUI_READ_ONLY=1 and read_only in the configuration have the same effect: kymatui sends only GET and
HEAD requests, and reviews of your own permissions and your name (SelfSubjectAccessReview, SelfSubjectRulesReview,
SelfSubjectReview). A command that would write exits with status 4 and sends nothing; --dry-run still prints the plan.
`kymatui --audit` opens the terminal UI read-only and counts the requests sent."""

_EXIT_STATUSES: Final = """\
0    done
1    failed; standard error says why
2    findings (drift, audit, check), or refused by a guard; --dry-run also, if the plan is refused
3    partly done: started, but not finished; --dry-run also, if the plan leaves out some of the runtimes
4    refused: kymatui runs read-only; no request was sent
64   usage error, or unknown name
130  interrupted by Ctrl-C: standard error names the objects done and left; `kymatui resume` continues
143  the same by SIGTERM; a second signal ends the command immediately"""

_ENVIRONMENT: Final = """\
KUBECONFIG             kubeconfig files, as for kubectl
KUBE_EDITOR, EDITOR    editor of `kymatui edit` (default: vi)
KYMATUI_CONFIG         configuration file (default: `kymatui config path`)
KYMATUI_READ_ONLY      1: refuse every write
KYMATUI_THEME          theme of the screen
KYMATUI_ASCII          1: use only ASCII characters and borders
KYMATUI_MOUSE          0: do not use the mouse
KYMATUI_BELL           1: ring the bell when a job ends
KYMATUI_LOGIN_TIMEOUT  seconds that a login with a credential plugin may take (default: 600)
KYMATUI_HELM_PASSWORD  password of a chart repository
KYMATUI_KEY_PASSWORD   password of a private key that signs
NO_COLOR               no colours
XDG_CONFIG_HOME, XDG_CACHE_HOME, XDG_STATE_HOME   folders of configuration, caches, backups and journals"""

_ROLLBACK: Final = """\
kymatui has no command `rollback`. How you go back to an earlier version depends on who manages the module.

Installed by kymatui: `kymatui upgrade NAME --version VERSION --allow-downgrade`. A chart from a path
needs --chart again. Objects that an upgrade deleted are in its backup: `kymatui restore NAME`.

Managed by lifecycle-manager: it never downgrades. `kymatui disable NAME` and `kymatui enable NAME --channel CHANNEL`
install the version of another channel; this deletes the module and its module CR first.

A setting of the Kyma: repeat the command with the old value, which the plan displays in the column BEFORE."""

_OUTPUT: Final = """\
-o table    for people (default)
-o wide     more columns, nothing is shortened
-o name     names only, one per line, for other commands
-o jsonpath=TEMPLATE    as kubectl: '{.modules[*].name}', '{range .modules[*]}{.name}{"\\n"}{end}'
-o json, -o yaml    one document on standard output, also for an error:
            {"outcome": "refused" | "failed" | …, "error": {"kind", "message", "hint", "exitStatus"}}
-o md       Markdown, for reports

--no-headers prints rows without titles and summary, --sort-by sorts by a column (--sort-by state) or by a field of the
JSON (--sort-by .state). --watch prints the list again whenever it changes. --color=auto|always|never and NO_COLOR
decide on colours.

Results go to standard output, everything else to standard error. null means that a value does not exist or is unknown;
if it is unknown, `unknown` says why. `kymatui catalog --schema` prints a JSON Schema."""


def _glossary() -> str:
    from kymatui.domain.catalog.glossary import glossary_lines

    return "\n".join(glossary_lines()).rstrip()


class Topic(NamedTuple):
    """One topic: its line in the list, and its text."""

    help: str
    text: Callable[[], str]


TOPICS: Final[Mapping[str, Topic]] = {
    "access": Topic("how kymatui finds and reaches clusters", lambda: _ACCESS),
    "environment": Topic("environment variables that kymatui reads", lambda: _ENVIRONMENT),
    "exit-statuses": Topic("meaning of each exit status", lambda: _EXIT_STATUSES),
    "glossary": Topic("states, drift, who acts: meaning and what to do", _glossary),
    "output": Topic("output formats, errors in JSON", lambda: _OUTPUT),
    "read-only": Topic("how read-only mode works", lambda: _READ_ONLY),
    "rollback": Topic("how to go back to an earlier version", lambda: _ROLLBACK),
}
