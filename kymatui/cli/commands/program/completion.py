"""`kymatui completion bash|zsh|fish`: the script that a shell reads once; what it offers comes from `completing`."""

from __future__ import annotations

import argparse

from kymatui.cli.cluster_options import add_option
from kymatui.cli.output.printing import print_text

BASH = """\
# kymatui completion for bash; in ~/.bashrc: source <(kymatui completion bash)
_kymatui() {
    local IFS=$'\\n'
    COMPREPLY=()
    mapfile -t COMPREPLY < <("${COMP_WORDS[0]/#\\~/$HOME}" __complete bash "$COMP_LINE" "$COMP_POINT" \\
        "$COMP_WORDBREAKS" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == :files ]]; then
        COMPREPLY=()
        compopt -o default
    elif [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace
    fi
}
complete -F _kymatui kymatui
"""
ZSH = """\
#compdef kymatui
# kymatui completion for zsh; in ~/.zshrc, after compinit: source <(kymatui completion zsh)
_kymatui() {
    local -a found
    local program="${(Q)words[1]/#\\~/$HOME}"
    found=("${(@f)$("$program" __complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    found=(${found:#})
    if [[ $#found -eq 1 && $found[1] == :files ]]; then
        _files
    else
        compadd -- "${found[@]}"
    fi
}
if [[ $funcstack[1] == _kymatui ]]; then
    _kymatui "$@"
else
    compdef _kymatui kymatui
fi
"""
FISH = """\
# kymatui completion for fish; in ~/.config/fish/config.fish: source (kymatui completion fish | psub)
function __kymatui_complete
    set -l words (commandline -opc)
    set -l found ($words[1] __complete fish $words[2..-1] (commandline -ct | string unescape) 2>/dev/null)
    if test (count $found) -eq 1; and test "$found[1]" = ":files"
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $found
    end
end
complete -c kymatui -f -a '(__kymatui_complete)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "shell", "shell of the script", choices=tuple(SCRIPTS))


def run(args: argparse.Namespace) -> int:
    print_text(SCRIPTS[args.shell].rstrip("\n"))
    return 0
