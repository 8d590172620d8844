"""Scanner of TOML with BurntSushi/toml's messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NoReturn

from kymatui.helm.govalues.quoting import quote, quote_rune
from kymatui.helm.govalues.text import to_bytes
from kymatui.helm.govalues.unicode import is_letter

_BARE: Final = re.compile(r"[A-Za-z0-9_-]*")
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_HEX: Final = re.compile(r"[0-9A-Fa-f]*")

QuotedText = Callable[[str, str], str]


class TomlSyntaxError(ValueError):
    """A text that is not TOML; the message is Go's."""


def quoted_key(key: str) -> str:
    """Return a key for display, quoted unless it is bare."""
    if _BARE_KEY.fullmatch(key):
        return key
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


class TomlScanner:
    def __init__(self, text: str) -> None:
        self.text = text.removeprefix("\ufeff")
        self.position = 0
        self.at_end = False
        self.token_line = 1
        self.key_line = 1
        self.last_key: Callable[[], str] = str
        if "\0" in self.text[:6]:
            raise TomlSyntaxError(
                "toml: line 1: files cannot contain NULL bytes; probably using UTF-16; TOML files must be UTF-8"
            )

    # Errors and their lines.

    def complain(self, message: str) -> NoReturn:
        """Raise an error at the last token."""
        self._raise(self.token_line, message)

    def complain_of_key(self, message: str) -> NoReturn:
        """Raise an error at the last key."""
        self._raise(self.key_line, message)

    def fail(self, message: str) -> NoReturn:
        """Raise an error at the current position."""
        line = self._line()
        if self.at_end and self.text[self.position - 1 : self.position] == "\n":
            line -= 1
        self._raise(line, message)

    def fail_before(self, message: str) -> NoReturn:
        """Raise an error at the line before."""
        self._raise(self._line() - 1, message)

    def _line(self) -> int:
        return self.text.count("\n", 0, self.position) + 1

    def _raise(self, line: int, message: str) -> NoReturn:
        key = self.last_key()
        where = f"line {line} (last key {quote(key)})" if key else f"line {line}"
        raise TomlSyntaxError(f"toml: {where}: {message}")

    # Characters.

    def take(self) -> str:
        """Return the next character, "" at the end."""
        if self.position >= len(self.text):
            self.at_end = True
            return ""
        character = self.text[self.position]
        if "\udc80" <= character <= "\udcff":
            self.fail(f"invalid UTF-8 byte: 0x{to_bytes(character)[0]:02x}")
        if (character < " " and character not in "\t\r\n") or character == "\x7f" or self._is_lone_return(character):
            self.fail(f"TOML files cannot contain control characters: '0x{ord(character):02x}'")
        self.position += 1
        return character

    def _is_lone_return(self, character: str) -> bool:
        return character == "\r" and not self.text.startswith("\r\n", self.position)

    def back(self) -> None:
        if self.at_end:
            self.at_end = False
        else:
            self.position -= 1

    def peek(self) -> str:
        character = self.take()
        self.back()
        return character

    def accept(self, character: str) -> bool:
        if self.take() == character:
            return True
        self.back()
        return False

    def skip_blanks(self) -> None:
        while self.peek() in ("\t", " "):
            self.position += 1

    def skip_space(self) -> str:
        """Skip blanks, line breaks and comments; return the next character."""
        while True:
            character = self.peek()
            if character == "#":
                self.skip_comment()
            elif character and character in "\t \r\n":
                self.position += 1
            else:
                return character

    def skip_comment(self) -> None:
        while self.peek() not in ("", "\n", "\r"):
            self.position += 1

    def shown(self, character: str) -> str:
        return quote_rune(ord(character) if character else 0)

    # Statements and names.

    def to_next_statement(self) -> bool:
        self.skip_space()
        return self.peek() != ""

    def end_of_statement(self) -> None:
        self.skip_blanks()
        character = self.take()
        if character == "#":
            self.skip_comment()
        elif character not in ("", "\n", "\r"):
            self.fail(
                "expected a top-level item to end with a newline, comment, or EOF, "
                f"but got {self.shown(character)} instead"
            )
        self.at_end = False

    def table_name(self, quoted_text: QuotedText) -> tuple[str, ...]:
        parts: list[str] = []
        self.key_line = self._line()
        while True:
            self.skip_blanks()
            character = self.peek()
            if character in ("", "]"):
                self.fail("unexpected end of table name (table names cannot be empty)")
            if character == ".":
                self.fail("unexpected table separator (table names cannot be empty)")
            parts.append(self.name(quoted_text))
            self.skip_blanks()
            character = self.take()
            if character == "]":
                return tuple(parts)
            if character != ".":
                self.fail(f"expected '.' or ']' to end table name, but got {self.shown(character)} instead")

    def closing_bracket(self) -> None:
        character = self.take()
        if character != "]":
            self.fail(f"expected end of table array name delimiter ']', but got {self.shown(character)} instead")

    def key(self, quoted_text: QuotedText) -> tuple[str, ...]:
        """Read a dotted key and the "=" after it."""
        self.skip_blanks()
        character = self.peek()
        if character in ("", "="):
            self.fail("unexpected '=': key name appears blank")
        if character == ".":
            self.fail("unexpected '.': keys cannot start with a '.'")
        self.key_line = self._line()
        parts: list[str] = []
        while True:
            self.skip_blanks()
            character = self.peek()
            if character in ("", "=", "."):
                self.fail(f"unexpected '{character or '='}'")
            parts.append(self.name(quoted_text))
            self.skip_blanks()
            character = self.take()
            if character == "=":
                return tuple(parts)
            if character == "":
                self.fail("unexpected EOF; expected key separator '='")
            if character != ".":
                wrong = f"expected '.' or '=', but got {self.shown(character)} instead"
                if character == "\n":
                    self.fail_before(wrong)
                self.fail(wrong)

    def name(self, quoted_text: QuotedText) -> str:
        character = self.peek()
        if character not in ('"', "'"):
            match = _BARE.match(self.text, self.position)
            start, self.position = self.position, match.end() if match else self.position
            return self.text[start : self.position]
        self.position += 1
        text = self.string_body(character)
        return quoted_text(character, text)

    # Values.

    def value_start(self) -> tuple[str, str]:
        """Return kind and text of a value; "[" and "{" have no text, the kind of a string is its quotes."""
        self.skip_blanks()
        self.token_line = self._line()
        character = self.take()
        if character in ("[", "{"):
            return character, ""
        if character in ('"', "'"):
            return self.quoted(character)
        if character == ".":
            self.fail("floats must start with a digit, not '.'")
        if character.isascii() and character.isdigit():
            self.back()
            return self.number_or_date()
        if character in ("i", "n") and self._is_named_float():
            return "float", self.text[self.position - 3 : self.position]
        if character in ("+", "-"):
            return self.signed_number()
        if character and is_letter(character):
            self.back()
            return self.boolean()
        if character == "":
            self.fail("unexpected EOF; expected value")
        wrong = f"expected value but found {self.shown(character)} instead"
        if character == "\n":
            self.fail_before(wrong)
        return self.fail(wrong)

    def _is_named_float(self) -> bool:
        return (self.accept("n") and self.accept("f")) or (self.accept("a") and self.accept("n"))

    def boolean(self) -> tuple[str, str]:
        start = self.position
        while (character := self.peek()) and is_letter(character):
            self.position += 1
        word = self.text[start : self.position]
        if word not in ("true", "false"):
            self.fail(f"expected value but found {quote(word)} instead")
        return "bool", word

    def _run(self, start: int, members: str) -> str:
        while (character := self.peek()) and character in members:
            self.position += 1
        return self.text[start : self.position]

    def number_or_date(self) -> tuple[str, str]:
        start = self.position
        first = self.take()
        if first == "0" and self.peek() in ("b", "o", "x"):
            return self.based_integer(start)
        text = self._run(start, "0123456789")
        following = self.peek()
        if following in ("-", ":") and text != "0":
            return "datetime", self._run(start, "0123456789-:Tt .Zz+").strip()
        if following == "_":
            text = self._run(start, "0123456789_")
            following = self.peek()
        if following in (".", "e", "E"):
            return "float", self._run(start, "0123456789_.-+eE")
        return "integer", text

    def based_integer(self, start: int) -> tuple[str, str]:
        base = self.take()
        name, digits = {
            "b": ("a binary", "01"),
            "o": ("an octal", "01234567"),
            "x": ("a hexadecimal", "0123456789abcdefABCDEF"),
        }[base]
        following = self.peek()
        if not following or following not in digits:
            self.fail(f"not {name} number: '{self.text[start : self.position]}{following or chr(0)}'")
        return "integer", self._run(start, digits + "_")

    def signed_number(self) -> tuple[str, str]:
        start = self.position - 1
        character = self.take()
        if character in ("i", "n"):
            rest = "nf" if character == "i" else "an"
            for expected in rest:
                if not self.accept(expected):
                    self.fail(f"invalid float: '{self.text[start : self.position]}'")
            return "float", self.text[start : self.position]
        if character == "0" and self.peek() in ("b", "o", "x"):
            found = self.text[start : self.position + 1]
            self.fail(f"cannot use sign with non-decimal numbers: '{found}'")
        if character == ".":
            self.fail("floats must start with a digit, not '.'")
        if not (character.isascii() and character.isdigit()):
            self.fail(f"expected a digit but got {self.shown(character)}")
        text = self._run(start, "0123456789_")
        if self.peek() in (".", "e", "E"):
            return "float", self._run(start, "0123456789_.-+eE")
        return "integer", text

    # Strings.

    def quoted(self, mark: str) -> tuple[str, str]:
        if self.text.startswith(mark * 2, self.position):
            self.position += 2
            return mark * 3, self.multiline_body(mark)
        return mark, self.string_body(mark)

    def string_body(self, mark: str) -> str:
        start = self.position
        while True:
            character = self.take()
            if character == "":
                self.fail(f"unexpected EOF; expected {_marked(mark)}")
            if character in "\r\n":
                self.fail_before("strings cannot contain newlines")
            if character == "\\" and mark == '"':
                self.escape()
            if character == mark:
                return self.text[start : self.position - 1]

    def multiline_body(self, mark: str) -> str:
        start = self.position
        while True:
            character = self.take()
            if character == "":
                self.fail(f"unexpected EOF; expected {_marked(mark * 3)}")
            if character == "\\" and mark == '"':
                if self.peek() in ("\r", "\n"):
                    self.position += 1
                else:
                    self.escape()
            elif character == mark and self.text.startswith(mark * 2, self.position):
                end = self.position - 1
                while self.text.startswith(mark, self.position):
                    self.position += 1
                extra = self.position - end - 3
                if extra > 2:
                    self.position = end + 5
                    self.fail(f"unexpected {_marked(mark * 6)}")
                self.token_line = self._line()
                return self.text[start : end + extra]

    def escape(self) -> None:
        character = self.take()
        digits = {"x": 2, "u": 4, "U": 8}.get(character)
        if digits is not None:
            self._code(character, digits)
        elif character == "" or character not in 'ebtnfr" \t\\':
            wrong = f"invalid escape in string '\\{character or chr(0)}'"
            if self.at_end:
                self.fail_before(wrong)
            self.fail(wrong)

    def _code(self, escape: str, digits: int) -> None:
        start = self.position
        for _ in range(digits):
            character = self.take()
            if character == "" or not _HEX.fullmatch(character):
                opened = max(self.text.rfind('"', 0, start) + 1, 0)
                found = self.text[opened : self.position]
                number = {2: "two", 4: "four", 8: "eight"}[digits]
                self.fail(f"expected {number} hexadecimal digits after '\\{escape}', but got {quote(found)} instead")

    # Separators in lists and inline tables.

    def to_next_element(self) -> bool:
        character = self.skip_space()
        if character == ",":
            self.position += 1
            self.fail("unexpected comma")
        return not self.accept("]")

    def after_element(self) -> bool:
        """Return whether another element may follow."""
        self.skip_space()
        character = self.take()
        if character == "]":
            return False
        if character != ",":
            self.fail(f"expected a comma (',') or array terminator (']'), but got {_named(character)}")
        return True

    def to_next_pair(self) -> bool:
        character = self.skip_space()
        if character == ",":
            self.position += 1
            self.fail("unexpected comma")
        return not self.accept("}")

    def after_pair(self) -> bool:
        self.skip_space()
        character = self.take()
        if character == "}":
            return False
        if character != ",":
            self.fail(f"expected a comma or an inline table terminator '}}', but got {_named(character)} instead")
        return True


def _named(character: str) -> str:
    return f"'{character}'" if character else "end of file"


def _marked(mark: str) -> str:
    return f"'{mark}'" if '"' in mark else f'"{mark}"'
