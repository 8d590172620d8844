"""Names that nothing in the package calls and that stay, each with its reason; read by vulture in `.ci/run`.

Run `vulture kymatui tests/unused.py`. A name leaves this list with the code that it stands for.
"""

# ruff: noqa: B018, F821
# mypy: ignore-errors

# Commands are found by name when they run (`kymatui/cli/command_table.py`: "module:NAME").
HELP, INSTALL, MATRIX, PLAN, UPGRADE

# Template functions are found by name (`kymatui/helm/functions`: "module:name").
build_custom_cert, decrypt_aes, derive_password, encrypt_aes, gen_ca, gen_ca_with_key, gen_private_key
gen_self_signed, gen_self_signed_with_key, gen_signed, gen_signed_with_key, htpasswd
_APIVersions, _.Major, _._Minor, _._Major  # .Capabilities

# Attributes of other libraries' objects.
_.log_errors  # re2.Options
_.error_console  # textual.App
_.writelines  # io.TextIOBase
_.get_redirect_target, _.auth  # requests.Session
_.num_tickets  # ssl.SSLContext
_.mtime  # tarfile.TarInfo
_.no_proxy, _.proxy_headers, _.verify_ssl, _.tls_server_name, _.connection_pool_maxsize, _.socket_options
_.retries  # kubernetes.client.Configuration

# Read by tests, and by operators in JSON.
ManualClock  # the sandbox's clock in tests
WORDS  # the faults that the sandbox knows
_.agent  # in the sandbox's log of requests
_.documentation
glossary_markdown  # the page of docs/guide that tests/reference.py writes

# Pure functions with lifecycle-manager's own answers, held by tests against its behaviour.
klm_manager_state, modules_condition

# Called by kubectl and by Textual.
print_completion, get_theme_variable_defaults, AUTO_FOCUS
_.check_action, _._render_markup

# Called and read by http.server.
server_version, sys_version
_.raw_requestline, _.log_message

# Called and read by argparse, the last two from Python 3.14 on.
_._check_value, _._set_color, _._decolor

# The library, for those who install modules with private registries.
with_pull_secret, PULL_SECRET_VARIABLE

# An option of a list, by its name.
with_managed_fields
