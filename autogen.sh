#!/bin/sh
# Makes configure. Only needed in a clone; the tarball has it.
set -eu
cd "$(dirname "$0")"
exec autoreconf --install --force --warnings=all
