# The agent of the demo. It reads the prompt as any agent would, and knows how to do the three
# stories; its first attempt at the second one goes wrong in the ways real ones do.
#
# It needs nothing but sh and git: text is written by builtins. While the file `paced` is beside the
# repository, it works at a speed that a person can follow.

say() { # say WHAT IT DOES NEXT
    echo "$1"
    if [ -e ../paced ]; then
        sleep 1.5 || :
    fi
}

# Prints standard input.
text() {
    while IFS= read -r line; do
        printf '%s\n' "$line"
    done
}

expect() { # expect < LINES: more lines of greetings.txt
    say "adding what it should print to greetings.txt"
    text >>greetings.txt
}

# Ticks the first open box of the story; fails where there is none.
tick_next() {
    tasks=openspec/changes/$RALPHTOOL_CHANGE/tasks.md
    plan=
    task=
    while IFS= read -r line; do
        case $task$line in
            "- [ ] $RALPHTOOL_STORY."*)
                task=${line#"- [ ] "}
                line="- [x] $task"
                ;;
        esac
        plan="$plan$line
"
    done <"$tasks"
    [ -n "$task" ] || return 1
    say "ticking ${task%% *}"
    printf %s "$plan" >"$tasks"
}

# Runs the checks, ticks and promises; the checks decide.
finish() {
    say "running the checks"
    if output=$(sh checks.sh); then
        while tick_next; do :; done
        echo "<promise>COMPLETE</promise>"
    else
        echo "<promise>FAILED: the checks are red:
$output</promise>"
    fi
}

greet_by_name() {
    say "writing greet.sh: it takes a name"
    text >greet.sh <<'EOF'
#!/bin/sh
# Greets a person.
# Usage: greet.sh [NAME]
echo "Hello, ${1:-world}"
EOF
    expect <<'EOF'
Ada|Hello, Ada
EOF
    finish
}

# The right idea, a file that does not parse, and a mess.
stumble() {
    say "writing greet.sh: it gets \`--lang\`"
    text >greet.sh <<'EOF'
#!/bin/sh
# Greets a person in their language.
# Usage: greet.sh [--lang en|de|fr] [NAME]
word=Hello
if [ "$1" = --lang ]; then
    case "$2" in
        en) word=Hello ;;
        de) word=Hallo ;;
    shift 2
fi
echo "$word, ${1:-world}"
EOF
    say "committing early"
    git commit -q --all -m "WIP: languages" >/dev/null
    say "running the checks, into debug.log"
    sh checks.sh >debug.log
    say "deleting ideas.txt: it looks like a leftover"
    git rm -q --force -- ideas.txt
    say "noting down what I learned"
    echo "- a \`case\` in greet.sh needs its \`esac\`; \`sh checks.sh\` shows it" >>"$RALPHTOOL_LEARNINGS"
    echo "<promise>FAILED: the checks are red: greet.sh does not parse, its \`case\` is never closed with \`esac\`</promise>"
}

speak_languages() {
    say "the last attempt left the \`case\` open: closing it this time"
    text >greet.sh <<'EOF'
#!/bin/sh
# Greets a person in their language.
# Usage: greet.sh [--lang en|de|fr] [NAME]
word=Hello
if [ "$1" = --lang ]; then
    case "$2" in
        en) word=Hello ;;
        de) word=Hallo ;;
        fr) word=Bonjour ;;
        *)
            echo "greet.sh: unknown language: $2" >&2
            exit 2
            ;;
    esac
    shift 2
fi
echo "$word, ${1:-world}"
EOF
    expect <<'EOF'
--lang de Ada|Hallo, Ada
--lang fr|Bonjour, world
--lang xx Ada|greet.sh: unknown language: xx
EOF
    finish
}

tell_people() {
    say "describing the usage in README.md"
    text >>README.md <<'EOF'

## Usage

    sh greet.sh                  Hello, world
    sh greet.sh Ada              Hello, Ada
    sh greet.sh --lang de Ada    Hallo, Ada

Languages: `en`, `de`, `fr`. Anything else is refused with exit code 2.
EOF
    say "starting CHANGELOG.md"
    text >CHANGELOG.md <<'EOF'
# Changelog

## Unreleased

- Greets by name.
- Speaks English, German and French.
EOF
    finish
}

attempt=first
while IFS= read -r line; do
    if [ "$line" = "## Previous Attempt Failed" ]; then
        attempt=next
    fi
done

say "reading the plan: story $RALPHTOOL_STORY"
case $RALPHTOOL_STORY-$attempt in
    1-*) greet_by_name ;;
    2-first) stumble ;;
    2-next) speak_languages ;;
    3-*) tell_people ;;
    *) echo "<promise>FAILED: I do not know story $RALPHTOOL_STORY</promise>" ;;
esac
