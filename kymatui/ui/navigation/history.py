"""Where a person is and was: steps from the first screen on, and the way back and forward as browsers have it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef

_KEPT = 100
_OBJECT = "object"


@dataclass(frozen=True, slots=True)
class ScreenStep:
    """One screen: its kind, what it is about, and which of its tabs is open."""

    kind: str
    about: str = ""
    tab: str = ""

    @property
    def crumb(self) -> str:
        """The word in the top line."""
        if self.kind == _OBJECT:
            ref = object_reference(self)
            return f"{ref.kind.kind} {ref.name}"
        if self.kind == "modules":
            return self.about.rpartition("/")[2] or self.kind
        if self.kind == "delete":
            return f"delete {self.about}"
        return f"#{self.about}" if self.kind == "job" else self.about or self.kind

    def same_screen(self, other: ScreenStep) -> bool:
        """Whether both are one screen, whatever its tab."""
        return (self.kind, self.about) == (other.kind, other.about)


def object_step(ref: ObjectRef) -> ScreenStep:
    """Return what leads to one object; no part of a reference has a slash in it."""
    return ScreenStep(_OBJECT, "/".join((ref.kind.group, ref.kind.version, ref.kind.kind, ref.namespace, ref.name)))


def object_reference(step: ScreenStep) -> ObjectRef:
    """Return the object that a step leads to."""
    group, version, kind, namespace, name = step.about.split("/", 4)
    return ObjectRef(GroupVersionKind(group, version, kind), namespace, name)


Trail = tuple[ScreenStep, ...]
"""The screens above each other, the first one first."""


class VisitHistory:
    """The trails that were visited. A visit after going back forgets what lay ahead."""

    def __init__(self, start: Trail) -> None:
        self._trails = [start]
        self._place = 0
        self._last = 0

    @property
    def current(self) -> Trail:
        return self._trails[self._place]

    def visit(self, trail: Trail) -> None:
        """Somebody went there by himself; the same trail again is no visit."""
        if trail == self.current:
            return
        kept = [*self._trails[: self._place + 1], trail]
        self._trails = kept[-_KEPT:]
        self._place = len(self._trails) - 1
        self._last = self._place - 1

    def turn(self, tab: str) -> None:
        """Another tab of the same screen: coming back leads to it."""
        trail = self.current
        self._trails[self._place] = (*trail[:-1], replace(trail[-1], tab=tab))

    def can_go(self, by: int) -> bool:
        return 0 <= self._place + by < len(self._trails)

    def go(self, by: int) -> Trail:
        """The trail before (-1) or behind (1) the present one; the present one where there is none."""
        if self.can_go(by):
            self._last, self._place = self._place, self._place + by
        return self.current

    @property
    def can_toggle(self) -> bool:
        return self._last != self._place

    def toggle(self) -> Trail:
        """The trail that was there last; again, and it is this one."""
        self._last, self._place = self._place, self._last
        return self.current
