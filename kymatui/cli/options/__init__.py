"""Options and questions that several commands have in common, and the way from them to an open session. No command
of its own.
"""
