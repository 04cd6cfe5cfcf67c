# shellcheck shell=sh
# For the tests of the program: source it first.
#   run ARGUMENTS...              runs the program; $status, $dir/out, $dir/err
#   exits CODE NAME ARGUMENTS...  a point: it ends with CODE
#   says PATTERN NAME             a point: standard error of the last run has the pattern (grep -E)
#   left FOLDER                   names of the files in a folder, hidden ones too, in one line
set -u
: "${srcdir:?set by make check}" "${PDMIGRATE:?set by make check}"
. "$srcdir/tests/tap/tap.sh"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cases=$srcdir/fixtures/cases
models=$srcdir/fixtures/models
mkdir "$dir/w"

run() {
    "$PDMIGRATE" "$@" >"$dir/out" 2>"$dir/err"
    status=$?
}

exits() {
    exits_want=$1
    exits_name=$2
    shift 2
    run "$@"
    tap_is "$status" "$exits_want" "$exits_name"
    [ "$status" -eq "$exits_want" ] || tap_note "$(cat "$dir/err")"
}

says() {
    grep -qE -e "$1" "$dir/err"
    found=$?
    tap_ok $found "$2"
    [ $found -eq 0 ] || tap_note "$(cat "$dir/err")"
}

left() {
    # shellcheck disable=SC2012 # the names are ours
    ls -A "$1" | tr '\n' ' ' | sed 's/ $//'
}

is_json() {
    tap_try "$2" python3 -c 'import json, sys; json.load(open(sys.argv[1], encoding="utf-8"))' "$1"
}

# json_get FILE EXPRESSION: a Python expression over the object j.
json_get() {
    python3 -c 'import json, sys
j = json.load(open(sys.argv[1], encoding="utf-8"))
print(eval(sys.argv[2]))' "$1" "$2"
}
