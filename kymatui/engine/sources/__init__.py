"""Sources of bundles: charts, registry layers, components, kustomizations, Manifest installs.

All input is untrusted: sizes are limited, paths stay inside, digests are checked, and errors name file, document
and line. Sources write nothing, and fetch only through the Blobs port.
"""
