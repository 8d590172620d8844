"""Rows, columns and cells; filters, sorting and export of tables.

Pure data: imports neither Textual nor kymatui's widgets.
"""
