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
for word in NAME SYNOPSIS DESCRIPTION OPTIONS ENVIRONMENT 'EXIT STATUS' EXAMPLES; do
    tap_try "the manual page has $word" grep -qx ".SH $word" "$dir/out"
done
tap_is "$(grep -c '^\\fB\|^.TP' "$dir/out" | awk '{ print ($1 > 30) }')" 1 "the manual page lists the options"
run show --help
cp "$dir/out" "$dir/help"
exits 0 "help as a command" help show
tap_try "it is the help on the command" cmp "$dir/help" "$dir/out"
exits 0 "help alone" help
for command in show run verify record graph cache help; do
    tap_try "the help lists $command" grep -q "^  $command  *[A-Z]" "$dir/out"
done

# Completion, as bash asks for it.
exits 0 "--help=bash" --help=bash
cat >"$dir/complete" <<\END
. "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_pdmigrate
echo "${COMPREPLY[*]}"
END
completes() {
    want=$1
    shift
    tap_is "$(bash "$dir/complete" "$dir/out" pdmigrate "$@")" "$want" "completion of '$*'"
}
completes "show" s
completes "help show run verify record graph cache" ""
completes "--compile" run m --com
completes "off llvm cuda ref" run m --compile ""
completes "" run m -o ""
completes "--optimize" m --op
completes "path prune" cache p
# Each word that is offered for an option is known: what is wrong then is another thing.
sed -n 's/^    \(-.|\)*--\([a-z-]*\)) words="\(.*\)" ;;$/\2 \3/p' "$dir/out" >"$dir/words"
tap_try "there are options with known words" test -s "$dir/words"
while read -r option words; do
    for word in $words; do
        case $option in
        pir-version | optimize) command= ;;
        kernel-source) command=show ;;
        *) command=verify ;;
        esac
        # shellcheck disable=SC2086 # no command is no word
        run $command "$dir/no-such-model" "--$option=$word" --format=json
        tap_is "$(json_get "$dir/out" 'j["diagnostics"][-1]["message"].find("known") + j["diagnostics"][-1]["message"].find("exist")')" \
            "-2" "--$option $word is known"
    done
done <"$dir/words"

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
usage "no command for conversions" "'convert' is not a command" convert "$model" -o "$out"
says "pdmigrate MODEL -o OUT" "a hint tells how to convert"
usage "unknown option of a command" "unknown option '--bogus'" run "$model" --bogus
says "see pdmigrate run --help" "the hint names the command"
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

# Every object names its command.
for command in convert show run verify record graph cache; do
    word=$command
    [ $command != convert ] || word=
    # shellcheck disable=SC2086 # no command is no word
    run $word --format json --nonsense
    tap_is "$(json_get "$dir/out" 'j["command"]')" "$command" "JSON of $command names it"
done

# Colours: on a terminal only, and not where they are not wanted.
colours() {
    python3 -c 'import os, pty, subprocess, sys
master, slave = pty.openpty()
subprocess.run(sys.argv[1:], stderr=slave)
print(b"\x1b[31merror" in os.read(master, 4096))' "$@"
}
tap_is "$(TERM=xterm NO_COLOR='' colours "$PDMIGRATE")" True "errors are coloured on a terminal"
tap_is "$(TERM=xterm NO_COLOR=1 colours "$PDMIGRATE")" False "NO_COLOR"
tap_is "$(TERM=dumb NO_COLOR='' colours "$PDMIGRATE")" False "a terminal without colours"
TERM=xterm run
tap_is "$(grep -c "$(printf '\033')" "$dir/err")" 0 "no colours in a file"

if [ -w /dev/full ]; then
    "$PDMIGRATE" --help >/dev/full 2>"$dir/err"
    tap_is $? 5 "standard output that is full"
    says "standard output cannot be written: No space" "the message tells why"
else
    tap_skip "standard output that is full" "no /dev/full"
fi
tap_done
