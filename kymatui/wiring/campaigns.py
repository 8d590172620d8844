"""One edit over many runtimes, carried out: planned for each, the canaries first, and no further after a failure.

What is done is read from the clusters: whoever runs the same again goes on where it stopped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kymatui.domain.campaigns import Leg, Outcome, waves
from kymatui.errors import CancelledError, ForbiddenError, KymatuiError, OutdatedError, UnreachableError
from kymatui.wiring.control_planes import ControlPlane
from kymatui.wiring.pair_toggling import PairToggling
from kymatui.wiring.pairs import PairSession

if TYPE_CHECKING:
    from kymatui.domain.fleet_pictures import Key
    from kymatui.domain.toggling import Proposal, Toggle
    from kymatui.wiring.remote import RemoteOptions

AT_ONCE: Final = 8
_LISTED: Final = 10.0
_CONTROL_LISTED: Final = 60.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How many runtimes come first, one by one; how many go at once after them; whether each is waited for."""

    canaries: int = 1
    at_once: int = 4
    wait: bool = True
    timeout: float = 300.0


class Campaign:
    """One toggle over the runtimes of a control plane, which are named `namespace/name`.

    The control plane is listed once for all of them; each runtime is asked by itself, and let go of again.
    """

    def __init__(self, options: RemoteOptions, toggle: Toggle, pace: Pace) -> None:
        self._options, self._toggle, self._pace = options, toggle, pace

    def plan(self, runtimes: Sequence[str], tell: Callable[[Leg], None] = lambda _: None) -> list[Leg]:
        """One plan a runtime, told from any thread as it is made; those that cannot be reached are told as such.

        Raises what keeps the control plane from being read.
        """

        def planned(name: str) -> Leg:
            leg = self._planned(plane, name)
            tell(leg)
            return leg

        with self._listed(runtimes) as plane, ThreadPoolExecutor(AT_ONCE, thread_name_prefix="plan") as pool:
            return list(pool.map(planned, runtimes))

    @contextmanager
    def _listed(self, runtimes: Sequence[str]) -> Iterator[ControlPlane]:
        plane = ControlPlane(self._options.control, [_key(name) for name in runtimes])
        try:
            plane.start(_CONTROL_LISTED)
            yield plane
        finally:
            plane.close()

    def _planned(self, plane: ControlPlane, name: str) -> Leg:
        try:
            session = self._opened(plane, name)
        except KymatuiError as error:
            return Leg(name, Outcome.UNREACHED, str(error))
        try:
            return _leg(name, PairToggling(session).propose(self._toggle))
        except KymatuiError as error:
            return Leg(name, Outcome.UNREACHED, str(error))
        finally:
            session.close()

    def _opened(self, plane: ControlPlane, name: str) -> PairSession:
        session = PairSession(plane.home, _key(name), self._options, plane=plane)
        try:
            session.start(lambda: None)
            if not session.wait_complete(_LISTED):
                raise UnreachableError(f"{name} was not listed within {_LISTED:g} s")
            session.require_kyma()
        except BaseException:
            session.close()
            raise
        return session

    def carry_out(
        self,
        legs: Sequence[Leg],
        tell: Callable[[Leg], None],
        cancel: threading.Event,
        begins: Callable[[Sequence[Leg]], None] = lambda _: None,
    ) -> list[Leg]:
        """All that is planned; after the first failure, or once `cancel` is set, nothing more is begun.

        `tell` gets every leg when it has ended, from any thread, and `begins` those that are begun together. Raises
        what keeps the control plane from being read: then nothing was changed.
        """
        found = {leg.runtime: leg for leg in legs}
        planned = [leg.runtime for leg in legs if leg.outcome is Outcome.PLANNED]
        failed = False

        def edited(leg: Leg) -> Leg:
            ended = self._edited(plane, leg, cancel)
            tell(ended)
            return ended

        with (
            self._listed(planned) as plane,
            ThreadPoolExecutor(self._pace.at_once, thread_name_prefix="edit") as pool,
        ):
            for wave in waves(legs, self._pace.canaries, self._pace.at_once):
                if failed or cancel.is_set():
                    found.update({leg.runtime: replace(leg, outcome=Outcome.NOT_BEGUN) for leg in wave})
                    continue
                begins(wave)
                for ended in pool.map(edited, wave):
                    found[ended.runtime] = ended
                    failed = failed or not ended.is_good
        return [found[leg.runtime] for leg in legs]

    def _edited(self, plane: ControlPlane, leg: Leg, cancel: threading.Event) -> Leg:
        if cancel.is_set():
            return replace(leg, outcome=Outcome.NOT_BEGUN)
        try:
            session = self._opened(plane, leg.runtime)
        except KymatuiError as error:
            return replace(leg, outcome=Outcome.FAILED, words=f"nothing was changed: {error}")
        changed = threading.Event()
        session.start_telling(changed.set)
        try:
            return self._run(leg, PairToggling(session), changed, cancel)
        except KymatuiError as error:
            return replace(leg, outcome=Outcome.FAILED, words=str(error))
        finally:
            session.close()

    def _run(self, leg: Leg, toggling: PairToggling, changed: threading.Event, cancel: threading.Event) -> Leg:
        proposal = toggling.propose(self._toggle)
        now = _leg(leg.runtime, proposal)
        if now.outcome is Outcome.UNCHANGED:
            return now
        if now.outcome is not Outcome.PLANNED or now.lines != leg.lines:
            raise OutdatedError("nothing was changed: it is not what was planned for any more")
        if not toggling.may_write(proposal):
            raise ForbiddenError("nothing was changed: you may not patch the runtime's Kyma", status=403)
        if cancel.is_set():
            return replace(leg, outcome=Outcome.NOT_BEGUN)
        generation = toggling.carry_out(proposal)
        if not self._pace.wait:
            return replace(leg, outcome=Outcome.ACCEPTED, words="the Kyma is edited")
        try:
            last = toggling.follow(proposal, generation, changed, self._pace.timeout, lambda _: None, cancel)
        except CancelledError as error:
            return replace(leg, outcome=Outcome.ACCEPTED, words=str(error))
        return replace(leg, outcome=Outcome.DONE, words=last.words)


def _key(name: str) -> Key:
    namespace, _, last = name.rpartition("/")
    return namespace, last


def _leg(name: str, proposal: Proposal) -> Leg:
    lines = proposal.edit.lines() if proposal.edit is not None else ()
    effects = tuple(f"{effect.module} {effect.words}" for effect in proposal.effects)
    if proposal.is_refused:
        return Leg(name, Outcome.REFUSED, "; ".join(proposal.refusals), lines)
    if proposal.is_done:
        return Leg(name, Outcome.UNCHANGED, "the Kyma says so already")
    return Leg(name, Outcome.PLANNED, "", lines, effects, proposal.warnings)
