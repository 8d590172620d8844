"""Problems: severity, object, message and who has to act."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import to_sentence

_ACTION_NEEDED = "Action needed: "


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


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


class Problem(Struct, frozen=True):
    """A problem; `module` is "" if none is affected, `about` is an object or a list's name."""

    severity: Severity
    message: str
    actor: Actor = Actor.NOBODY
    module: str = ""
    about: ObjectRef | str | None = None

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
    """The reason of a row: one sentence with what is wrong (or that nothing is) and who has to act.

    `says_waiting` means that the text itself names who acts; `about` is the object in the text.
    """

    text: str
    actor: Actor = Actor.NOBODY
    severity: Severity = Severity.INFO
    says_waiting: bool = False
    about: ObjectRef | None = None


def action_of(text: str) -> str:
    """Return the action of a reason that needs a person, for the end of a sentence."""
    return text.removeprefix(_ACTION_NEEDED).removesuffix(".")


def action_needed(text: str, severity: Severity, about: ObjectRef | None = None) -> Reason:
    """Return a reason that needs a person."""
    return Reason(f"{_ACTION_NEEDED}{text}", Actor.YOU, severity, says_waiting=True, about=about)


def reason_by(actor: Actor, text: str, severity: Severity) -> Reason:
    """Return a reason for an actor; the text starts with a small letter."""
    return action_needed(text, severity) if actor is Actor.YOU else Reason(to_sentence(text), actor, severity)
