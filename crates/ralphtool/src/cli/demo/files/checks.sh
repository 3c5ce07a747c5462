#!/bin/sh
# Checks greet.sh; exits with 0 if all is well.
failed=0

expect() { # expect OUTPUT ARGUMENT...
    want=$1
    shift
    got=$(sh greet.sh "$@" 2>&1)
    if [ "$got" = "$want" ]; then
        echo "ok: greet.sh $*"
    else
        echo "not ok: greet.sh $*: wanted \"$want\", got \"$got\""
        failed=1
    fi
}

expect "Hello, world"

exit "$failed"
