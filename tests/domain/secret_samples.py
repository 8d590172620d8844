"""Kinds of places where secrets are: bodies of objects, with `PLACED` where one is."""

from __future__ import annotations

import base64
import json
from typing import Any


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def text(content: str) -> dict[str, Any]:
    return {"data": {"c": content}}


def env(name: str, value: str = "PLACED") -> dict[str, Any]:
    return {"env": [{"name": "MODE", "value": "fast"}, {"name": name, "value": value}]}


PEM = "-----BEGIN {0}PRIVATE KEY-----\n{1}PLACED\n-----END {0}PRIVATE KEY-----"

VARIABLES = """
ENCRYPTION_KEY BASIC_AUTH DB_PASSWORD DB_PASS MYSQL_PWD PGPASSWORD API_TOKEN APIKEY CLIENT_SECRET
PASSPHRASE AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AZURE_CLIENT_SECRET GITHUB_PAT SIGNING_KEY_BASE64
SECRET_KEY_BASE COOKIE SESSION_COOKIE JWT OAUTH2_PROXY_COOKIE_SECRET DSN CONNECTION_STRING
STORAGE_ACCOUNT_KEY PASSWORD_OLD TOKEN_1 CREDS GOOGLE_CREDENTIALS LDAP_BINDPW REDIS_AUTH HMAC_KEY
LICENSE_KEY OTP SALT WEBHOOK dbPassword
"""
FIELDS = """
password signingKey clientSecret client_secret accessKeyId secretKey privateKey sharedAccessKey
connectionString sasToken kubeconfig htpasswd basicAuth authToken refresh_token idToken apikey passwd pwd
passphrase credentials tlsKey tls.key server.key id_rsa id_ed25519 password.txt bearerToken webhookSecret
encryptionKeys masterKey userPassword adminPass totp sessionId proxyAuthorization .dockerconfigjson
dockercfg netrc token_value ACCOUNT_KEY secretaccesskey clientsecret sshKey dsn secretString licenseKey
x-auth-token
"""

SAMPLES: dict[str, Any] = {
    # variables
    **{f"variable {name}": env(name) for name in VARIABLES.split()},
    "variable by its value": env("GREETING"),
    "variable with a URL": env("DATABASE_URL", "postgres://jane:PLACED@db:5432/x"),
    "value before the name": {"env": [{"value": "PLACED", "name": "API_TOKEN"}]},
    "environment as a map": {"environment": {"API_TOKEN": "PLACED", "MODE": "fast"}},
    "environment as a map, by its value": {"environment": {"GREETING": "PLACED"}},
    "pair of key and value": {"settings": [{"key": "db.password", "value": "PLACED"}]},
    "pair of header and value": {"headers": [{"name": "X-Api-Key", "value": "PLACED"}]},
    "pair of name and values": {"params": [{"name": "token", "values": ["PLACED"]}]},
    "default of a parameter": {"parameters": [{"parameter": "password", "default": "PLACED"}]},
    # fields
    **{f"field {name}": {name: "PLACED"} for name in FIELDS.split()},
    "list below such a name": {"tokens": ["PLACED"]},
    "list of such keys": {"apiKeys": ["a", "PLACED"]},
    "list of lists": {"passwords": [["PLACED"]]},
    "map below such a name": {"password": {"value": "PLACED"}},
    "map of such names": {"secrets": {"db": "PLACED", "mail": {"inner": "PLACED"}}},
    "map below credentials": {"credentials": {"user": "jane", "extra": "PLACED"}},
    "map with a name and a secret": {"secret": {"name": "api", "content": "PLACED"}},
    "key without a name": {"credentials": {"key": "PLACED"}},
    "keys of an encryption configuration": {"aescbc": {"keys": [{"name": "key1", "secret": "PLACED"}]}},
    "default in a schema": {"properties": {"password": {"type": "string", "default": "PLACED"}}},
    "pair in a list": {"settings": [["password", "PLACED"]]},
    "map of a registry": {"auths": {"r.example": {"auth": "PLACED", "username": "jane"}}},
    "webhook": {"slackWebhookUrl": "https://hooks.slack.com/services/T00/B00/PLACED"},
    "webhook on any host": {"webhookUrl": "https://chat.example.com/v1/PLACED"},
    # arguments
    "value of an argument": {"args": ["--encryption-key", "PLACED"]},
    "argument with a sign": {"args": ["--db-password=PLACED"]},
    "argument of Java": {"args": ["-Dspring.datasource.password=PLACED"]},
    "short argument of a program": {"command": ["mysql", "-u", "root", "-pPLACED"]},
    "short argument of a login": {"command": ["docker", "login", "-u", "jane", "-p", "PLACED", "r.example"]},
    "user and password of curl": {"command": ["curl", "-u", "jane:PLACED", "https://x.example"]},
    "header in an argument": {"command": ["curl", "-H", "Authorization: Bearer PLACED", "https://x.example"]},
    "chart value in an argument": {"args": ["--set", "auth.password=PLACED"]},
    "argument in a shell line": {"args": ["sh", "-c", "login --password PLACED"]},
    "argument on the next line": {"args": ["sh", "-c", "login \\\n  --password \\\n  PLACED"]},
    "assignment in a shell line": {"args": ["sh", "-c", "export TOKEN=PLACED; run"]},
    "assignment before a command": {"args": ["sh", "-c", "PGPASSWORD=PLACED psql -h db"]},
    "echo into a login": {"args": ["sh", "-c", "echo PLACED | docker login --password-stdin r.example"]},
    "sshpass in a shell line": {"args": ["sh", "-c", "sshpass -p PLACED ssh x"]},
    "curl in a shell line": {"args": ["sh", "-c", "curl -s -u jane:PLACED https://x.example"]},
    "literal of kubectl": {"args": ["sh", "-c", "kubectl create secret generic x --from-literal=p=PLACED"]},
    "default of a shell variable": {"args": ["sh", "-c", "login ${PASSWORD:-PLACED}"]},
    "openssl": {"args": ["sh", "-c", "openssl rsa -passin pass:PLACED -in key.pem"]},
    # texts in YAML and other languages
    "YAML": text("user: jane\npassword: PLACED\n"),
    "YAML in one line": text("{user: jane, password: PLACED}"),
    "block scalar": text("password: |\n  PLACED\n"),
    "folded scalar": text("a: 1\npassword: >-\n  some words\n  PLACED\nb: 2\n"),
    "YAML list below a name": text("tokens:\n- a\n- PLACED\n"),
    "YAML map below a name": text("secret:\n  inner:\n    deep: PLACED\n"),
    "YAML with a tag and an anchor": text("password: !!str &p PLACED\n"),
    "YAML with quotes of several lines": text('password: "some\n  PLACED"\n'),
    "YAML with a question mark": text("? password\n: PLACED\n"),
    "YAML of variables": text("env:\n  - name: API_TOKEN\n    value: PLACED\n"),
    "YAML of variables, value first": text("env:\n  - value: PLACED\n    name: API_TOKEN\n"),
    "YAML of arguments": text("args:\n  - --password\n  - PLACED\n"),
    "YAML that is a template": text("{{ if .x }}\npassword: PLACED\n{{ end }}\n"),
    "template with a block": text("{{ if .x }}\nconfig:\n  password: |-\n    PLACED\n{{ end }}\n"),
    "comment in YAML": text("a: 1\n# old password: PLACED\n"),
    "Secret in YAML": text("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {p: PLACED}\n"),
    "ConfigMap in a list": {"items": [{"apiVersion": "v1", "kind": "ConfigMap", "data": {"p": "PLACED"}}]},
    "Secret in a list": {"items": [{"apiVersion": "v1", "kind": "Secret", "data": {"p": "PLACED"}}]},
    "kubeconfig": text("users:\n- name: u\n  user:\n    token: PLACED\n    client-key-data: PLACED\n"),
    "JSON": text(json.dumps({"user": "jane", "password": "PLACED"})),
    "JSON of several lines": text(json.dumps({"a": [{"password": {"value": "PLACED"}}]}, indent=2)),
    "JSON after other words": text("config is " + json.dumps({"token": ["PLACED"]}) + " now"),
    "escaped JSON": text('{\\"password\\":\\"PLACED\\"}'),
    "JSON in JSON": text(json.dumps({"config": json.dumps({"password": "PLACED"})})),
    "JSON in JSON in JSON": text(json.dumps({"c": json.dumps({"c": json.dumps({"password": "PLACED"})})})),
    "unfinished JSON": text('{"user": "jane", "password": "PLACED"'),
    "JSON of Python": text("{'user': 'jane', 'password': 'PLACED'}"),
    "escapes of HTML": text("{&quot;password&quot;:&quot;PLACED&quot;}"),
    "escapes of Unicode": text("\\u0022password\\u0022:\\u0022PLACED\\u0022"),
    "escapes of URLs": text("config=%7B%22password%22%3A%22PLACED%22%7D"),
    "aligned assignment": text("password     = PLACED\n"),
    "properties": text("spring.datasource.password=PLACED\nspring.datasource.url=jdbc:h2:mem\n"),
    "properties of several lines": text("password=abc\\\n  PLACED\nx=1\n"),
    "INI": text("[db]\npassword = correct horse PLACED\n"),
    "TOML": text('[db]\npassword = "PLACED"\n'),
    "TOML of several lines": text('[db]\npassword = """\nPLACED"""\nx = 1\n'),
    "HCL": text('resource "x" {\n  client_secret = "PLACED"\n}\n'),
    "heredoc": text("password = <<EOF\nPLACED\nEOF\nx = 1\n"),
    "dotenv": text("export API_TOKEN='PLACED'\nMODE=fast\n"),
    "Dockerfile": text("FROM x\nENV API_TOKEN PLACED\nARG DB_PASSWORD=PLACED\n"),
    "Makefile": text("PASSWORD ?= PLACED\n"),
    "Ruby": text("config = { :password => 'PLACED' }"),
    "XML": text("<db><password>PLACED</password></db>"),
    "XML with CDATA": text("<password><![CDATA[PLACED]]></password>"),
    "XML with attributes": text('<db user="jane" password="PLACED"/>'),
    "XML with name and value": text('<property name="password" value="PLACED"/>'),
    "XML with a key": text('<entry key="db.password">PLACED</entry>'),
    "property list": text("<key>password</key><string>PLACED</string>"),
    "redis.conf": text("port 6379\nrequirepass PLACED\n"),
    "netrc": text("machine x.example login jane password PLACED\n"),
    "npmrc": text("//registry.npmjs.org/:_authToken=PLACED\n"),
    "pgpass": text("db.example:5432:app:jane:PLACED\n"),
    "SQL": text("CREATE USER jane IDENTIFIED BY 'PLACED';"),
    "SQL of PostgreSQL": text("CREATE ROLE jane WITH PASSWORD 'PLACED';"),
    "hash of htpasswd": text("jane:$apr1$PLACED$PLACED\n"),
    "hash of bcrypt": text("jane:$2y$10$PLACED\n"),
    "hash of LDAP": text("userPassword: {SSHA}PLACED\n"),
    "curl configuration": text('header = "Authorization: Bearer PLACED"\n'),
    # PEM and keys
    "PEM": {"k": PEM.format("RSA ", "")},
    "encrypted PEM": {"k": PEM.format("RSA ", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n")},
    "PEM of OpenSSH": {"k": PEM.format("OPENSSH ", "")},
    "PEM without an end": {"k": "-----BEGIN PRIVATE KEY-----\nPLACED"},
    "PEM in one line": {"k": PEM.format("EC ", "").replace("\n", "\\n")},
    "PGP": {"k": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nPLACED\n-----END PGP PRIVATE KEY BLOCK-----"},
    "PEM in YAML": text("key: |\n  -----BEGIN PRIVATE KEY-----\n  PLACED\n  -----END PRIVATE KEY-----\n"),
    # URLs
    "login in a URL": {"url": "https://jane:PLACED@x.example/a"},
    "token in a URL": {"url": "https://PLACED@github.example/a"},
    "password with a slash in a URL": {"url": "https://jane:a/PLACED@x.example/a"},
    "password of redis": {"url": "redis://:PLACED@cache:6379/0"},
    "two hosts": {"url": "mongodb+srv://jane:PLACED@a.example,b.example/x"},
    "DSN of MySQL": {"source": "jane:PLACED@tcp(db:3306)/x"},
    "DSN of key and value": {"source": "host=db user=jane password=PLACED dbname=x"},
    "connection of SQL Server": {"source": "Server=db;User Id=sa;Password=PLACED;"},
    "connection of Azure": {"source": "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=PLACED;"},
    "connection of JDBC": {"source": "jdbc:postgresql://db/x?user=jane&password=PLACED"},
    "connection of Oracle": {"source": "jdbc:oracle:thin:scott/PLACED@db:1521:x"},
    "query of a webhook": {"url": "https://x.example/hook?key=PLACED"},
    "query with a code": {"url": "https://x.example/callback?code=PLACED&state=x"},
    "query of a signed URL": {"url": "https://a.blob.example/c?sv=2020&sig=PLACED"},
    "fragment": {"url": "https://x.example/#access_token=PLACED"},
    "webhook of Discord": {"url": "https://discord.com/api/webhooks/1/PLACED"},
    "bot of Telegram": {"url": "https://api.telegram.org/bot1:PLACED/send"},
    # texts of people and programs
    "bearer header": {"message": "sent Authorization: Bearer PLACED to x"},
    "token header": {"message": "Authorization: Token PLACED"},
    "basic header": {"message": "got Basic PLACED"},
    "API header": {"message": "X-Api-Key: PLACED"},
    "cookie header": {"message": "Cookie: a=1; session=PLACED"},
    "answer with a cookie": {"message": "Set-Cookie: sid=PLACED; Path=/"},
    "log line": {"message": 'level=info msg="login" password=PLACED user=jane'},
    "log line in JSON": {"message": 'x {"level":"info","token":"PLACED"}'},
    "log line with a colon": {"message": "using password: PLACED for jane"},
    "log line in words": {"message": "the password for jane is PLACED"},
    "request line": {"message": 'GET /callback?code=PLACED HTTP/1.1" 200'},
    "Go map": {"message": "map[password:PLACED user:jane]"},
    "Go struct": {"message": "&{User:jane Password:PLACED}"},
    "token of GitHub": {"message": "uses ghp_PLACED"},
    "token of GitLab": {"message": "uses glpat-PLACED"},
    "token of Slack": {"message": "uses xoxb-PLACED"},
    "token of Stripe": {"message": "uses sk_live_PLACED"},
    "token of Vault": {"message": "uses hvs.PLACED"},
    # annotations and repeated objects
    "object repeated by kubectl": {
        "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": '{"data":{"p":"PLACED"}}'}}
    },
    "object repeated by another tool": {
        "metadata": {"annotations": {"objectset.rio.cattle.io/applied": '{"data":{"p":"PLACED"}}'}}
    },
    "annotation of any name": {"metadata": {"annotations": {"example.org/note": "PLACED"}}},
    "annotation of a pod template": {"template": {"metadata": {"annotations": {"x": "PLACED"}}}},
    "Secret in a Manifest": {
        "resource": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"x": "PLACED"}}
    },
    # others
    "key of TLS": {"tls": {"key": "PLACED", "crt": "x"}},
    "stringData without a kind": {"template": {"stringData": {"a": "PLACED"}}},
    "name with spaces": {"client secret": "PLACED"},
    "basic in auth": {"auth": {"basic": "jane:PLACED"}},
    "header of a probe": {"httpGet": {"httpHeaders": [{"name": "X-Auth", "value": "PLACED"}]}},
    "login of LDAP": {"url": "ldap://cn=admin,dc=x:PLACED@host"},
    "key in the path of a URL": {"url": "https://maker.example.com/trigger/x/key/PLACED"},
    "routing key": {"routing_key": "PLACED"},
    "header of Azure": {"message": "Ocp-Apim-Subscription-Key: PLACED"},
    "constant of PHP": text("define('DB_PASSWORD', 'PLACED');"),
    "text of Python": text('password = """PLACED"""'),
    "text of Lua": text("password = [[PLACED]]"),
    "nginx": text('proxy_set_header Authorization "Basic PLACED";'),
    "fluent-bit": text("[OUTPUT]\n    HTTP_User    jane\n    HTTP_Passwd  PLACED\n"),
    "Prometheus": text("basic_auth:\n  username: jane\n  password: PLACED\n"),
    "systemd": text('[Service]\nEnvironment="API_TOKEN=PLACED"\n'),
    "PowerShell": text('$env:API_TOKEN = "PLACED"'),
    "JAAS": text('org.x.PlainLoginModule required username="a" password="PLACED";'),
    "form": {"message": "POST user=jane&password=PLACED"},
    "form of several parts": text('Content-Disposition: form-data; name="password"\r\n\r\nPLACED\r\n--x'),
    "GraphQL": {"message": 'login(user: "jane", password: "PLACED")'},
    "log line with colours": {"message": "\x1b[31mpassword\x1b[0m=PLACED"},
    "variables of a shell": {"message": 'declare -x DB_PASSWORD="PLACED"'},
    "htpasswd": {"args": ["sh", "-c", "htpasswd -nb jane PLACED > /x"]},
    "password of LDAP in plain": text("userPassword: {CLEAR}PLACED\n"),
    "WPA": text('network={\n  psk="PLACED"\n}\n'),
    "escapes of YAML": text('"\\x70assword": PLACED\n'),
    "escapes of JSON": text('{"\\u0070assword": "PLACED"}'),
    "Helm values": {
        "helm": {"values": "auth:\n  rootPassword: PLACED\n", "parameters": [{"name": "a.token", "value": "PLACED"}]}
    },
    "default of a shell function": {"args": ["sh", "-c", 'login "${1:-user}" "${API_KEY:=PLACED}"']},
    "wget": {"args": ["sh", "-c", "wget --http-user=a --http-password=PLACED https://x.example"]},
    "kubectl": {"args": ["sh", "-c", "kubectl config set-credentials x --token=PLACED"]},
    "Kafka": text('sasl.jaas.config=x required user="a" password="PLACED";\nssl.keystore.password=PLACED\n'),
    "list of assignments": {"extraArgs": ["client-secret=PLACED"]},
    "status of a resource": {
        "status": {"conditions": [{"type": "Ready", "message": "login with token=PLACED failed"}]}
    },
    # encoded
    "base64 of YAML": text(b64("user: jane\npassword: PLACED\n")),
    "base64 of JSON": text(b64('{"token":"PLACED"}')),
    "base64 of a URL": text(b64("https://jane:PLACED@x.example")),
    "base64 of base64": text(b64(b64("password=PLACED"))),
    "base64 of PEM": text(b64(PEM.format("", ""))),
    "base64 in a line": text(f"config: {b64('password: PLACED')} end"),
    "basic header in base64": {"message": f"Authorization: Basic {b64('jane:PLACED')}"},
    "docker configuration in base64": text(b64(json.dumps({"auths": {"r": {"auth": b64("jane:PLACED")}}}))),
}
"""By what they are: an object's body with PLACED in it, plain or in base64."""

TOKENS = {
    "JWT": "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJqYW5lIn0.c2lnbmF0dXJlLW9mLWphbmU",
    "access key of AWS": "AKIAIOSFODNN7EXAMPLE",
    "secret key of AWS": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "key of Google": "AIzaSyA-1234567890abcdefghijklmnopqrstu",
    "key of Azure": "Zm9vYmFyYmF6cXV4MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6QUJDREVGRw==",
    "hexadecimal": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "release of Helm": "H4sIAAAAAAAC/8yUX2vbMBTFv0rQs+xIdpw4hj2U0LFBKX1YX8YwN9J1o0WWjCSn5NtPtpOt",
    "random text": "Xk29fLq0PzR7mVbT4wHs",
    "random text without digits": "QwErTyUiOpAsDfGhJkLzXcVb",
    "bootstrap token of Kubernetes": "abcdef.0123456789abcdef",
    "token of OpenAI": "sk-proj-abcdefgh12345678",
}
"""Secrets that are known by their looks alone."""
