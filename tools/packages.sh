# shellcheck shell=sh disable=SC2034
# Debian packages: sourced by quickstart and run-tests, which need them on a fresh Debian 12 machine.
packages_build="autoconf automake check gcc libc6-dev libcjson-dev libprotobuf-c-dev libtool
    libzip-dev llvm-16-dev make pkg-config protobuf-c-compiler"
packages_test="binutils ca-certificates clang-16 diffutils file graphviz libc6-dbg libclang-rt-16-dev python3
    python3-venv valgrind xz-utils"

# Installs those of the packages named that are missing; needs root or sudo only then.
install_packages() {
    missing=
    for package in "$@"; do
        # shellcheck disable=SC2016 # dpkg-query expands its own variables
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
            missing="$missing $package"
    done
    [ -n "$missing" ] || return 0

    echo "installing:$missing"
    sudo=
    if [ "$(id -u)" -ne 0 ]; then
        sudo=$(command -v sudo) || {
            echo "error: not root and no sudo; install these packages first:$missing" >&2
            return 1
        }
    fi
    apt="env DEBIAN_FRONTEND=noninteractive apt-get -q -y"
    # shellcheck disable=SC2086 # lists of words
    if $sudo $apt update >/dev/null &&
        $sudo $apt install --no-install-recommends $missing >/dev/null; then
        return 0
    fi
    echo "error: apt-get could not install:$missing" >&2
    return 1
}
