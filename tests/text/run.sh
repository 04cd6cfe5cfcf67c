#!/bin/sh
# Runs the text tests (see pirtest.c): run.sh [--update] [FILE...]; without files all of this folder.
set -u
here=$(cd "$(dirname "$0")" && pwd)
update=
if [ "${1-}" = --update ]; then
    update=--update
    shift
fi
[ $# -gt 0 ] || set -- "$here"/*.pirtest "$here"/passes/*.pirtest
# shellcheck disable=SC2086 # empty or one word
exec "${builddir:-.}/tests/text/pirtest" $update "$@"
