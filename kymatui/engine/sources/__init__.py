"""Where bundles come from: raw YAML, charts, layers of a registry, kustomizations, and the installs of a Manifest.

Everything that is read here is taken for hostile: sizes are bounded, paths stay within, digests are checked, and an
error names the file, the document and the line. Nothing is written, and nothing is fetched but through the Blobs port.
"""
