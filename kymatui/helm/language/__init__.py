"""Go's text/template with Helm's settings: lexing, parsing, compiling to Python functions, executing."""
