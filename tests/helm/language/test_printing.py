"""Printing: print, println, printf with all its notations, and the escapers

Every row is a template and what Helm v4 makes of it with `rendering.VALUES`.
"""

from __future__ import annotations

import pytest

from tests.helm.language.rendering import render

# ruff: noqa: E501 - the rows of the table stay whole
TABLE = [
    ('{{ print 1 2 "a" "b" 3 nil true }}{{ println 1 "a" }}', "1 2ab3 <nil> true1 a\n"),
    (
        "{{ print .Values }}",
        "map[a:x e:[] f:2.5 l:[a b c] lm:[map[a:x]] ln:[<nil> 1] m:map[a:1 b:two c:<nil>] mm:map[x:map[y:map[z:<nil>]]] n:<nil> s:str]",
    ),
    (
        '{{ printf "%d %s %v %q %5.2f|%-5s|%05d|%x|%X|%t|%T" 3 "a" .Values.m "q" 3.14159 "ab" 42 "hi" 255 true .Values.l }}',
        '3 a map[a:1 b:two c:<nil>] "q"  3.14|ab   |00042|6869|FF|true|[]interface {}',
    ),
    (
        '{{ printf "%d" "x" }} {{ printf "%s" 3 }} {{ printf "%d" }} {{ printf "a" 1 "b" nil }} {{ printf "%!" }} {{ printf "%z" 1 }} {{ printf "%[2]d %[1]d" 1 2 }} {{ printf "%*d" 5 3 }} {{ printf "%.3s" "abcdef" }} {{ printf "%+v %#v" .Values.m .Values.m }}',
        '%!d(string=x) %!s(int=3) %!d(MISSING) a%!(EXTRA int=1, string=b, <nil>) %!!(MISSING) %!z(int=1) 2 1     3 abc map[a:1 b:two c:<nil>] map[string]interface {}{"a":1, "b":"two", "c":interface {}(nil)}',
    ),
    (
        '{{ html "<a href=\'x\'>&\\"" }} {{ js "it\'s <b> \\u2028 é" }} {{ urlquery "a b&c=d/é~*\'()!" }} {{ html nil }}{{ html .Values.n 1 }}',
        "&lt;a href=&#39;x&#39;&gt;&amp;&#34; it\\'s \\u003Cb\\u003E \\u2028 é a+b%26c%3Dd%2F%C3%A9~%2A%27%28%29%21 &lt;no value&gt;&lt;no value&gt;1",
    ),
    ('{{ printf "%w %+w %#w" "a" 1 2.5 }}', "%!w(string=a) %!w(int=1) %!w(float64=2.5)"),
    ("{{ .x | print | }}", "<nil>"),
    ('{{ .Values.s | print "a" | printf "%s-%s" "z" }}', "z-astr"),
    (' print "x" }}', ' print "x" }}'),
    ('{{ "abc" | printf "%d" }}', "%!d(string=abc)"),
    (
        '{{ printf "%s" .Values.m }} {{ printf "%d" .Values.l }} {{ printf "%v" nil }} {{ printf "%s" nil }} {{ printf "%5v|" nil }}{{ printf "%q" .Values.l }} {{ printf "%x" .Values.l }} {{ printf "%v %s" .Values.ln .Values.ln }}',
        'map[a:%!s(float64=1) b:two c:<nil>] [%!d(string=a) %!d(string=b) %!d(string=c)] <nil> %!s(<nil>) <nil>|["a" "b" "c"] [61 62 63] [<nil> 1] [<nil> %!s(float64=1)]',
    ),
    (
        '{{ printf "%6.2f|%-8.3f|%+.1e|%g|%G|% d|%+d|%#x|%#o|%b|%o|%O|%c|%U|%#U|%q" 3.14159 2.5 12345.678 1e21 1e-7 5 5 255 8 5 8 8 65 65 9731 65 }}',
        "  3.14|2.500   |+1.2e+04|1e+21|1E-07| 5|+5|0xff|010|101|10|0o10|A|U+0041|U+2603 '☃'|'A'",
    ),
    (
        '{{ printf "%08.3f|%-8d|%x|% x|%#x|% #x|%.2x" -3.14159 42 "hello" "hello" "hello" "hello" "hello" }}',
        "-003.142|42      |68656c6c6f|68 65 6c 6c 6f|0x68656c6c6f|0x68 0x65 0x6c 0x6c 0x6f|6865",
    ),
    (
        '{{ printf "%t" 1 }} {{ printf "%v" 1.0 }} {{ printf "%v" 1e6 }} {{ printf "%d" 1.5 }} {{ printf "%.2d" 5 }} {{ printf "%+q" "é☃" }} {{ printf "%#q" "a`b" }} {{ printf "%#q" "ab" }}',
        '%!t(int=1) 1 1e+06 %!d(float64=1.5) 05 "\\u00e9\\u2603" "a`b" `ab`',
    ),
]


@pytest.mark.parametrize(("template", "text"), TABLE)
def test_printing(template: str, text: str) -> None:
    assert render(template) == text
