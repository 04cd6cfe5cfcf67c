# shellcheck shell=sh
# recorded_folders: the folders of the fixtures that have a record and whose program is no training step; with PDM_EVERY=N
# each N-th of them.
recorded_folders() {
    find "$srcdir/fixtures/cases" "$srcdir/fixtures/cases-own" "$srcdir/fixtures/models" \
        -mindepth 1 -maxdepth 1 -type d ! -name 'bad_*' ! -name '*_train_raw' | LC_ALL=C sort |
        while read -r folder; do
            [ -f "$folder/io.npz" ] || continue
            # The weights of larger models are made elsewhere; tests/oracle/exec.py has them.
            [ -f "$folder/weights.json" ] && [ ! -f "$folder/model.pdiparams" ] && continue
            printf '%s\n' "$folder"
        done | awk -v every="${PDM_EVERY:-1}" 'NR % every == 1 || every == 1'
}
