"""YAML as Helm reads and writes it."""
