"""Sources of modules and what is installed from them. All but the fetchers moves to actions once charts are told of
their cluster there.
"""
