"""Counters, gauges and histograms, and their text format for Prometheus (version 0.0.4)."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

from kymatui.first_use import dataclass

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[str, ...]


class MetricType(StrEnum):
    """The types of metrics."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """The description of a metric; `buckets` are the upper bounds of a histogram, in its unit."""

    name: str
    help: str
    type: MetricType
    labels: Labels = ()
    buckets: tuple[float, ...] = ()


class _Histogram:
    """The observations of one series."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0


class MetricRegistry:
    """The series of known metrics; thread-safe."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = {metric.name: metric for metric in metrics}
        self._lock = threading.Lock()
        self._values: dict[str, dict[Labels, float]] = {metric.name: {} for metric in metrics}
        self._histograms: dict[str, dict[Labels, _Histogram]] = {metric.name: {} for metric in metrics}
        self._sources: dict[Metric, Callable[[], Mapping[Labels, float]]] = {}

    def read_from(self, metric: Metric, source: Callable[[], Mapping[Labels, float]]) -> None:
        """Ask `source` for all series of a metric whenever the metrics are read."""
        with self._lock:
            self._sources[metric] = source

    def set(self, metric: Metric, value: float, *labels: str) -> None:
        with self._lock:
            self._values[metric.name][labels] = value

    def add(self, metric: Metric, amount: float, *labels: str) -> None:
        with self._lock:
            series = self._values[metric.name]
            series[labels] = series.get(labels, 0.0) + amount

    def observe(self, metric: Metric, value: float, *labels: str) -> None:
        """Add an observation to a histogram."""
        with self._lock:
            found = self._histograms[metric.name].setdefault(labels, _Histogram(metric.buckets))
            found.counts[bisect_left(metric.buckets, value)] += 1
            found.sum += value

    def replace(self, metric: Metric, series: Mapping[Labels, float], **labels: str) -> None:
        """Set these series and remove all others that have these labels."""
        places = [(metric.labels.index(name), value) for name, value in labels.items()]
        with self._lock:
            known = self._values[metric.name]
            for key in [one for one in known if all(one[at] == value for at, value in places)]:
                del known[key]
            known.update(series)

    def text(self) -> str:
        """Return all series in the text format."""
        for metric, source in list(self._sources.items()):
            self.replace(metric, source())
        with self._lock:
            lines = [line for metric in self._metrics.values() for line in self._lines(metric)]
        return "\n".join(lines) + "\n"

    def _lines(self, metric: Metric) -> Iterator[str]:
        values, histograms = self._values[metric.name], self._histograms[metric.name]
        if not values and not histograms:
            return
        yield f"# HELP {metric.name} {_escaped(metric.help, quotes=False)}"
        yield f"# TYPE {metric.name} {metric.type}"
        for labels, value in sorted(values.items()):
            yield f"{metric.name}{_written(zip(metric.labels, labels, strict=True))} {_number(value)}"
        for labels, found in sorted(histograms.items(), key=lambda item: item[0]):
            yield from _histogram_lines(metric, labels, found)


def _histogram_lines(metric: Metric, labels: Labels, found: _Histogram) -> Iterator[str]:
    named = list(zip(metric.labels, labels, strict=True))
    total = 0
    for bound, count in zip((*metric.buckets, float("inf")), found.counts, strict=True):
        total += count
        yield f"{metric.name}_bucket{_written([*named, ('le', _number(bound))])} {total}"
    yield f"{metric.name}_sum{_written(named)} {_number(found.sum)}"
    yield f"{metric.name}_count{_written(named)} {total}"


def _written(labels: Iterable[tuple[str, str]]) -> str:
    pairs = [f'{name}="{_escaped(value)}"' for name, value in labels]
    return f"{{{','.join(pairs)}}}" if pairs else ""


def _escaped(text: str, *, quotes: bool = True) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quotes else text


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(value)
