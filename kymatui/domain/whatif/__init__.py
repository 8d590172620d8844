"""What a change of catalog, Kymas or lifecycle-manager's settings does to a fleet, computed before it is made.

Pure functions from the fleet's objects and a change to the outcome of each module in each runtime. Reading clusters and
files, and printing, are elsewhere.
"""
