#!/usr/bin/env bash
# expect_exit.sh CODE TEXT COMMAND...: passes if the command exits with CODE and its output contains TEXT.
set -u
code=$1 text=$2
shift 2
output=$("$@" 2>&1)
got=$?
if [ "$got" -ne "$code" ]; then
  echo "exit code: expected $code, got $got"
  echo "$output"
  exit 1
fi
case "$output" in
  *"$text"*) exit 0 ;;
esac
echo "output: expected '$text' in"
echo "$output"
exit 1
