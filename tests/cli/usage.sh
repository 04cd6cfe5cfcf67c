#!/bin/sh
# Options, help, and errors in the command line.
. "${srcdir:?}/tests/cli/cli.sh"
model=$cases/report_default_attrs_left_out

exits 0 "--version" --version
tap_is "$(sed 's/[0-9]*\.[0-9]*\.[0-9]*$/N/' "$dir/out")" "pdmigrate N" "--version prints one line"
for command in "" show run; do
    # shellcheck disable=SC2086 # no command is no word
    exits 0 "--help of '$command'" $command --help
    for word in Usage Options Examples 'Exit status'; do
        tap_try "--help of '$command' has $word" grep -q "^$word" "$dir/out"
    done
    tap_is "$(awk 'length > 100' "$dir/out")" "" "--help of '$command' fits the terminal"
    tap_is "$(cat "$dir/err")" "" "--help of '$command' has no errors"
done
exits 0 "--help=man" --help=man
for word in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' EXAMPLES; do
    tap_try "the manual page has $word" grep -qx ".SH $word" "$dir/out"
done
tap_is "$(grep -c '^\\fB\|^.TP' "$dir/out" | awk '{ print ($1 > 30) }')" 1 "the manual page lists the options"

# usage NAME PATTERN ARGUMENTS...: exit 2, a message, nothing on standard output, nothing written
usage() {
    name=$1
    pattern=$2
    shift 2
    exits 2 "$name" "$@"
    says "$pattern" "$name: the message"
    tap_is "$(cat "$dir/out")" "" "$name: standard output is empty"
    tap_is "$(left "$dir/w")" "" "$name: nothing is written"
}
out=$dir/w/x.json
usage "no arguments" "no model"
usage "no output" "no output.*" "$model"
usage "no model" "no model" -o "$out"
usage "unknown option" "unknown option '--outptu=.*" "$model" --outptu="$out"
says "did you mean --output\?" "a hint names the option that comes near"
usage "unknown letter" "unknown option '-x'" "$model" -x -o "$out"
usage "argument missing" "--params needs an argument" "$model" -o "$out" --params
usage "argument not wanted" "--force takes no argument" "$model" -o "$out" --force=yes
usage "two models" "also '.*'" "$model" "$model" -o "$out"
usage "unknown command" "'shwo' is not a command" shwo "$model"
says "did you mean 'pdmigrate show'\?" "a hint names the command that comes near"
usage "standard input" "standard input" - -o "$out"
usage "standard output" "standard output" "$model" -o -
usage "option of another command" "--dot does not belong" "$model" -o "$out" --dot
usage "option of another command (show)" "--force does not belong to show" show "$model" --force
usage "PIR version 5" "pir-version 5" "$model" -o "$out" --pir-version 5
usage "PIR version x" "pir-version x" "$model" -o "$out" --pir-version=x
usage "format" "format xml" "$model" -o "$out" --format xml
usage "verbose and quiet" "exclude" "$model" -o "$out" -vq
usage "params and no-params" "exclude" "$model" -o "$out" --params x --no-params
usage "device" "device gpu" run "$model" --random --device gpu
usage "device and compiler" "exclude" run "$model" --random --device cuda --compile llvm
usage "empty fetch name" "empty" "$model" -o "$out" --fetch a,,b
usage "keep-version of a legacy program" "legacy program" "$model" -o "$out" --keep-version
usage "unknown fetch name" "nowhere" "$model" -o "$out" --fetch nowhere
usage "help of something" "--help=me" --help=me

usage "OUT without a known suffix" "ending in .json" "$model" -o "$dir/w/x.onnx"
usage "OUT is only a suffix" "ending in .json" "$model" -o "$dir/w/.json"
usage "OUT in the legacy form" "legacy form" "$model" -o "$dir/w/x.pdmodel"
usage "OUT is empty" "an output is" "$model" -o ""
usage "fetch for a PIR program" "PIR" "$srcdir/fixtures/samples/linear_relu.json" -o "$out" --fetch a

# A usage error can be had as JSON too.
exits 2 "usage error as JSON" "$model" --format json --nonsense -o "$out"
is_json "$dir/out" "usage error as JSON is JSON"
tap_is "$(json_get "$dir/out" '[j["status"], j["exit_code"], j["diagnostics"][0]["id"]]')" \
    "['usage', 2, 'usage']" "usage error as JSON tells what"

if [ -w /dev/full ]; then
    "$PDMIGRATE" --help >/dev/full 2>"$dir/err"
    tap_is $? 5 "standard output that is full"
else
    tap_skip "standard output that is full" "no /dev/full"
fi
tap_done
