#!/usr/bin/env bash
# Install Debian packages without interaction: as root, or with passwordless sudo.
# usage: tools/debian.sh WHY PACKAGE...
set -euo pipefail

why=$1
shift

if [ "$(id -u)" -eq 0 ]; then
    as_root=()
elif sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
else
    as_root=(false)
fi

if command -v apt-get >/dev/null && [ "${as_root[*]:-}" != false ]; then
    echo "tracklight: $why; installing $*" >&2
    export DEBIAN_FRONTEND=noninteractive
    quietly=(-qq -o Dpkg::Use-Pty=0)
    "${as_root[@]}" apt-get update "${quietly[@]}" >/dev/null &&
        "${as_root[@]}" apt-get install "${quietly[@]}" -y --no-install-recommends "$@" >/dev/null &&
        exit 0
fi
echo "tracklight: $why; please install it (on Debian: apt-get install $*)" >&2
exit 1
