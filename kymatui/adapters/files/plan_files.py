"""Plan files: JSON, or YAML by file extension."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from kymatui.adapters.files.user_files import write_private_file
from kymatui.engine.cluster.yaml_output import dump_yaml
from kymatui.engine.plans.plan import Plan
from kymatui.engine.plans.plan_json import plan_from_json, plan_to_json
from kymatui.errors import ConfigurationError


def save_plan(path: Path, plan: Plan) -> None:
    """Write a plan that only its owner may read. Raise ConfigurationError."""
    content = plan_to_json(plan)
    write_private_file(path, dump_yaml(json.loads(content)).encode() if _is_yaml(path) else content)


def read_plan(path: Path) -> Plan:
    """Return the plan of a file. Raise ConfigurationError if it is unreadable or holds no plan."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}") from error
    return plan_from_json(_as_json(content) if _is_yaml(path) else content)


def _is_yaml(path: Path) -> bool:
    return path.suffix.lower() in (".yaml", ".yml")


def _as_json(content: bytes) -> bytes:
    try:
        return json.dumps(yaml.safe_load(content)).encode()
    except (yaml.YAMLError, UnicodeDecodeError, TypeError, ValueError) as error:
        raise ConfigurationError(f"this file is not a plan: {error}") from error
