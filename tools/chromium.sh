#!/bin/sh
# Sees to a Chromium for the browser tests: takes one that is there, else Debian's where apt-get is usable.
# Never fails: without a browser the browser tests skip and say so, and .ci/run turns that into a failure.
set -u

for name in ${SIGHTLINE_CHROMIUM:-} chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done

without() {
    echo "No Chromium: $1. The browser tests will be skipped; SIGHTLINE_CHROMIUM=/path/to/chromium names one." >&2
    exit 0
}

command -v apt-get >/dev/null 2>&1 || without "none on the PATH, and there is no apt-get to install it with"
if [ "$(id -u)" -eq 0 ]; then
    as_root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    without "none on the PATH, and apt-get needs root or sudo without a password"
fi

echo "Installing Debian's Chromium for the browser tests" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Headless pages without any font show empty boxes for text, hence the font.
if ! { $as_root apt-get update -qq &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        chromium fonts-dejavu-core; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    without "apt-get could not install it"
fi
