# Completion of ralphtool for fish: the program itself says what can follow.
function __ralphtool_complete
    set -l before (commandline -opc)
    set -l program $before[1]
    set -e before[1]
    set -l current (commandline -ct)
    set -l found ($program __complete $before "$current" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete -c ralphtool -f -a '(__ralphtool_complete)'
