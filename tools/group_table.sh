#!/bin/sh
# Prints the table of docs/compiler.md: how many ops of each model are in groups that are compiled.
# group_table.sh PDMIGRATE FOLDER...: folders of models
set -u
pdmigrate=$1
shift
echo "| model | ops | of libraries | others | in groups | share | groups |"
echo "|---|--:|--:|--:|--:|--:|--:|"
for folder; do
    "$pdmigrate" show "$folder" --no-params --group-summary | awk -v model="$(basename "$folder")" '
        $1 == "ops" { ops = $2 }
        $1 == "of" { library = $3 }
        $1 == "others" { others = $2 }
        $1 == "in" { grouped = $3; share = $4; groups = $7 }
        END { printf "| %s | %d | %d | %d | %d | %s %% | %d |\n", model, ops, library, others, grouped, share, groups }'
done
