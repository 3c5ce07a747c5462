#compdef ralphtool
# Completion of ralphtool for zsh: the program itself says what can follow.
_ralphtool() {
    local -a candidates
    local line
    for line in "${(@f)$(${(Q)words[1]} __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $line ]] && candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    if (( ${#candidates} )); then
        _describe -V ralphtool candidates
    else
        _files
    fi
}
if [[ ${funcstack[1]} == _ralphtool ]]; then
    _ralphtool "$@"
else
    compdef _ralphtool ralphtool
fi
