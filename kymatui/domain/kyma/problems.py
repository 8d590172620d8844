"""Problems: severity, object, message and who has to act."""

from __future__ import annotations

import shlex
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import to_sentence
from kymatui.patterns import deferred

_ACTION_NEEDED = "Action needed: "


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


def worst_severity(*severities: Severity) -> Severity:
    return min(severities, key=tuple(Severity).index)


class Actor(StrEnum):
    """The actors that a problem or reason can name."""

    NOBODY = ""
    YOU = "you"
    KLM = "lifecycle-manager"
    OPERATOR = "kymatui's operator"
    MANAGER = "the module's manager"
    CATALOG = "the owner of the catalog"
    CLUSTER = "the cluster's administrator"
    UNKNOWN = "unknown"  # the objects that tell were not read


class AdviceKind(StrEnum):
    """What a person can do about a problem; the value appears in JSON."""

    ALLOW = "allow"  # label the Kyma, so that it may use beta or internal modules
    CHANGE_CHANNEL = "change-channel"
    COMPLETE = "complete"  # an interrupted installation, deletion or job
    CREATE_CR = "create-module-cr"
    CREATE_OBJECT = "create-object"  # that the module needs, such as a Secret
    DELETE_BLOCKERS = "delete-blocking-objects"
    DELETE_INSTALLATION = "delete-installation"
    DISABLE = "disable"
    EDIT = "edit"
    ENABLE = "enable"
    INSPECT = "inspect"  # a page with the reason
    INSTALL = "install"
    KEEP_ENTRY = "keep-entry"  # of the module in the Kyma, until it is released
    LOG_IN = "log-in"
    READ_LOGS = "read-logs"
    REINSTALL = "reinstall"
    REMOVE_FINALIZER = "remove-finalizer"
    RENAME = "rename"
    REPAIR = "repair"
    RESUME = "resume"  # what a label or a paused rollout stops
    SCALE_UP = "scale-up"
    UPGRADE = "upgrade"
    WAIT = "wait"


class Advice(Struct, frozen=True):
    """What a person can do: a sentence without its end, and the command that carries it out, "" without one.

    `in_runtime` means that a command of kubectl is about an object of the cluster where modules run.
    """

    kind: AdviceKind
    text: str
    command: str = ""
    in_runtime: bool = False

    @property
    def sentence(self) -> str:
        """Return the sentence with its command."""
        return f"{self.text} (`{self.command}`)." if self.command else f"{self.text}."


def advice_for_runtime(advice: Advice | None, runtime: str) -> Advice | None:
    """Return the advice for a person who reads the runtime through its control plane; "" is no runtime."""
    if advice is None or not runtime or not advice.command:
        return advice
    if advice.command.startswith("kymatui "):
        return replace(advice, command=f"{advice.command} {shell_command('--remote', runtime)}")
    text = f"In the runtime: {advice.text[:1].lower()}{advice.text[1:]}"
    return replace(advice, text=text) if advice.in_runtime else advice


def with_advice(statement: str, advice: Advice | None) -> str:
    """Return a statement and what to do about it as they are displayed."""
    return statement if advice is None else f"{statement.removesuffix('.')}. {advice.sentence}"


class Problem(Struct, frozen=True):
    """A problem; `module` is "" if none is affected, `about` is an object or a list's name."""

    severity: Severity
    message: str
    actor: Actor = Actor.NOBODY
    module: str = ""
    about: ObjectRef | str | None = None
    advice: Advice | None = None

    @property
    def text(self) -> str:
        """Return the message with the advice."""
        return with_advice(self.message, self.advice)

    @property
    def object(self) -> str:
        """Return the object or list as text."""
        return str(self.about or "")

    @property
    def ref(self) -> ObjectRef | None:
        """Return the object to open, None if the problem names none."""
        return self.about if isinstance(self.about, ObjectRef) else None

    @property
    def counts(self) -> bool:
        """Return whether counts include it; information is shown but never counted."""
        return self.severity is not Severity.INFO


class Reason(Struct, frozen=True):
    """The reason of a row: what is wrong (or that nothing is) and its effect, what to do, and who has to act.

    `says_waiting` means that the text itself names who acts; `about` is the object in the text. `blocked_by` are the
    objects that a deletion waits for, unless the default CR alone is being deleted.
    """

    cause: str
    actor: Actor = Actor.NOBODY
    severity: Severity = Severity.INFO
    says_waiting: bool = False
    about: ObjectRef | None = None
    effect: str = ""
    advice: Advice | None = None
    blocked_by: tuple[ObjectRef, ...] = ()

    @property
    def statement(self) -> str:
        """Return cause and effect."""
        return f"{self.cause.removesuffix('.')}; {self.effect}" if self.effect else self.cause

    @property
    def text(self) -> str:
        """Return the reason as it is displayed."""
        prefix = _ACTION_NEEDED if self.actor is Actor.YOU and self.says_waiting else ""
        return prefix + with_advice(self.statement, self.advice)


def action_needed(
    cause: str, severity: Severity, about: ObjectRef | None = None, *, effect: str = "", advice: Advice | None = None
) -> Reason:
    """Return a reason that needs a person."""
    return Reason(cause, Actor.YOU, severity, says_waiting=True, about=about, effect=effect, advice=advice)


def reason_by(
    actor: Actor, cause: str, severity: Severity, *, effect: str = "", advice: Advice | None = None
) -> Reason:
    """Return a reason for an actor; the cause starts with a small letter."""
    if actor is Actor.YOU:
        return action_needed(cause, severity, effect=effect, advice=advice)
    return Reason(to_sentence(cause), actor, severity, effect=effect, advice=advice)


def action_of(text: str) -> str:
    """Return the action of a reason that needs a person, for the end of a sentence."""
    return text.removeprefix(_ACTION_NEEDED).removesuffix(".")


def shell_command(*words: str) -> str:
    """Return a command line; `…` is a word that the user fills in."""
    return " ".join(word if word == "…" else shlex.quote(word) for word in words)


def unpause(module: str, text: str = "Remove the label to resume") -> Advice:
    """Return the advice for a module that a label or a paused rollout stops; "" is the Kyma."""
    return Advice(AdviceKind.RESUME, text, shell_command("kymatui", "unpause", module or "--kyma"))


def remove_finalizer(module: str, ref: ObjectRef, finalizer: str, text: str = "Remove the finalizer") -> Advice:
    """Return the advice for a finalizer that no controller removes."""
    words = ("kymatui", "finalizers", module, "--object", f"{ref.kind.kind}:{ref.path}", "--remove", finalizer)
    return Advice(AdviceKind.REMOVE_FINALIZER, text, shell_command(*words))


def scale_up(module: str) -> Advice:
    """Return the advice for a workload that is scaled to zero."""
    return Advice(AdviceKind.SCALE_UP, "Scale it up", shell_command("kymatui", "unpause", module))


EDIT_KYMA: Final = Advice(AdviceKind.EDIT, "Set a channel", "kymatui edit --kyma")


def create_secret(message: str, namespace: str) -> Advice | None:
    """Return the advice for a message of a controller or of the kubelet that a Secret is missing, else None."""
    match = _MISSING_SECRET.search(message)
    if match is None or not namespace:
        return None
    name = match["name"] or match["quoted"]
    words = ("kubectl", "create", "secret", "generic", name, "-n", namespace, "--from-env-file=FILE")
    text = f"Create Secret {namespace}/{name} with the keys that the module needs"
    return Advice(AdviceKind.CREATE_OBJECT, text, shell_command(*words), in_runtime=True)


_MISSING_SECRET: Final = deferred(
    r"\b(?:Secret (?P<name>[a-z0-9][a-z0-9.-]*)|[Ss]ecrets? \"(?P<quoted>[a-z0-9][a-z0-9.-]*)\")"
    r" (?:is )?(?:not found|missing)"
)
"""As client-go and controllers write it: `secrets "name" not found`, `Secret name not found`."""
