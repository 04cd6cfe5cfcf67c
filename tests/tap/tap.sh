# shellcheck shell=sh
# TAP for shell tests. Source it, then:
#   tap_ok STATUS NAME          a point: STATUS 0 is ok
#   tap_is GOT WANT NAME        a point: equal texts
#   tap_try NAME COMMAND...     a point: the command's exit status; its output is shown if it fails
#   tap_skip NAME REASON        a point that was not tried
#   tap_skip_all REASON         no point at all: ends the script
#   tap_done                    at the end: prints the plan
# A script that ends without tap_done has no plan, which the driver counts as an error.
tap_count=0
tap_failed=0

tap_ok() {
    tap_count=$((tap_count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tap_count - $2"
    else
        tap_failed=$((tap_failed + 1))
        echo "not ok $tap_count - $2"
    fi
}

tap_note() {
    printf '%s\n' "$1" | sed 's/^/# /'
}

tap_is() {
    if [ "$1" = "$2" ]; then
        tap_ok 0 "$3"
    else
        tap_ok 1 "$3"
        tap_note "got:  $1"
        tap_note "want: $2"
    fi
}

tap_try() {
    tap_name=$1
    shift
    if tap_output=$("$@" 2>&1); then
        tap_ok 0 "$tap_name"
    else
        tap_ok 1 "$tap_name"
        tap_note "$tap_output"
    fi
}

tap_skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

tap_skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

tap_done() {
    echo "1..$tap_count"
    [ "$tap_failed" -eq 0 ]
    exit
}
