#!/usr/bin/env bash
# Nothing in the repository names a machine's paths or other things that only its authors' desks have.
set -uo pipefail
cd "$1"
if git grep -nIE '/work/|/root/|/home/[a-z]|\$HOME/[a-z]+/kaon' -- . ':!tests/repo/check_privacy.sh'; then
  echo "paths of a particular machine: see above"
  exit 1
fi
echo "privacy: ok"
