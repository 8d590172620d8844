"""Defaults and rules of pods, pod templates and the workloads that hold them."""
