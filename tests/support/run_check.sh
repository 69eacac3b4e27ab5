#!/usr/bin/env bash
# Runs the RUN lines of a test file: run_check.sh KAONC FILECHECK FILE
#
# A line `// RUN: command` anywhere in FILE is one shell command; one that ends in a backslash goes on in the next RUN
# line. A pipe fails if any of its parts fails. Replaced in commands: %kaonc and FileCheck (the programs), %s (this
# file), %S (its folder), %t (a fresh temporary path). Exit status: 0, 1 at the first command that fails, 77 when
# FileCheck is not installed.
set -uo pipefail

if [ $# -ne 3 ]; then
  echo "usage: run_check.sh KAONC FILECHECK FILE" >&2
  exit 2
fi
kaonc=$1
filecheck=$2
file=$3

if [ ! -x "$filecheck" ]; then
  echo "[SKIP] FileCheck is not installed: apt-get install llvm-19-tools"
  exit 77
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

commands=()
pending=""
while IFS= read -r line; do
  text=${line#*RUN:}
  text=${text# }
  if [ "${text: -1}" = "\\" ]; then
    pending+="${text%\\} "
  else
    commands+=("$pending$text")
    pending=""
  fi
done < <(grep -E '^[[:space:]]*//[[:space:]]*RUN:' "$file")

if [ ${#commands[@]} -eq 0 ] || [ -n "$pending" ]; then
  echo "$file: no complete RUN line" >&2
  exit 1
fi

for command in "${commands[@]}"; do
  run=${command//%kaonc/\"$kaonc\"}
  run=${run//%s/\"$file\"}
  run=${run//%S/\"$(dirname "$file")\"}
  run=${run//%t/\"$scratch/t\"}
  run=$(sed -E "s#(^|[|&;( ])FileCheck( |\$)#\\1\"$filecheck\"\\2#g" <<<"$run")
  if ! bash -o pipefail -c "$run"; then
    echo "failed: $command" >&2
    echo "   ran: $run" >&2
    exit 1
  fi
done
