"""Rows, columns, cells and how tables are filtered, sorted and exported. Pure data; Textual and kymatui's widgets
are not known here.
"""
