#!/bin/sh
# Greets somebody in their language.
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
