"""The two applications, the registry of their screens, and the commands that work everywhere. Nothing else imports
this folder.
"""
