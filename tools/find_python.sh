#!/bin/sh
# Prints a Python that can run Sightline, or says what is missing. PYTHON=... on the make line overrides the search.
# The pins are resolved with 3.11, so the versions nearest to it are tried first.
set -u

usable() {
    "$1" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

if [ -n "${PYTHON:-}" ]; then
    candidates=$PYTHON
else
    candidates="python3.11 python3.12 python3 python3.13 python3.14 python"
fi

seen=""
for name in $candidates; do
    found=$(command -v "$name" 2>/dev/null) || continue
    if ! usable "$found"; then
        seen="$seen $name ($("$found" --version 2>&1 | head -n 1))"
        continue
    fi
    if ! "$found" -c 'import venv, ensurepip' >/dev/null 2>&1; then
        version=$("$found" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        echo "Python $version ($found) cannot make a virtual environment: its modules venv and ensurepip are missing." >&2
        echo "On Debian and Ubuntu: apt-get install python$version-venv" >&2
        exit 1
    fi
    echo "$found"
    exit 0
done

echo "Sightline needs Python 3.11 or newer; found:${seen:- none at all}." >&2
echo "Install one (Debian 12 and later: apt-get install python3 python3-venv), or name one: make PYTHON=/path/to/python3.11" >&2
exit 1
