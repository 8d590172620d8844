"""The schema node and the schemas of built-in kinds, with tables of facts that the models lack."""
