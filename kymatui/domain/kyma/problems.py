"""What is wrong, with what, and who has to act."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kymatui.domain.kubernetes.refs import ObjectRef


class Severity(StrEnum):
    """How bad it is."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Actor(StrEnum):
    """Who has to act next."""

    NOBODY = ""
    YOU = "you"
    KLM = "lifecycle-manager"
    OPERATOR = "kymatui's operator"
    MANAGER = "the module's manager"
    CATALOG = "the owner of the catalog"
    CLUSTER = "the cluster's administrator"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong; `module` is "" where it concerns none, `about` an object, or a list's name."""

    severity: Severity
    message: str
    actor: Actor = Actor.NOBODY
    module: str = ""
    about: ObjectRef | str | None = None

    @property
    def object(self) -> str:
        """The object or list in words."""
        return str(self.about or "")

    @property
    def ref(self) -> ObjectRef | None:
        """The object that can be opened; None where the problem names none."""
        return self.about if isinstance(self.about, ObjectRef) else None

    @property
    def counts(self) -> bool:
        """Whether it counts as a problem: an information is shown beside the problems, and no count has it."""
        return self.severity is not Severity.INFO


@dataclass(frozen=True, slots=True)
class Reason:
    """The one sentence of a row: what is wrong (or that nothing is), and who must act.

    `says_waiting` says that the text already tells who or what it waits for; `about` is the object that the text names.
    """

    text: str
    actor: Actor = Actor.NOBODY
    severity: Severity = Severity.INFO
    says_waiting: bool = False
    about: ObjectRef | None = None
