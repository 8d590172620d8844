"""Plan files: JSON, or YAML by file extension."""

from __future__ import annotations

from pathlib import Path

from kymatui.adapters.files.user_files import write_private_file
from kymatui.engine.bundles.yaml_objects import read_file
from kymatui.engine.cluster.yaml_output import dump_yaml
from kymatui.engine.plans.plan import MOST_VALUES, Plan, plan_from_document, plan_from_json, plan_to_json
from kymatui.errors import ConfigurationError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.limits import LARGEST_TEXT, YamlBudget
from kymatui.helm.yaml.reading import load_exactly
from kymatui.json_input import read_json


def save_plan(path: Path, plan: Plan) -> None:
    """Write a plan that only its owner may read. Raise ConfigurationError."""
    content = plan_to_json(plan)
    if _is_yaml(path):
        content = dump_yaml(read_json(content, most=MOST_VALUES)).encode()
    if len(content) > LARGEST_TEXT:  # read_plan would refuse it
        raise ConfigurationError(
            f"the plan has more than {LARGEST_TEXT >> 20} MiB", hint="plan fewer modules at a time"
        )
    write_private_file(path, content)


def read_plan(path: Path) -> Plan:
    """Return the plan of a file, which another person may have written. Raise ConfigurationError."""
    content = read_file(path)
    if not _is_yaml(path):
        return plan_from_json(content)
    try:
        document = load_exactly(content, budget=YamlBudget(MOST_VALUES))
    except YamlError as error:
        raise ConfigurationError(f"this file is not a plan: {error.summary}") from None
    return plan_from_document(document)


def _is_yaml(path: Path) -> bool:
    return path.suffix.lower() in (".yaml", ".yml")
