#!/bin/sh
# Runs the tests, tests.sh PYTHON [WORDS FOR PYTEST]: first side by side in three processes all that can be, then one
# after the other those marked `serial`. Ends with one verdict and the names of all tests that failed.
# A file's tests stay together, since they share what is dear to set up. -n NUMBER among the words takes as many
# processes as that, -n 0 none. Libraries get one thread in each: threads of several processes that wait for each other on
# two cores make the arithmetic several times slower.
set -u
python=$1
shift

failed=$(mktemp)
trap 'rm -f "$failed"' EXIT

verdict() {
    echo
    # A file that cannot be read fails in both steps.
    names=$(sort -u "$failed")
    if [ -n "$names" ]; then
        echo "FAILED, $(echo "$names" | wc -l | tr -d ' ') in all:"
        echo "$names" | sed 's/^/  /'
    else
        echo "$2"
    fi
    exit "$1"
}

# 1: tests failed. 5: none was found, which is no fault if the other step finds one. Else (a word that pytest does not
# know, Ctrl-C, a file that cannot be read) the second step would only say it again.
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 \
    "$python" -m pytest -n 3 --dist loadfile --serial=without --failed-to="$failed" "$@"
together=$?
case $together in 0 | 1 | 5) ;; *) verdict $together "STOPPED: pytest ended with $together" ;; esac

"$python" -m pytest --serial=only --failed-to="$failed" "$@"
alone=$?
case $together$alone in
    55) verdict 5 "NO TEST was found" ;;
    00 | 05 | 50) verdict 0 "PASSED, side by side and one by one" ;;
    ?0 | ?5) verdict $together "FAILED: pytest ended with $together in the first step" ;;
    *) verdict $alone "FAILED: pytest ended with $alone in the second step" ;;
esac
