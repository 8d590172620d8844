"""camelcase, snakecase and kebabcase with the word rules of huandu/xstrings 1.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kymatui.helm.functions.declaring import declare, table
from kymatui.helm.govalues.budget import LimitError
from kymatui.helm.govalues.text import RUNE_ERROR, runes
from kymatui.helm.govalues.unicode import is_letter, is_number, is_punct, is_space, is_upper, to_lower, to_upper

_INVALID, _NUMBER, _UPPER, _ALPHABET, _CONNECTOR, _PUNCT, _OTHER = range(7)


LONGEST_NAME: Final = 1_000_000


def is_connector(rune: str) -> bool:
    return rune in "-_" or is_space(rune)


def _is_alphabet(rune: str) -> bool:
    point = ord(rune)
    if not is_letter(rune):
        return False
    return not (0x4E00 <= point <= 0x9FCC or 0x3400 <= point <= 0x4D85 or 0x20000 <= point <= 0x2B81D)


def _held(text: str) -> str:
    """Return a text that is short enough for rules that look at each character several times."""
    if len(text) > LONGEST_NAME:
        raise LimitError(f"the text has more than {LONGEST_NAME} characters")
    return text


def camelcase(text: str) -> str:
    """Return xstrings.ToPascalCase: "http_server" → "HttpServer"; leading connectors stay."""
    text = _held(runes(text))
    start = 0
    while start < len(text) and is_connector(text[start]):
        start += 1
    words = list(text[:start])
    if start >= len(text):
        return text + text[-1:]  # xstrings writes the last connector twice
    upper_run = is_upper(text[start])
    current = to_upper(text[start])
    for rune in text[start + 1 :]:
        previous, current = current, rune
        if is_connector(current) and is_connector(previous):
            words.append(previous)
        elif is_connector(previous):
            upper_run = is_upper(current)
            current = to_upper(current)
        else:
            if upper_run and is_upper(current):
                current = to_lower(current)
            else:
                upper_run = False
            words.append(previous)
    words.append(current)
    return "".join(words)


def snakecase(text: str) -> str:
    """Return xstrings.ToSnakeCase: "HTTPServer2xx" → "http_server_2xx"."""
    return _WordSplitter(text, "_").joined()


def kebabcase(text: str) -> str:
    """Return xstrings.ToKebabCase: "HTTPServer" → "http-server"."""
    return _WordSplitter(text, "-").joined()


class _WordSplitter:
    """Splits a text into words and joins them with a connector."""

    def __init__(self, text: str, connector: str) -> None:
        self.text = _held(text)
        self.position = 0
        self.connector = connector
        self.pieces: list[str] = []
        self.kind = _INVALID
        self.word = ""

    def joined(self) -> str:
        if not self.text:
            return ""
        self.advance()
        while self.position < len(self.text):
            if self.kind != _CONNECTOR:
                self.write(self.kind, self.word)
            previous, last = self.kind, self.word
            self.advance()
            if previous == _NUMBER:
                self.run_of_letters()
            elif previous == _CONNECTOR:
                self.write(previous, last)
            elif previous != _PUNCT:
                self.after_letters()
        self.write(self.kind, self.word)
        return "".join(self.pieces)

    def advance(self) -> None:
        start = self.position
        self.kind, self.position = _next_word(self.text, start)
        self.word = self.text[start : self.position]

    def write(self, kind: int, word: str) -> None:
        if kind not in (_UPPER, _CONNECTOR):
            self.pieces.append(word)
            return
        for rune in runes(word):
            self.pieces.append(self.connector if is_connector(rune) else to_lower(rune) if is_upper(rune) else rune)

    def run_of_letters(self) -> None:
        """Append letters and numbers that follow a number to it: "2xx"."""
        while self.kind in (_ALPHABET, _NUMBER):
            self.write(self.kind, self.word)
            self.advance()
        if self.kind not in (_INVALID, _PUNCT, _CONNECTOR):
            self.pieces.append(self.connector)

    def after_letters(self) -> None:
        if self.kind != _NUMBER:
            if self.kind not in (_CONNECTOR, _PUNCT):
                self.pieces.append(self.connector)
            return
        if self.position >= len(self.text):
            return
        number = self.word
        self.advance()
        if self.kind != _ALPHABET:  # the number joins the word before: "Bld4Floor" → "bld4_floor"
            self.write(_NUMBER, number)
            if self.kind not in (_CONNECTOR, _PUNCT):
                self.pieces.append(self.connector)
            return
        self.pieces.append(self.connector)  # or the word after: "HTTP2xx" → "http_2xx"
        self.write(_NUMBER, number)
        self.run_of_letters()


def _next_word(text: str, start: int) -> tuple[int, int]:
    """Return the kind and the end of the word that starts here."""
    if start >= len(text):
        return _INVALID, start
    rune, position = _next_rune(text, start, RUNE_ERROR)
    if rune == RUNE_ERROR:
        return _INVALID, position
    for kind, belongs in _KINDS:
        if belongs(rune):
            if kind == _UPPER:
                return kind, _end_of_capitals(text, position, rune)
            goes_on = _is_small if kind == _ALPHABET else _is_other if kind == _OTHER else belongs
            return kind, _end_of_run(text, position, rune, goes_on)
    return _OTHER, position


def _next_rune(text: str, position: int, previous: str) -> tuple[str, int]:
    """Return the next valid rune and its end; invalid bytes are skipped and repeat the previous rune."""
    while position < len(text):
        rune = text[position]
        position += 1
        if rune != RUNE_ERROR and not "\udc80" <= rune <= "\udcff":
            return rune, position
    return previous, position


def _end_of_run(text: str, position: int, rune: str, goes_on: Callable[[str], bool]) -> int:
    while position < len(text):
        rune, end = _next_rune(text, position, rune)
        if not goes_on(rune):
            break
        position = end
    return position


def _end_of_capitals(text: str, position: int, rune: str) -> int:
    if position >= len(text):
        return position
    rune, end = _next_rune(text, position, rune)
    if not is_upper(rune):
        return _end_of_run(text, end, rune, _is_small) if _is_alphabet(rune) else position
    last, position = position, end
    while position < len(text):
        rune, end = _next_rune(text, position, rune)
        if not is_upper(rune):
            break
        last, position = position, end
    # In "HTTPStatus" the S belongs to the second word.
    return last if position < len(text) and _is_alphabet(rune) else position


def _is_small(rune: str) -> bool:
    return _is_alphabet(rune) and not is_upper(rune)


def _is_other(rune: str) -> bool:
    return not (is_connector(rune) or _is_alphabet(rune) or is_number(rune) or is_punct(rune))


_KINDS: Final[tuple[tuple[int, Callable[[str], bool]], ...]] = (
    (_CONNECTOR, is_connector),
    (_PUNCT, is_punct),
    (_UPPER, is_upper),
    (_ALPHABET, _is_alphabet),
    (_NUMBER, is_number),
    (_OTHER, lambda rune: True),
)

FUNCTIONS: Final = table(
    (
        declare("camelcase(string)", camelcase),
        declare("snakecase(string)", snakecase),
        declare("kebabcase(string)", kebabcase),
    )
)
