"""Navigation history: steps from the first screen on, with back and forward as in a browser."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef, split_name

_KEPT = 100  # visited screens; the oldest is dropped
_OBJECT = "object"
LOGS = "logs"
OBJECT_LOGS = "object-logs"
CONTEXTS = "ctx"
WHATIF = "whatif"
FLEET_PROBLEMS = "fleet-problems"
CONTEXT_MATRIX = "context-matrix"
OPEN_RUNTIME_FIRST = "open a runtime first (enter)"
YAML, DESCRIBE = "yaml", "describe"
"""The tabs of an object's screen."""


class ViewKind(StrEnum):
    """What the program may display: one cluster, the runtimes of a control plane, or the clusters of contexts."""

    MODULES = "modules"
    RUNTIMES = "runtimes"
    CONTEXTS = "contexts"


class OtherView(Struct, frozen=True):
    """The view that a person switches to; `context` is "" for the current one."""

    kind: ViewKind
    context: str = ""


class ScreenStep(Struct, frozen=True):
    """One screen: its kind, its subject and its open tab."""

    kind: str
    about: str = ""
    tab: str = ""

    @property
    def crumb(self) -> str:
        """Return the crumb for the top line."""
        if self.kind == _OBJECT:
            ref = object_reference(self)
            return f"{ref.kind.kind} {ref.name}"
        if self.kind == LOGS:
            return f"logs {self.about}"
        if self.kind == OBJECT_LOGS:
            return f"logs {object_reference(self).name}"
        if self.kind == "modules":
            return split_name(self.about)[1] or self.kind
        if self.kind == COMPONENT:
            return f"component {self.about.rpartition('/')[2]}"
        if self.kind == CONTENT:
            number = component_of_content(self)[1]
            return "descriptor" if number is None else "content"
        if self.kind == FLEET_PROBLEMS:
            return "problems"
        if self.kind == CONTEXT_MATRIX:
            return "by context"
        if self.kind == CONTEXTS:
            return "contexts"
        if self.kind == WHATIF:
            return f"what if {self.about.rstrip('/').rpartition('/')[2]}"
        if self.kind == "delete":
            return f"delete {self.about}"
        return f"#{self.about}" if self.kind == "job" else self.about or self.kind

    def same_screen(self, other: ScreenStep) -> bool:
        """Return whether both steps lead to one screen, whatever the tab."""
        return (self.kind, self.about) == (other.kind, other.about)


def object_step(ref: ObjectRef) -> ScreenStep:
    """Return the step to one object; no part of a reference contains a slash."""
    return ScreenStep(_OBJECT, "/".join((ref.kind.group, ref.kind.version, ref.kind.kind, ref.namespace, ref.name)))


def object_reference(step: ScreenStep) -> ObjectRef:
    """Return the object that a step leads to."""
    group, version, kind, namespace, name = step.about.split("/", 4)
    return ObjectRef(GroupVersionKind(group, version, kind), namespace, name)


def logs_step(ref: ObjectRef) -> ScreenStep:
    """Return the step to the logs of the Pods of one object; `ScreenStep(LOGS, module)` leads to those of a module."""
    return replace(object_step(ref), kind=OBJECT_LOGS)


COMPONENT, CONTENT = "component", "content"


def template_component_step(ref: ObjectRef) -> ScreenStep:
    """Return the step to the component of a ModuleTemplate."""
    return ScreenStep(COMPONENT, f"{ref.namespace}/{ref.name}")


def is_component_reference(about: str) -> bool:
    """Return whether a component is named by its registry, and not by its ModuleTemplate (`namespace/name`)."""
    return ":" in about


def template_name(about: str) -> tuple[str, str]:
    """Return namespace and name of the ModuleTemplate of a component's step."""
    namespace, _, name = about.partition("/")
    return namespace, name


def content_step(component: str, number: int | None) -> ScreenStep:
    """Return the step to a resource of a component by its place in the descriptor, None for the descriptor."""
    return ScreenStep(CONTENT, f"{'descriptor' if number is None else number} {component}")


def component_of_content(step: ScreenStep) -> tuple[str, int | None]:
    """Return the component and the resource that a step leads to."""
    number, _, component = step.about.partition(" ")
    return component, None if number == "descriptor" else int(number)


Trail = tuple[ScreenStep, ...]
"""The screens above each other, the first one first."""


class VisitHistory:
    """Visited trails. A visit after going back drops the trails ahead."""

    def __init__(self, start: Trail) -> None:
        self._trails = [start]
        self._place = 0
        self._last = 0

    @property
    def current(self) -> Trail:
        return self._trails[self._place]

    def visit(self, trail: Trail) -> None:
        """Record a visit; ignore the same trail again."""
        if trail == self.current:
            return
        kept = [*self._trails[: self._place + 1], trail]
        self._trails = kept[-_KEPT:]
        self._place = len(self._trails) - 1
        self._last = self._place - 1

    def turn(self, tab: str) -> None:
        """Record another tab of the same screen, so that going back returns to it."""
        trail = self.current
        self._trails[self._place] = (*trail[:-1], replace(trail[-1], tab=tab))

    def can_go(self, by: int) -> bool:
        return 0 <= self._place + by < len(self._trails)

    def move(self, by: int) -> Trail:
        """Return the trail before (-1) or after (1) the current trail, or the current at either end."""
        if self.can_go(by):
            self._last, self._place = self._place, self._place + by
        return self.current

    @property
    def can_toggle(self) -> bool:
        return self._last != self._place

    def toggle(self) -> Trail:
        """Return the previous trail; a second call returns the current trail again."""
        self._last, self._place = self._place, self._last
        return self.current
