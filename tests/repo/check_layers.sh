#!/usr/bin/env bash
# Who may include whom: every #include of the repository's own headers is held against the table of compiler/README.md.
set -uo pipefail
cd "$1"

# folder prefix -> prefixes that it may include (its own is implied). The longest matching prefix counts.
declare -A allowed=(
  [runtime/base]=""
  [runtime/driver]="runtime/base"
  [runtime/launch]="runtime/base runtime/driver"
  [runtime/host]="runtime/base runtime/launch"
  [runtime]="runtime/base runtime/driver runtime/launch"
  [heuristics]="runtime/base runtime/launch/kernel_table.h runtime/launch/pack_format.h runtime/launch/pack.h runtime/launch/pack_writer.h"
  [compiler/support]="runtime/base"
  [compiler/layout]="runtime/base compiler/support"
  [compiler/target]="runtime/base"
  [compiler/ir]="runtime/base compiler/support compiler/layout"
  [compiler/oracle]="runtime/base compiler/support compiler/layout compiler/ir"
  [compiler/config]="runtime/base compiler/support compiler/layout compiler/ir compiler/target"
  [compiler/frontend]="runtime/base compiler/support compiler/layout compiler/ir"
  [compiler/passes]="runtime/base compiler/support compiler/layout compiler/ir compiler/target compiler/config"
  [compiler/codegen]="runtime/base runtime/host/simt_abi.h compiler"
  [compiler/tools]="runtime/base compiler"
  [compiler]="runtime/base compiler"
  [aot_runner/measure]="runtime compiler/ir compiler/oracle compiler/layout compiler/support"
  [aot_runner]="runtime compiler heuristics"
  [aot_runner/report]="runtime compiler heuristics aot_runner pretuned/pretuned.h"
  [pretuned]="runtime"
)
# Headers from outside that only these folders may see.
outside=(
  'llvm/:compiler/codegen compiler/compile.cpp'
  'xgboost/:heuristics'
  'nlohmann/:heuristics aot_runner compiler/tools tests bench'
  'sqlite3.h:aot_runner tests'
  'CLI/:aot_runner compiler/tools tests bench'
  'fmt/:aot_runner compiler/tools bench'
  'boost/:runtime/host'
  'cuda.h:tests'
)

bad=0
complain() { echo "$1: $2"; bad=1; }

# Sets `folder` to the longest prefix of the table that holds file $1, or to nothing.
find_folder() {
  folder=${1%/*}
  while [ -n "$folder" ] && [ -z "${allowed[$folder]+known}" ]; do
    [[ $folder == */* ]] && folder=${folder%/*} || folder=""
  done
}

while IFS=: read -r file line text; do
  [[ $text =~ include\ +[\"\<]([^\"\>]+) ]] || continue
  header=${BASH_REMATCH[1]}
  case $header in
    runtime/* | compiler/* | heuristics/* | aot_runner/* | pretuned/* | tests/* | bench/*)
      case $file in tests/* | bench/*) continue ;; esac
      find_folder "$file"
      [ -n "$folder" ] || { complain "$file:$line" "in no folder of the layering table"; continue; }
      [[ $header == "$folder"/* ]] && continue
      ok=0
      for prefix in ${allowed[$folder]}; do [[ $header == "$prefix" || $header == "$prefix"/* ]] && ok=1; done
      [ $ok = 1 ] || complain "$file:$line" "$folder may not include $header"
      ;;
    *)
      for rule in "${outside[@]}"; do
        [[ $header == "${rule%%:*}"* ]] || continue
        ok=0
        for prefix in ${rule#*:}; do [[ $file == "$prefix" || $file == "$prefix"/* ]] && ok=1; done
        [ $ok = 1 ] || complain "$file:$line" "$header may only be included from: ${rule#*:}"
      done
      ;;
  esac
done < <(git ls-files '*.h' '*.cpp' '*.inc' '*.c' | xargs grep -nE '^ *# *include +["<]' /dev/null)

[ $bad = 0 ] && echo "layers: ok"
exit $bad
