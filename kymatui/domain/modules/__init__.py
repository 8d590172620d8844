"""How one module is: whether it is installed, its manager, the readiness of its objects, customStateCheck, known
risks, and who acts next.
"""
