#!/bin/sh
# Runs all tests, or those of one file: each function test_… in a shell of its own.
#
# sh tests/run.sh [FILE]

red=0
for file in ${1:-tests/test_*.sh}; do
    [ -e "$file" ] || continue
    for name in $(sed -n 's/^\(test_[a-z0-9_]*\)().*/\1/p' "$file"); do
        if ! sh -c '. tests/assert.sh; . "$1"; "$2"' sh "./$file" "$name"; then
            echo "FAIL: $name ($file)"
            red=1
        fi
    done
done
exit $red
