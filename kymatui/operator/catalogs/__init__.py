"""The catalog of the control plane, and its copies on runtimes: CRDs, ModuleTemplates and ModuleReleaseMetas.

What a runtime should have is decided in `domain.remote.catalog_sync`.
"""
