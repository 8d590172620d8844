"""The modules of the sample world as data: versions, CRDs, manifests, OCI packages, ModuleTemplates."""
