"""YAML as Helm reads and writes it."""

from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import documents, load_as_json, load_exactly, load_yaml
from kymatui.helm.yaml.writing import dump_yaml, dump_yaml_pretty

__all__ = ["YamlError", "documents", "dump_yaml", "dump_yaml_pretty", "load_as_json", "load_exactly", "load_yaml"]
