"""The thread that forecasts a change while the fleet, or the files of the change, change."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import fields, replace

from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.snapshot.snapshots import Object
from kymatui.domain.whatif.fleet_objects import CatalogChange, FleetObjects, FleetObjectsBuilder
from kymatui.domain.whatif.forecast import Forecast, ForecastMemory, foresee
from kymatui.domain.whatif.summary import change_notes, forecast_notes
from kymatui.errors import ConfigurationError, DefectError, KymatuiError
from kymatui.sessions.reports.what_if import ChangeRequest, change_stamp, read_change
from kymatui.ui.connection.fleet_view import FleetObjectSource, FleetSource
from kymatui.ui.connection.mailbox import Mailbox
from kymatui.ui.presenters.fleet.forecast_rows import ForecastLines, OpenedNumber
from kymatui.ui.viewmodels.row_list import Row

LOOK_SECONDS: Final = 2.0
"""How often the files are looked at."""
_LEAST_PAUSE: Final = 0.5  # seconds of pause after a forecast that took long enough to be noticed
_SHARE: Final = 3.0
"""The pause after a forecast, in times that it took: a fleet in motion costs a quarter of a core."""
_READING: Final = "forecast"


class ForecastReading(Struct, frozen=True):
    """A forecast as a screen displays it.

    problem  why there is no newer forecast; None if this is the newest
    read_at  when the files were read, in seconds of the Unix clock; 0.0 for never
    reread   whether the files changed since the screen opened
    opened   the number whose runtimes `runtimes` are
    """

    forecast: Forecast | None = None
    lines: ForecastLines | None = None
    notes: tuple[str, ...] = ()
    problem: KymatuiError | None = None
    read_at: float = 0.0
    reread: bool = False
    opened: OpenedNumber | None = None
    runtimes: tuple[Row, ...] = ()


class ForecastLink:
    """Follows Kymas, catalog and files in a thread, and delivers readings on the event loop."""

    def __init__(
        self,
        path: str,
        source: Callable[[], FleetSource | None],
        clock: Callable[[], float],
        deliver: Callable[[ForecastReading], None],
    ) -> None:
        self._path, self._source, self._clock = path, source, clock
        self._deliver = deliver
        self._mailbox = Mailbox(self._deliver_last)
        self._wake, self._closed, self._again = threading.Event(), threading.Event(), threading.Event()
        self._opened: OpenedNumber | None = None
        self._reading = self._delivered = ForecastReading()
        self._builder, self._memory = FleetObjectsBuilder(), ForecastMemory()
        self._settings: dict[str, ControllerSettings] = {}
        self._notes: tuple[str, ...] = ()
        self._stamp: object = None
        self._change: tuple[CatalogChange, tuple[str, ...]] | None = None
        self._seen: tuple[object, ...] = ()

    def start(self) -> None:
        """Bind to the running event loop and begin."""
        self._mailbox.open()
        threading.Thread(target=self._run, name="forecast", daemon=True).start()

    def open(self, number: OpenedNumber | None) -> None:
        """List the runtimes behind a number with the next reading; None for no list."""
        self._opened = number
        self._wake.set()

    def ask_again(self) -> None:
        """Read files and settings again."""
        self._again.set()
        self._wake.set()

    def close(self) -> None:
        self._closed.set()
        self._wake.set()
        self._mailbox.close()

    def _run(self) -> None:
        objects: FleetObjectSource | None = None
        try:
            while not self._closed.is_set():
                self._wake.clear()
                began = time.monotonic()
                source = self._source()
                try:
                    if source is not None:
                        objects = objects or _followed(source, self._wake.set)
                        self._read(source, objects)
                except KymatuiError as error:
                    self._put(replace(self._reading, problem=error))
                except Exception as error:  # noqa: BLE001 (the next reading may succeed)
                    self._put(replace(self._reading, problem=DefectError(error)))
                took = time.monotonic() - began
                self._closed.wait(max(_LEAST_PAUSE, took * _SHARE) if took > _LEAST_PAUSE / _SHARE else 0.05)
                self._wake.wait(LOOK_SECONDS)
        finally:
            if objects is not None:
                objects.close()

    def _read(self, source: FleetSource, objects: FleetObjectSource) -> None:
        if self._again.is_set():
            self._again.clear()
            self._stamp, self._seen = None, ()
            self._settings.clear()
            objects.retry()
        listed = objects.objects()
        if listed is None:
            return
        fleet = self._fleet(source, objects.name, *listed)
        self._read_files(fleet)
        assert self._change is not None
        change, left_out = self._change
        now = self._clock()
        timed = any(not known.lasts for known in self._memory.runtimes.values())
        inputs = (*listed, change, fleet.settings, fleet.manifests, int(now // 30) if timed else 0)
        if len(inputs) != len(self._seen) or any(
            a is not b and a != b for a, b in zip(inputs, self._seen, strict=True)
        ):
            forecast = foresee(fleet, change, now, self._memory)
            self._seen = inputs
            notes = (*left_out, *change_notes(change, fleet), *forecast_notes(forecast), *self._notes)
            if (unknown := source.picture().unknown_manifests) is not None:
                notes = (*notes, f"skip labels of Manifests are unknown: {unknown}")
            self._reading = replace(self._reading, forecast=forecast, lines=ForecastLines(forecast), notes=notes)
        lines, opened = self._reading.lines, self._opened
        last = self._delivered
        rows = last.runtimes
        if lines is not last.lines or opened != last.opened:
            rows = lines.runtimes(opened) if lines is not None and opened is not None else ()
        self._put(replace(self._reading, problem=None, opened=opened, runtimes=rows))

    def _fleet(
        self, source: FleetSource, name: str, kymas: tuple[Object, ...], catalog: tuple[Object, ...]
    ) -> FleetObjects:
        fleet = self._builder.build(name, kymas, catalog, self._settings, self._clock())
        missing = [namespace for namespace in fleet.namespaces if namespace not in self._settings]
        if missing:
            rules = {missing_namespace: source.rules(missing_namespace) for missing_namespace in missing}
            self._settings = {
                **self._settings,
                **{missing_namespace: settings for missing_namespace, (settings, _) in rules.items()},
            }
            self._notes = tuple(dict.fromkeys((*self._notes, *(note for _, notes in rules.values() for note in notes))))
        return replace(fleet, settings=self._settings, manifests=source.picture().manifests)

    def _read_files(self, fleet: FleetObjects) -> None:
        """Read the files if they differ from those of the last time; an error keeps the last change."""
        stamp = (change_stamp(self._path), fleet.namespaces)
        if stamp == self._stamp:
            if self._reading.problem is not None:
                raise self._reading.problem
            return
        path = Path(self._path)
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise ConfigurationError(f"{self._path} is neither a file nor a folder")
        self._stamp = stamp
        try:
            self._change = read_change(ChangeRequest(files=(self._path,)), fleet)
        except KymatuiError as error:
            self._reading = replace(self._reading, problem=error)
            raise
        again = self._reading.read_at > 0
        self._reading = replace(self._reading, problem=None, read_at=self._clock(), reread=again)

    def _put(self, reading: ForecastReading) -> None:
        """Deliver a reading unless it is the last one: the screen would draw thousands of lines again."""
        if any(getattr(reading, field.name) is not getattr(self._delivered, field.name) for field in fields(reading)):
            self._delivered = reading
            self._mailbox.put(_READING, reading)

    def _deliver_last(self, values: Mapping[str, object]) -> None:
        value = values.get(_READING)
        if isinstance(value, ForecastReading):
            self._deliver(value)


def _followed(source: FleetSource, on_change: Callable[[], None]) -> FleetObjectSource:
    follow = source.follow_objects(on_change)
    follow.start()
    return follow
