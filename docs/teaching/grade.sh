#!/bin/bash
# Grades submissions: runs each packet test of a folder on the programs of each student.
#
#     docs/teaching/grade.sh TESTS SUBMISSIONS [MACHINES]
#
# TESTS has NAME.packets, and the tables that they name. SUBMISSIONS has a folder for each student,
# with the programs that the tests name. For each student and test a line goes to standard output,
# "student,test,result", and what the command said to STUDENT/NAME.log. Results:
#
#     passed    every expectation is met
#     failed    an expectation is not met; the log has the first difference of each
#     refused   the program is missing or does not compile
#     stopped   it took longer than a minute
#
# MACHINES is golden if not given: the interpreter, which makes no machine code of programs.
# Exit status: 0 if all passed, 1 if not, 2 for wrong usage.
set -euo pipefail

if [ $# -lt 2 ] || [ ! -d "$1" ] || [ ! -d "$2" ]; then
    echo "usage: $0 TESTS SUBMISSIONS [MACHINES], the first two being folders" >&2
    exit 2
fi
if ! command -v wireloom > /dev/null; then
    echo "error: wireloom is not installed, or not in a folder of PATH" >&2
    exit 2
fi
tests=$1 submissions=$2 machines=${3:-golden}
if ! compgen -G "$tests/*.packets" > /dev/null; then
    echo "error: $tests has no packet tests (NAME.packets)" >&2
    exit 2
fi
if ! compgen -G "$submissions/*/" > /dev/null; then
    echo "error: $submissions has no folder of a student" >&2
    exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

status=0
echo student,test,result
for student in "$submissions"/*/; do
    # Only programs are taken from a submission, so nobody brings tests or tables along.
    rm -rf "${work:?}"/*
    cp "$tests"/*.packets "$work"
    find "$tests" -maxdepth 1 -name '*.tables' -exec cp -t "$work" {} +
    find "$student" -maxdepth 1 -type f -name '*.loom' -exec cp -t "$work" {} +
    for test in "$work"/*.packets; do
        name=$(basename "$test" .packets)
        code=0
        timeout 60 wireloom test "$test" --on "$machines" > "$student/$name.log" 2>&1 || code=$?
        case $code in
            0) result=passed ;;
            1) result=failed ;;
            124) result=stopped ;;
            *) result=refused ;;
        esac
        [ $code -eq 0 ] || status=1
        echo "$(basename "$student"),$name,$result"
    done
done
exit $status
