"""The user's settings: a TOML file with a schema, environment variables, flags; later ones win.

settings = load_settings(os.environ)     # the file of KYMATUI_CONFIG, else in the platform's configuration folder
settings.theme, settings.context("prod-eu").read_only
"""

THEME_NAMES = ("dark", "light", "high-contrast", "colour-blind", "mono", "terminal")
