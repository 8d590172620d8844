"""Typed commands and navigation: steps with history, the `:` command table, key names and keymaps.

This folder imports no screen.
"""
