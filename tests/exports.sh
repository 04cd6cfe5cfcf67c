#!/bin/sh
# The shared library exports exactly what libpdmigrate.sym lists, the header declares exactly that,
# and the program (linked with the archives) uses nothing else.
set -u
: "${srcdir:?set by make check}" "${builddir:?set by make check}"
. "$srcdir/tests/tap/tap.sh"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

sed -n 's/^ *\([a-z][a-z0-9_]*\);$/\1/p' "$srcdir/libpdmigrate.sym" | LC_ALL=C sort >"$dir/listed"
tap_is "$(LC_ALL=C sort -u "$dir/listed" | wc -l)" "$(wc -l <"$dir/listed")" "the list has no name twice"

tr '\n' ' ' <"$srcdir/include/pdmigrate/pdmigrate.h" | sed 's/PDM_API/\n&/g' |
    sed -n 's/^PDM_API [^;(]*[ *]\(pdm_[a-z0-9_]*\)(.*/\1/p' | LC_ALL=C sort >"$dir/declared"
tap_is "$(diff "$dir/listed" "$dir/declared")" "" "the header declares what the list has"

library=$builddir/.libs/libpdmigrate.so
if [ "$PDM_SHARED" != yes ]; then
    tap_skip "the library exports what the list has" "built without a shared library"
else
    nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
        LC_ALL=C sort >"$dir/exported"
    tap_is "$(diff "$dir/listed" "$dir/exported")" "" "the library exports what the list has"
fi

find "$builddir/src/cli" -name '*.o' ! -path '*/.libs/*' -exec nm {} + |
    awk 'NF == 3 && $2 ~ /[A-Z]/ { own[$3] = 1 }
         NF == 2 && $1 == "U" && $2 ~ /^pdm_/ { used[$2] = 1 }
         END { for (name in used) if (!(name in own)) print name }' | LC_ALL=C sort >"$dir/used"
tap_is "$(comm -13 "$dir/listed" "$dir/used")" "" "the program uses exported names only"

tap_done
