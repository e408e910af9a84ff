#!/usr/bin/env bash
# Prints the path of a Chromium for the browser tests; installs Debian's where there is none and that is possible.
# HEADRACE_CHROMIUM names another one.
set -euo pipefail

found() {
    for name in "${HEADRACE_CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
        if [ -n "$name" ] && command -v "$name"; then return 0; fi
    done
    return 1
}

if found; then exit 0; fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "There is no Chromium. Install it (Debian: apt-get install chromium), or set HEADRACE_CHROMIUM=PATH." >&2
    exit 1
fi
{
    export DEBIAN_FRONTEND=noninteractive
    install=(apt-get install -y --no-install-recommends chromium fonts-dejavu-core)
    "${install[@]}" || { apt-get update && "${install[@]}"; }
} >&2
found
