"""Counters, gauges and histograms, and their text format for Prometheus (version 0.0.4)."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain
from typing import Final

from msgspec import Struct

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[str, ...]


class MetricType(StrEnum):
    """The types of metrics."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(Struct, frozen=True):
    """The description of a metric; `buckets` are the upper bounds of a histogram, in its unit.

    `index` is the label by which `replace` finds series without reading those of a whole fleet.
    """

    name: str
    help: str
    type: MetricType
    labels: Labels = ()
    buckets: tuple[float, ...] = ()
    index: str = ""


class _Histogram:
    """The observations of one series."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def copy(self) -> _Histogram:
        copied = _Histogram(())
        copied.counts, copied.sum = list(self.counts), self.sum
        return copied


class _Series(Struct, frozen=True):
    """All series of a metric at one moment."""

    metric: Metric
    values: Sequence[Mapping[Labels, float]]
    histograms: Mapping[Labels, _Histogram]


class MetricRegistry:
    """The series of known metrics; thread-safe."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = {metric.name: metric for metric in metrics}
        self._lock = threading.Lock()
        # by metric and value of its index, "" without one
        self._values: dict[str, dict[str, dict[Labels, float]]] = {metric.name: {} for metric in metrics}
        self._histograms: dict[str, dict[Labels, _Histogram]] = {metric.name: {} for metric in metrics}
        self._sources: dict[Metric, Callable[[], Mapping[Labels, float]]] = {}

    def read_from(self, metric: Metric, source: Callable[[], Mapping[Labels, float]]) -> None:
        """Ask `source` for all series of a metric whenever the metrics are read."""
        with self._lock:
            self._sources[metric] = source

    def set(self, metric: Metric, value: float, *labels: str) -> None:
        with self._lock:
            self._group(metric, labels)[labels] = value

    def add(self, metric: Metric, amount: float, *labels: str) -> None:
        with self._lock:
            series = self._group(metric, labels)
            series[labels] = series.get(labels, 0.0) + amount

    def observe(self, metric: Metric, value: float, *labels: str) -> None:
        """Add an observation to a histogram."""
        with self._lock:
            histogram = self._histograms[metric.name].setdefault(labels, _Histogram(metric.buckets))
            histogram.counts[bisect_left(metric.buckets, value)] += 1
            histogram.sum += value

    def replace(self, metric: Metric, series: Mapping[Labels, float], **labels: str) -> None:
        """Set these series and remove all others that have these labels."""
        positions = [(metric.labels.index(name), value) for name, value in labels.items()]
        with self._lock:
            groups = self._values[metric.name]
            for name in [labels[metric.index]] if metric.index in labels else list(groups):
                known = groups.get(name, {})
                for key in [key for key in known if all(key[at] == value for at, value in positions)]:
                    del known[key]
                if not known:
                    groups.pop(name, None)
            for key, value in series.items():
                self._group(metric, key)[key] = value

    def _group(self, metric: Metric, labels: Labels) -> dict[Labels, float]:
        """Return the series with the same value of the index; call it under the lock."""
        name = labels[metric.labels.index(metric.index)] if metric.index else ""
        return self._values[metric.name].setdefault(name, {})

    def text(self) -> str:
        """Return all series in the text format."""
        for metric, source in list(self._sources.items()):
            self.replace(metric, source())
        with self._lock:  # reconciliations wait for it, so the lines are written afterwards
            series = [self._copy(metric) for metric in self._metrics.values()]
        return "\n".join(line for metric_series in series for line in _lines(metric_series)) + "\n"

    def _copy(self, metric: Metric) -> _Series:
        values = [dict(group) for group in self._values[metric.name].values()]
        histograms = {labels: histogram.copy() for labels, histogram in self._histograms[metric.name].items()}
        return _Series(metric, values, histograms)


def _lines(series: _Series) -> Iterator[str]:
    metric, values = series.metric, sorted(chain.from_iterable(group.items() for group in series.values))
    if not values and not series.histograms:
        return
    yield f"# HELP {metric.name} {_escaped(metric.help, quotes=False)}"
    yield f"# TYPE {metric.name} {metric.type}"
    for labels, value in values:
        yield f"{metric.name}{_written(zip(metric.labels, labels, strict=True))} {_number(value)}"
    for labels, histogram in sorted(series.histograms.items(), key=lambda item: item[0]):
        yield from _histogram_lines(metric, labels, histogram)


def _histogram_lines(metric: Metric, labels: Labels, histogram: _Histogram) -> Iterator[str]:
    named = list(zip(metric.labels, labels, strict=True))
    total = 0
    for bound, count in zip((*metric.buckets, float("inf")), histogram.counts, strict=True):
        total += count
        yield f"{metric.name}_bucket{_written([*named, ('le', _number(bound))])} {total}"
    yield f"{metric.name}_sum{_written(named)} {_number(histogram.sum)}"
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
