#!/bin/sh
# Compares what greet.sh prints with greetings.txt; exits with 0 if all lines agree.
failed=0

while IFS='|' read -r arguments want; do
    got=$(sh greet.sh $arguments 2>&1)
    if [ "$got" = "$want" ]; then
        echo "ok: greet.sh $arguments"
    else
        echo "not ok: greet.sh $arguments: wanted \"$want\", got \"$got\""
        failed=1
    fi
done <greetings.txt

exit "$failed"
