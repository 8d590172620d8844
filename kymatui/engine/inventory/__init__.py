"""Inventories of installed modules: their storage, ownership marks, and managed resources."""
