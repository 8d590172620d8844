"""Commands that start or set up a program: the screen, the demo, the sandbox, the operator, the configuration, shell
completion.
"""
