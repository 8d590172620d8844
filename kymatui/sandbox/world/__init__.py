"""The sample world: a cluster with Kyma modules in every situation an operator meets, and what keeps it moving.

Everything here is kymatui's own text: definitions, modules, manifests and simulated operators. Names of modules are the
public ones; nothing of their sources is used.
"""
