"""Terminal and files: themes, stylesheets, state signs, the ASCII translation, saved files.

Imports no other part of the UI.
"""
