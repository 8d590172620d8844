"""What commands print: tables, documents, and the parts that several commands print alike. No cluster is asked and
nothing is decided.
"""
