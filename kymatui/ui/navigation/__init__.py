"""What people type and where they go: steps with their history, the `:` command table, key names and keymaps.
Screens themselves are not known here.
"""
