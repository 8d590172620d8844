"""Defaults and validation of pods, pod templates and workloads."""
