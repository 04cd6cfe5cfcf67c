#!/bin/sh
# pdmigrate cache, and runs whose code is kept, broken, refused or cannot be made: the outputs are the same, and a warning tells.
. "${srcdir:?}/tests/cli/cli.sh"
unset PDM_CACHE PDM_CACHE_DIR
HOME=$dir/home
export HOME
mkdir "$HOME"
net=$cases/op_net__transformer_layer
kept=$dir/kept

# ---- without anything compiled
exits 0 "where it would be" cache path
tap_is "$(cat "$dir/out")" "$HOME/.cache/pdmigrate" "in the home folder"
XDG_CACHE_HOME=$dir/xdg run cache path
tap_is "$(cat "$dir/out")" "$dir/xdg/pdmigrate" "in XDG_CACHE_HOME"
PDM_CACHE_DIR=$dir/own XDG_CACHE_HOME=$dir/xdg run cache path
tap_is "$(cat "$dir/out")" "$dir/own" "in PDM_CACHE_DIR"
run cache path --cache-dir "$kept"
tap_is "$(cat "$dir/out")" "$kept" "in --cache-dir"
exits 0 "an empty one" cache --format json
is_json "$dir/out" "JSON is JSON"
tap_is "$(json_get "$dir/out" 'j["kernels"], j["bytes"], j["max_bytes"]')" "(0, 0, 268435456)" "nothing is there"
tap_is "$(left "$HOME")" "" "and nothing was made"
exits 2 "a word that is not known" cache empty
says "path, list, verify, prune or clear" "the words are told"
exits 2 "two words" cache path list
exits 2 "--max-size without prune" cache list --max-size 1
exits 2 "no size" cache prune --max-size 1X
exits 2 "too large a size" cache prune --max-size 18446744073709551615K
exits 2 "--cache-dir and --no-cache" run "$net" --random --cache-dir "$kept" --no-cache
mkdir -m 0777 "$dir/open"
chmod 0777 "$dir/open"
exits 5 "a folder that others may write" cache clear --cache-dir "$dir/open"
says "others may write there" "why is told"
HOME='' run cache
tap_is "$status" 2 "no folder at all"

if [ "$PDM_LLVM" = no ]; then
    exits 0 "a run" run "$net" --random --compile llvm -o "$dir/w/none.npz"
    says "nothing is compiled \(llvm\)" "without the module a warning tells"
    tap_done
fi

# ---- kept and used again
exits 0 "not compiled" run "$net" --random -o "$dir/w/plain.npz"
exits 0 "compiled" run "$net" --random --compile llvm -o "$dir/w/first.npz" --cache-dir "$kept"
same() { # NAME: the last run gave what the first one gave
    tap_try "$1: the same outputs" cmp "$dir/w/first.npz" "$dir/w/again.npz"
}
again() { # NAME OPTIONS...
    again_name=$1
    shift
    rm -f "$dir/w/again.npz"
    exits 0 "$again_name" run "$net" --random --compile llvm -o "$dir/w/again.npz" "$@"
}
silent() {
    tap_is "$(cat "$dir/err")" "" "$1"
}
run cache --format json --cache-dir "$kept"
kernels=$(json_get "$dir/out" 'j["kernels"]')
if [ "$kernels" = 0 ] && [ "$(uname -m)" != x86_64 ]; then
    tap_skip "code is kept" "only for x86-64"
    tap_done
fi
tap_try "there are kernels ($kernels)" test "$kernels" -gt 2
tap_is "$(find "$kept" ! -perm 0600 ! -perm 0700)" "" "for the user alone"
# Without a module that can be opened, only what was kept is run.
mkdir "$dir/bad_module"
echo "no module" >"$dir/bad_module/pdmigrate-llvm.so"
modules=$PDM_MODULE_DIR
PDM_MODULE_DIR=$dir/bad_module again "from the cache" --cache-dir "$kept"
silent "nothing was compiled"
same "from the cache"
run cache --format json --cache-dir "$kept"
tap_is "$(json_get "$dir/out" 'j["kernels"]')" "$kernels" "no kernel came"

# ---- broken entries
one=$(find "$kept" -name '*.kernel' | LC_ALL=C sort | head -n 1)
printf 'x' | dd of="$one" bs=1 seek=60 conv=notrunc 2>/dev/null
again "a broken entry" -v --cache-dir "$kept"
says "made anew: $(basename "$one") in the cache: its checksum is wrong" "it is told with -v"
same "a broken entry"
for file in "$kept"/*.kernel; do
    : >"$file"
done
again "empty entries" --cache-dir "$kept"
silent "which is only told with -v"
same "empty entries"
printf 'x' | dd of="$one" bs=1 seek=60 conv=notrunc 2>/dev/null
exits 1 "verify finds a broken one" cache verify --cache-dir "$kept"
tap_is "$(tail -n 1 "$dir/out")" "1 broken, removed" "and tells"
exits 0 "verify once more" cache verify --format json --cache-dir "$kept"
tap_is "$(json_get "$dir/out" 'j["kernels"], j["broken"]')" "($((kernels - 1)), 0)" "the others are good"
exits 0 "prune" cache prune --max-size 2K --format json --cache-dir "$kept"
tap_is "$(json_get "$dir/out" 'j["bytes"] <= 2048 and j["removed"] > 0')" True "down to a size"
exits 0 "clear" cache clear --cache-dir "$kept"
tap_is "$(left "$kept")" "" "nothing is left"

# ---- nothing can be kept
exits 0 "--no-cache" run "$net" --random --compile llvm --no-cache
PDM_CACHE=off run run "$net" --random --compile llvm
tap_is "$(left "$HOME")" "" "nothing is kept with --no-cache or PDM_CACHE=off"
again "a folder that others may write" --cache-dir "$dir/open"
says "warning: compiled code is not kept: $dir/open: others may write there" "a warning tells"
tap_is "$(grep -c warning "$dir/err")" 1 "once"
same "a folder that others may write"
tap_is "$(left "$dir/open")" "" "and it stays empty"
echo >"$dir/file"
again "a file in its place" --cache-dir "$dir/file/kept"
says "compiled code is not kept: $dir/file/kept: Not a directory" "a warning tells"
same "a file in its place"
# Standard output is a pipe, so that only the cache writes files.
full=$( (ulimit -f 0; "$PDMIGRATE" run "$net" --random --compile llvm --cache-dir "$kept" 2>&1; echo "rc $?") | cat)
tap_is "$(printf '%s\n' "$full" | grep -c "compiled code is not kept: $kept: File too large")" 1 "no more room: a warning"
tap_is "$(printf '%s\n' "$full" | tail -n 1)" "rc 0" "no more room: the run ends well"
tap_is "$(left "$kept")" "" "no more room: nothing is left over"
again "by default" # in the home folder
tap_try "it is in the home folder" test -n "$(left "$HOME/.cache/pdmigrate")"
same "by default"

# ---- nothing can be compiled
PDM_MODULE_DIR=$dir/none again "no module" --no-cache
says "nothing is compiled \(llvm\): $dir/none/pdmigrate-llvm.so: No such file" "it is told"
PDM_MODULE_DIR=$dir/bad_module again "a module that cannot be opened" --no-cache
says "ops are run one by one \(llvm\): .*(invalid ELF header|file too short)" "it is told"
tap_is "$(grep -c warning "$dir/err")" 1 "once"
tap_try "the outputs are those of the ops" cmp "$dir/w/again.npz" "$dir/w/plain.npz"

# module NAME TEXT: a module made of C, as good as the compiler at hand makes it.
module() {
    mkdir "$dir/$1"
    printf '%s\n' '#include "cinn/backend.h"' "$2" >"$dir/$1/module.c"
    # shellcheck disable=SC2086 # words
    tap_try "$1: it is built" $CC -std=gnu11 -shared -fPIC -I"$srcdir/src" -I"$builddir/src" -I"$builddir" \
        -I"$srcdir/include" -o "$dir/$1/pdmigrate-llvm.so" "$dir/$1/module.c"
    PDM_MODULE_DIR=$dir/$1 again "$1" --no-cache
}
module other_version 'static const pdm_cinn_backend b = {.version = 1, .identity = "another"};
const pdm_cinn_backend *pdm_cinn_module(void);
const pdm_cinn_backend *pdm_cinn_module(void) { return &b; }'
says "one by one \(llvm\): the module pdmigrate-llvm.so is of another version" "another version is told"
module other_build 'static const pdm_cinn_backend b = {.version = PDM_CINN_BACKEND_VERSION, .identity = "another"};
const pdm_cinn_backend *pdm_cinn_module(void);
const pdm_cinn_backend *pdm_cinn_module(void) { return &b; }'
says "one by one \(llvm\): the module pdmigrate-llvm.so is of another version" "another build is told"
module no_entry 'int nothing;'
says "one by one \(llvm\): the module pdmigrate-llvm.so is of another version" "no entry is told"
module no_features '#include "cinn/identity.h"
static const char *why(void) { return "this LLVM makes no code for this processor"; }
static const pdm_cinn_backend b = {
    .version = PDM_CINN_BACKEND_VERSION, .identity = PDM_CINN_MODULE_IDENTITY, .why_not = why};
const pdm_cinn_backend *pdm_cinn_module(void);
const pdm_cinn_backend *pdm_cinn_module(void) { return &b; }'
says "one by one \(llvm\): this LLVM makes no code for this processor" "another processor is told"
PDM_MODULE_DIR=$modules again "the module" --no-cache
silent "nothing is told"
same "the module"
tap_done
