"""Evaluates what stands between {{ and }}."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

from kymatui.errors import HelmError
from kymatui.helm.functions import FUNCTIONS
from kymatui.helm.language.environment import Environment
from kymatui.helm.language.templates import TemplateSet

NOON = datetime(2024, 2, 29, 12, 30, 15, 250_000, tzinfo=UTC)


def repeatable(seed: int = 1, **more: Any) -> Environment:
    """An environment whose clock stands still and whose dice always fall the same way."""
    return Environment(random=random.Random(seed).randbytes, now=lambda: NOON, **more)


def render(template: str, values: dict[str, Any] | None = None, environment: Environment | None = None) -> str:
    parsed = TemplateSet.parse({"t": template}, FUNCTIONS)
    return parsed.execute("t", {"Values": values or {}}, environment or repeatable())


def evaluate(expression: str, values: dict[str, Any] | None = None, environment: Environment | None = None) -> str:
    """What an expression prints."""
    return render("{{ " + expression + " }}", values, environment)


def failure(expression: str, values: dict[str, Any] | None = None, environment: Environment | None = None) -> str:
    """What the function said that failed."""
    try:
        result = evaluate(expression, values, environment)
    except HelmError as error:
        text = str(error)
        return text.partition("error calling ")[2].partition(": ")[2] or text
    raise AssertionError(f"{expression} gave {result!r}")
