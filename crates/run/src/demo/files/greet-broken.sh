#!/bin/sh
# Greets somebody in their language.
# Usage: greet.sh [--lang en|de|fr] [NAME]
word=Hello
if [ "$1" = --lang ]; then
    case "$2" in
        en) word=Hello ;;
        de) word=Hallo ;;
    shift 2
fi
echo "$word, ${1:-world}"
