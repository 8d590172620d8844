"""The errors that kymatui raises on purpose.

    KymatuiError                 exit 1
    ├── UsageError               exit 64  usage error
    │   └── UnknownNameError              no module, context, channel, runtime … has this name
    ├── ConfigurationError       exit 1   a kubeconfig, settings or user file is unusable
    │   └── SourceError                   a manifest, archive or kustomization cannot be read
    ├── RefusedError             exit 2   a guard refused, or a check has findings
    │   └── OutdatedError                 the cluster changed since the plan was made
    ├── PartlyDoneError          exit 3   part of the work is done
    ├── ReadOnlyError            exit 4   a write in read-only or audit mode
    ├── CancelledError           exit 130 the user cancelled
    ├── ClusterError             exit 1   an API server failed, or did not answer
    │   ├── UnreachableError              no connection, no TLS, a timeout
    │   ├── UnauthorizedError             401
    │   ├── ForbiddenError                403
    │   ├── NotFoundError                 404
    │   ├── ConflictError                 409
    │   ├── ExpiredError                  410, an expired resource version or continue token
    │   ├── InvalidError                  400, 413, 415, 422: the server rejects the object
    │   ├── ThrottledError                429
    │   └── ServerError                   5xx, or an unreadable response
    │       └── OversizedAnswerError      larger than the limits allow
    ├── RegistryError            exit 1   an OCI registry or a chart repository
    │   ├── RegistryNotFoundError         404
    │   └── RegistryUnreachableError      no connection, no TLS, a timeout
    ├── HelmError                exit 1   a chart, its values or its templates
    └── DefectError              exit 1   a bug in kymatui that ended one piece of work

`str(error)` says what failed and where, `error.hint` what to do. The cause is chained. Front ends print both and exit
with `error.exit_code`; a traceback on a terminal is a bug. A dry run exits as the
command itself would: 2 if the plan is refused, 3 if it leaves out some of the runtimes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def nearest_names(name: str, known: Iterable[str], limit: int = 3, likeness: float = 0.6) -> list[str]:
    """Return the known names that are spelled almost like `name`, the nearest first; upper case does not matter."""
    from difflib import get_close_matches

    spelled = {candidate.casefold(): candidate for candidate in sorted(set(known), reverse=True)}
    return [spelled[match] for match in get_close_matches(name.casefold(), spelled, n=limit, cutoff=likeness)]


def did_you_mean(near: Iterable[str]) -> str:
    """Return `; did you mean a, b?` for the end of a message, "" without names."""
    names = ", ".join(near)
    return f"; did you mean {names}?" if names else ""


class KymatuiError(Exception):
    """The base class; `hint` is one sentence with what to do, or "", `gone` the objects deleted before it.

    `unchanged` means that the command has changed nothing, which is displayed with the message.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "", unchanged: bool = False) -> None:
        super().__init__(message)
        self.hint = hint
        self.unchanged = unchanged
        self.gone: tuple[Any, ...] = ()

    @property
    def text(self) -> str:
        """Return the message as it is displayed."""
        return f"{self}; no changes made" if self.unchanged else str(self)

    @property
    def with_hint(self) -> str:
        """Return the message and what to do in one phrase."""
        return f"{self} ({self.hint})" if self.hint else str(self)


class UsageError(KymatuiError):
    """The command line is invalid (64 is EX_USAGE of sysexits.h; 2 means findings)."""

    exit_code = 64


class ConfigurationError(KymatuiError):
    """A kubeconfig, a settings file or another file of the user is unusable."""


class SourceError(ConfigurationError):
    """A source cannot be read; the message names file, document and line."""


class UnknownNameError(UsageError, ConfigurationError):
    """No module, context, channel, namespace, runtime or backup has the given name."""

    @classmethod
    def near(cls, kind: str, name: str, known: Iterable[str], *, where: str = "", hint: str = "") -> UnknownNameError:
        """Return `no module "btp-opertor"; did you mean btp-operator?`; `where` follows the name."""
        location = f" {where}" if where else ""
        return cls(f'no {kind} "{name}"{location}{did_you_mean(nearest_names(name, known))}', hint=hint)


class RefusedError(KymatuiError):
    """A guard refused, or a check has findings."""

    exit_code = 2


class NotInstalledError(RefusedError):
    """The module of an upgrade is not installed."""


class OutdatedError(RefusedError):
    """The cluster has changed since the plan was made; nothing was written."""


class PartlyDoneError(KymatuiError):
    """Part of the work is done; the message says which, and how to continue."""

    exit_code = 3


class ReadOnlyError(KymatuiError):
    """A write was requested in read-only mode; no request was sent."""

    exit_code = 4


class CancelledError(KymatuiError):
    """The user cancelled.

    `progress` are the JobProgress of what was done, is under way and left; `is_at_once` means that it was not awaited.
    """

    exit_code = 130

    def __init__(
        self, message: str, *, hint: str = "", progress: tuple[Any, ...] = (), is_at_once: bool = False
    ) -> None:
        super().__init__(message, hint=hint)
        self.progress, self.is_at_once = progress, is_at_once


class StoppedError(CancelledError):
    """A job was stopped; the message has what is done, what is under way and what is left, in whole sentences."""


class ClusterError(KymatuiError):
    """An API server failed or refused.

    `status` is the HTTP status (0 if there was none), `reason` the reason of the server's Status object
    ("AlreadyExists", …), `body` that object (`details.causes` are in it).
    """

    def __init__(
        self, message: str, *, hint: str = "", status: int = 0, reason: str = "", body: Mapping[str, Any] | None = None
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
    """403: the user lacks a permission."""


class NotFoundError(ClusterError):
    """404: the object or its kind does not exist."""


class ConflictError(ClusterError):
    """409: changed meanwhile, already exists, or another manager owns a field."""


class ExpiredError(ClusterError):
    """410: the resource version or continue token is too old, so list again."""


class InvalidError(ClusterError):
    """The server rejects the object or request (400, 413, 415, 422)."""


class ThrottledError(ClusterError):
    """429; `retry_after` is in seconds, 0 if the server does not say."""

    def __init__(self, message: str, *, retry_after: float = 0.0, **more: Any) -> None:
        super().__init__(message, **more)
        self.retry_after = retry_after


class ServerError(ClusterError):
    """5xx, or a response that no Kubernetes API server sends."""


class OversizedAnswerError(ServerError):
    """A response with more bytes, objects, pages or levels than kymatui reads."""


class RegistryError(KymatuiError):
    """An OCI registry or chart repository failed, refused, or sent unexpected content."""


class RegistryNotFoundError(RegistryError):
    """A registry has no such repository, or keeps it secret."""


class RegistryUnreachableError(RegistryError):
    """A registry or chart repository did not answer; it would not answer for other content either."""


class HelmError(KymatuiError):
    """A chart, its values or its templates are invalid; the message is Helm's if Helm has one."""


class DefectError(KymatuiError):
    """A bug in kymatui that ended one piece of work, of which others do not depend."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}", hint="this is a bug in kymatui; please report it")


def as_kymatui_error(error: Exception) -> KymatuiError:
    """Return an error of the project as it is, any other one as a defect."""
    return error if isinstance(error, KymatuiError) else DefectError(error)


def is_busy(error: BaseException) -> bool:
    """Return whether a server answered that it is busy or failing, which may pass."""
    return isinstance(error, ThrottledError) or (isinstance(error, ServerError) and error.status >= 500)
