#!/bin/sh
# Greets somebody.
# Usage: greet.sh [NAME]
echo "Hello, ${1:-world}"
