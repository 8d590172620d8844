"""Go's text/template with Helm's settings: lexer, parser, compiler to Python functions, runtime."""
