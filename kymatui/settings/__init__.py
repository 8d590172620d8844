"""What the user configures: one TOML file with a schema, environment variables, flags; the later wins.

settings = load_settings(os.environ)     # the file of KYMATUI_CONFIG, else of the platform's configuration folder
settings.theme, settings.context("prod-eu").read_only
"""
