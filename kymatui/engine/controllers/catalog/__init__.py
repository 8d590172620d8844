"""The catalog of runtimes: CRDs, ModuleTemplates and ModuleReleaseMetas, copied from the control plane.

What a runtime should have is decided in `domain.remote.catalog_sync`.
"""
