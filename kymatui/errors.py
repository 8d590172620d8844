"""Every error that kymatui raises on purpose.

    KymatuiError                 exit 1
    ├── UsageError               exit 64  the command's words are off
    │   └── UnknownNameError              no module, context, channel, runtime … has this name
    ├── ConfigurationError       exit 1   kubeconfig, settings, a file of the user
    ├── RefusedError             exit 2   a guard said no, or findings were found
    │   └── OutdatedError                 what was decided upon is no longer so
    ├── PartlyDoneError          exit 3   some of it is done, some is not
    ├── ReadOnlyError            exit 4   a write in read-only or audit mode
    ├── CancelledError           exit 130 the person stopped it
    ├── ClusterError             exit 1   an API server answered with a failure, or did not answer
    │   ├── UnreachableError              no connection, no TLS, a timeout
    │   ├── UnauthorizedError             401
    │   ├── ForbiddenError                403
    │   ├── NotFoundError                 404
    │   ├── ConflictError                 409
    │   ├── ExpiredError                  410, a resource version or a continue token that is too old
    │   ├── InvalidError                  400, 413, 415, 422: the server will not take this object
    │   ├── ThrottledError                429
    │   └── ServerError                   5xx, or an answer that cannot be read
    │       └── OversizedAnswerError      larger than the limits allow
    ├── RegistryError            exit 1   an OCI registry or a chart repository
    └── HelmError                exit 1   a chart, its values or its templates

An error names what, where and what to do: `str(error)` is the first two, `error.hint` the third. The cause is chained.
Front ends print both and leave with `error.exit_code`; a traceback on a terminal is a defect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class KymatuiError(Exception):
    """The root; `hint` says what the person can do, in one sentence, or is empty."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(KymatuiError):
    """The command line does not make sense (64 is EX_USAGE of sysexits.h; 2 means findings)."""

    exit_code = 64


class ConfigurationError(KymatuiError):
    """A kubeconfig, a settings file or another file of the user cannot be used."""


class UnknownNameError(UsageError, ConfigurationError):
    """No module, context, channel, namespace, runtime or backup has the name of a command line."""

    @classmethod
    def near(cls, kind: str, name: str, known: Iterable[str], *, where: str = "", hint: str = "") -> UnknownNameError:
        """Return `no module "btp-opertor"; did you mean btp-operator?`; `where` follows the name."""
        from difflib import get_close_matches

        alike = ", ".join(get_close_matches(name, sorted(set(known)), n=3))
        place = f" {where}" if where else ""
        return cls(f'no {kind} "{name}"{place}' + (f"; did you mean {alike}?" if alike else ""), hint=hint)


class RefusedError(KymatuiError):
    """A guard refused, or something was found that the command was asked to find."""

    exit_code = 2


class OutdatedError(RefusedError):
    """What a plan was made for has changed since; nothing of it was done."""


class PartlyDoneError(KymatuiError):
    """Part of the work is done; the message says which, and how to go on."""

    exit_code = 3


class ReadOnlyError(KymatuiError):
    """A write was asked for where only reading is allowed; nothing left this machine."""

    exit_code = 4


class CancelledError(KymatuiError):
    """The person stopped it."""

    exit_code = 130


class ClusterError(KymatuiError):
    """An API server failed or refused.

    `status` is the HTTP status (0 where there was none), `reason` the machine word of the server's Status object
    ("AlreadyExists", …), `body` that object itself (`details.causes` are in it).
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        status: int = 0,
        reason: str = "",
        body: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.reason = reason
        self.body: Mapping[str, Any] = body or {}


class UnreachableError(ClusterError):
    """No connection, a TLS failure, or no answer in time."""


class UnauthorizedError(ClusterError):
    """401: the credentials are missing, wrong or expired."""


class ForbiddenError(ClusterError):
    """403: known, but not allowed."""


class NotFoundError(ClusterError):
    """404: no such object, or no such kind."""


class ConflictError(ClusterError):
    """409: changed in between, exists already, or a field that another manager owns."""


class ExpiredError(ClusterError):
    """410: the resource version or the continue token is too old; list again."""


class InvalidError(ClusterError):
    """The server will not take this object as it is (400, 413, 415, 422)."""


class ThrottledError(ClusterError):
    """429; `retry_after` in seconds where the server said so, else 0."""

    def __init__(self, message: str, *, retry_after: float = 0.0, **more: Any) -> None:
        super().__init__(message, **more)
        self.retry_after = retry_after


class ServerError(ClusterError):
    """5xx, or an answer that is not what a Kubernetes API server says."""


class OversizedAnswerError(ServerError):
    """An answer with more bytes, objects, pages or levels than kymatui reads."""


class RegistryError(KymatuiError):
    """An OCI registry or a chart repository failed, refused, or sent something other than asked for."""


class HelmError(KymatuiError):
    """A chart, its values or its templates are refused; the text is Helm's own where Helm has one."""
