"""What is installed: inventories, the ConfigMaps and Helm release Secrets that store them, ownership marks, the
resources that a module manages.
"""
