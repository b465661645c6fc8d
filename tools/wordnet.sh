#!/bin/sh
# Sees to a WordNet 3.0 for the tests that count depths: takes one that is there, else Debian's where apt-get is
# usable. Never fails: without it those tests skip and say so, and .ci/run turns that into a failure.
set -u

for place in ${SIGHTLINE_WORDNET:+"$SIGHTLINE_WORDNET"} /usr/share/wordnet "$HOME/nltk_data/corpora/wordnet"; do
    if [ -f "$place/data.noun" ]; then
        exit 0
    fi
done

without() {
    echo "No WordNet: $1. Tests of it will be skipped; SIGHTLINE_WORDNET=/path/to/wordnet names one." >&2
    exit 0
}

command -v apt-get >/dev/null 2>&1 || without "none in the usual places, and there is no apt-get to install it with"
if [ "$(id -u)" -eq 0 ]; then
    as_root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    without "none in the usual places, and apt-get needs root or sudo without a password"
fi

echo "Installing Debian's WordNet for the tests" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $as_root apt-get update -qq &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends wordnet-base; \
    } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    without "apt-get could not install it"
fi
