"""Modal screens that ask and return the answer: choice, confirmation, form, menu, plan. The caller decides what
follows.
"""
