"""The topics of `kymatui help TOPIC`: what holds for many commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

_ACCESS: Final = """\
kymatui reads a kubeconfig as kubectl does: --kubeconfig, $KUBECONFIG (several files), ~/.kube/config, or the service
account inside a Pod. --context chooses a context, -n a namespace.

A credential plugin gets no terminal; a plugin that has to ask is an error. Proxies come from the kubeconfig
(proxy-url) or from HTTPS_PROXY and NO_PROXY.

With --remote RUNTIME the cluster is a control plane (--kcp-kubeconfig, --kcp-context), and the runtime is reached with
the kubeconfig of its access Secret, or with --skr-kubeconfig and --skr-context."""

_READ_ONLY: Final = """\
--read-only, KYMATUI_READ_ONLY=1 and read_only in the configuration close one gate: only GET, HEAD and the reviews of
your own rights leave this machine. A command that would write exits with 4 and sends nothing; --dry-run still prints
the plan. `kymatui --audit` is the screen with that gate closed and a count of what was sent."""

_EXIT_STATUSES: Final = """\
0    done
1    failed; standard error says what, where, and what to do
2    findings (drift, audit, check), or refused by a guard
3    partly done: what was started is not finished
4    refused because read-only; nothing was sent
64   usage error, or a name that does not exist
130  interrupted"""

_ENVIRONMENT: Final = """\
KUBECONFIG            kubeconfig files, as for kubectl
KYMATUI_READ_ONLY     1: refuse every write
KYMATUI_THEME         the theme of the screen
KYMATUI_ASCII         1: only ASCII signs and borders
KYMATUI_MOUSE         0: leave the mouse to the terminal
KYMATUI_BELL          1: ring the bell when a job ends
NO_COLOR              no colours
XDG_CONFIG_HOME, XDG_CACHE_HOME, XDG_STATE_HOME   where configuration, caches, backups and journals are"""

_OUTPUT: Final = """\
-o table    for people; the default
-o wide     with more columns, where a command has them
-o json, -o yaml    a document; standard output is one in any case, errors included:
            {"outcome": "refused" | "failed" | …, "error": {"kind", "message", "hint", "exitStatus"}}
-o md       a table for reports

The answer is on standard output, everything else on standard error. A value that does not exist is null, and so is one
that is not known; `unknown` then says why. `kymatui catalog --schema` prints a JSON Schema."""


def _glossary() -> str:
    from kymatui.domain.glossary import glossary_lines

    return "\n".join(glossary_lines()).rstrip()


class Topic(NamedTuple):
    """One topic: its line in the list, and its text."""

    help: str
    text: Callable[[], str]


TOPICS: Final[Mapping[str, Topic]] = {
    "access": Topic("which cluster a command works on", lambda: _ACCESS),
    "environment": Topic("variables that kymatui reads", lambda: _ENVIRONMENT),
    "exit-statuses": Topic("what the exit status of a command means", lambda: _EXIT_STATUSES),
    "glossary": Topic("states, drift, who acts: each word and what to do", _glossary),
    "output": Topic("tables, documents and errors", lambda: _OUTPUT),
    "read-only": Topic("how writes are refused", lambda: _READ_ONLY),
}
