"""Defaults and rules of built-in kinds; what they share with CRDs is in `kymatui.schemas`."""
