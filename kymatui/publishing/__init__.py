"""Publishing, a wing: modules from their sources to signed components in registries; what `kymatui bundle` does.

Nothing of the core imports it; the commands of `kymatui bundle` do, late. Components that are read, verified and
installed are the core's (`actions/components`).
"""
