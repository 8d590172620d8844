"""The objects that let a Prometheus Operator scrape kymatui's operator and alert on it."""

from __future__ import annotations

from typing import Any, Final

from kymatui.operator.monitoring.operator_metrics import (
    KYMA_STATE,
    RECONCILE_ERRORS,
    RECONCILE_PANICS,
    RECONCILE_TOTAL,
    WORKQUEUE_DEPTH,
)

MONITORING: Final = "monitoring.coreos.com/v1"
SCRAPE_INTERVAL: Final = "30s"
_ERROR_RATIO: Final = 0.5  # of a controller's reconciliations
_LONG_QUEUE: Final = 100  # objects that wait for a worker


def service_monitor_spec(labels: dict[str, str]) -> dict[str, Any]:
    """Return the spec of a ServiceMonitor for the Service with these labels."""
    return {"selector": {"matchLabels": labels}, "endpoints": [{"port": "metrics", "interval": SCRAPE_INTERVAL}]}


def prometheus_rule_spec(name: str, namespace: str) -> dict[str, Any]:
    """Return the spec of a PrometheusRule; `name` is that of the Service, which Prometheus takes for the job."""
    job = f'job="{name}",namespace="{namespace}"'
    errors = f"sum by (controller) (rate({RECONCILE_ERRORS.name}{{{job}}}[10m]))"
    total = f"sum by (controller) (rate({RECONCILE_TOTAL.name}{{{job}}}[10m]))"
    rules = [
        _rule(
            "KymatuiOperatorDown",
            f"absent(up{{{job}}} == 1)",
            "5m",
            "critical",
            "No Pod of kymatui's operator answers; Kymas and modules are not reconciled.",
        ),
        _rule(
            "KymatuiOperatorKymaError",
            f'max by (kyma_name) ({KYMA_STATE.name}{{{job},state="Error"}}) == 1',
            "15m",
            "warning",
            "Kyma {{ $labels.kyma_name }} has been in state Error for 15 minutes.",
        ),
        _rule(
            "KymatuiOperatorReconcileErrors",
            f"{errors} / {total} > {_ERROR_RATIO}",
            "15m",
            "warning",
            "Most reconciliations of controller {{ $labels.controller }} fail.",
        ),
        _rule(
            "KymatuiOperatorBug",
            f"sum by (controller) (increase({RECONCILE_PANICS.name}{{{job}}}[1h])) > 0",
            "1m",
            "warning",
            "A bug ended reconciliations of controller {{ $labels.controller }}; the log has its traceback.",
        ),
        _rule(
            "KymatuiOperatorQueue",
            f"max by (name) ({WORKQUEUE_DEPTH.name}{{{job}}}) > {_LONG_QUEUE}",
            "15m",
            "warning",
            "{{ $value }} objects wait for controller {{ $labels.name }}.",
        ),
    ]
    return {"groups": [{"name": name, "rules": rules}]}


def _rule(alert: str, expression: str, duration: str, severity: str, summary: str) -> dict[str, Any]:
    return {
        "alert": alert,
        "expr": expression,
        "for": duration,
        "labels": {"severity": severity},
        "annotations": {"summary": summary},
    }
