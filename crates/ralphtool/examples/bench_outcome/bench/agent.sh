# An agent that does what the draws say: one line for each attempt of each story, `STORY.ATTEMPT DEED
# WAY VICTIM`. A new session learns nothing from a failure, except that an honest attempt repairs what
# a gate said does not hold. A continued session knows its own work, and does what is drawn for this
# round: `STORY.ATTEMPT.ROUND fix|nothing|wrong`.
#
# sh agent.sh ROOT first|again

root=$1
round=$2
prompt=$(cat)
story=$RALPHTOOL_STORY
attempt=${RALPHTOOL_ATTEMPT##*.}
tasks=openspec/changes/$RALPHTOOL_CHANGE/tasks.md

# draw KEY: the words drawn for it.
draw() {
    drawn=$(sed -n "s/^$1 //p" "$root/draws")
    [ -n "$drawn" ] || { echo "nothing is drawn for $1" >&2; exit 9; }
}
# put STORY WHAT: `code`, `stub` or `broken` into its source, `test`, `fitted`, … into its test.
put() {
    name=$(cat "$root/material/$1/name")
    case $2 in
        code | stub | broken) cp "$root/material/$1/$2.sh" "src/$name.sh" ;;
        *) cp "$root/material/$1/$2.sh" "tests/test_$name.sh" ;;
    esac
}
test_of() { echo "tests/test_$(cat "$root/material/$1/name").sh"; }
tick() { # tick STORY[.TASK]
    sed "s/- \[ \] $1\./- [x] $1./; s/- \[ \] $1 /- [x] $1 /" "$tasks" > "$root/tasks.new"
    cat "$root/tasks.new" > "$tasks"
}
complete() { echo 'All of it is done.'; echo '<promise>COMPLETE</promise>'; }
partly() { put "$story" stub; tick "$story.1"; }
wholly() { put "$story" code; put "$story" test; tick "$story"; }
# Repairs the other stories that the prompt says are broken, by their number or by a file of theirs.
repair_others() {
    for other in 0 1 2 3 4; do
        name=$(cat "$root/material/$other/name")
        case $prompt in
            *"story $other does not hold"*) put $other code; put $other test ;;
            *"test_$name.sh"* | *"src/$name.sh"*)
                [ $other -ge "$story" ] || { put $other code; put $other test; }
                ;;
        esac
    done
}

if [ "$round" = again ]; then
    number=$(($(grep -c "^again $story\.$attempt " "$root/starts") + 2))
    draw "$story\.$attempt\.$number"
    echo "again $story.$attempt $drawn" >> "$root/starts"
    case $drawn in
        fix) wholly; repair_others ;;
        nothing) ;;
        # It fails, but in another way than before.
        wrong) put "$story" $([ $((number % 2)) = 0 ] && echo stub || echo broken) ;;
    esac
    complete
    exit 0
fi

draw "$story\.$attempt"
set -- $drawn
deed=$1 way=$2 victim=$3
echo "$story $deed $way $victim" >> "$root/deeds"
echo "first $story.$attempt $deed $way" >> "$root/starts"

case $deed in
    honest)
        wholly
        for other in 0 1 2 3 4; do
            case $prompt in
                *"story $other does not hold"*) put $other code; put $other test ;;
            esac
        done
        complete
        ;;
    lie)
        case $way in
            nothing) ;;
            boxes) tick "$story" ;;
            stub) put "$story" stub; tick "$story" ;;
            fitted) put "$story" broken; put "$story" fitted; tick "$story" ;;
        esac
        complete
        ;;
    fail)
        partly
        echo '<promise>FAILED: I do not know how to go on</promise>'
        ;;
    crash)
        partly
        case $way in
            code) exit 1 ;;
            signal) kill -KILL $$ ;;
        esac
        ;;
    hang)
        partly
        exec sleep 100000
        ;;
    damage)
        wholly
        case $way in
            delete) rm -f "$(test_of "$victim")" ;;
            skip) put "$victim" skipped ;;
            empty) put "$victim" emptied ;;
            refit) put "$victim" broken; put "$victim" fitted ;;
            break) put "$victim" broken ;;
        esac
        complete
        ;;
esac
