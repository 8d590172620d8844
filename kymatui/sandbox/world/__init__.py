"""The sample world: a cluster with Kyma modules in every situation that operators meet.

All content is written for kymatui: CRDs, modules, manifests and simulated operators. Module names are the public
ones; no code of the modules is used.
"""
