"""Use cases of module bundles: what `kymatui bundle` does with configs, components and registries."""
