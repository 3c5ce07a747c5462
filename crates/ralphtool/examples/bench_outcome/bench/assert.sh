# What tests use.

assert_equal() { # assert_equal GOT WANTED
    [ "$1" = "$2" ] || { echo "got '$1', wanted '$2'"; exit 1; }
}

skip() { # skip WHY
    echo "skipped: $*"
    exit 0
}
