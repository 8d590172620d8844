"""One folder for each group of commands; a command parses, calls an action and prints. Loaded by name out of
command_table.
"""
