"""The terminal and its files: themes, stylesheets, state symbols, the ASCII translation, files that a screen saves.
Imports no other part of the UI.
"""
