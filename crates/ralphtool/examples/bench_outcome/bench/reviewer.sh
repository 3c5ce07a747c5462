# A reviewer that reads the work, and mostly sees what is wrong: `STORY.N notice|miss alarm|calm` says
# for its n-th review of a story whether it notices a fault, and whether it finds one where none is.
# What it compares the work with is the right solution, not what any gate or judge asks for.
#
# sh reviewer.sh ROOT

root=$1
prompt=$(cat)
story=$(printf '%s\n' "$prompt" | sed -n 's/.*: story \([0-9]*\) (.*/\1/p' | head -n 1)
key=$(printf '%s\n' "$prompt" | sed -n 's/.*{"review": "\([^"]*\)".*/\1/p' | tail -n 1)
echo "review $story" >> "$root/starts"
number=$(grep -c "^review $story\$" "$root/starts")
set -- $(sed -n "s/^$story\.$number //p" "$root/reviews")
[ $# = 2 ] || { echo "nothing is drawn for the review $story.$number" >&2; exit 9; }
notice=$1 alarm=$2

# same STORY FILE MATERIAL: whether a file is as it is when the story is done right.
same() { cmp -s "$2" "$root/material/$1/$3.sh"; }
met() { echo "{\"item\": \"$1\", \"verdict\": \"met\", \"evidence\": \"$2:1\"}"; }
not_met() { echo "{\"item\": \"$1\", \"verdict\": \"not_met\", \"evidence\": \"$2\"}"; }

own=$(cat "$root/material/$story/name")
name=$own
code=$(met T1 "src/$name.sh")
test=$(met T2 "tests/test_$name.sh")
if [ "$notice" = notice ]; then
    same "$story" "src/$name.sh" code || code=$(not_met T1 "src/$name.sh: some answers are wrong")
    same "$story" "tests/test_$name.sh" test || test=$(not_met T2 "tests/test_$name.sh: it would pass for a wrong function")
    other=0
    while [ $other -lt "$story" ]; do
        name=$(cat "$root/material/$other/name")
        same $other "src/$name.sh" code || code=$(not_met T1 "src/$name.sh was right before: story $other does not hold")
        same $other "tests/test_$name.sh" test || test=$(not_met T2 "tests/test_$name.sh was weakened")
        other=$((other + 1))
    done
fi
case "$alarm$code$test" in
    *not_met*) ;;
    alarm*) test=$(not_met T2 "tests/test_$own.sh: more cases are needed") ;;
esac
echo "{\"review\": \"$key\", \"verdicts\": [$code, $test]}"
