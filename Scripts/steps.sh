#!/usr/bin/env bash
# For other scripts: runs steps beside one another, and says how each ended and how long it took.
#
#   steps_folder=FOLDER            where each step's log is kept, and how long it took
#   run_steps JOBS "NAME: COMMAND"…
#
# A step that fails ends the run: none begins after it, and the end of its log is shown. At the end of all, print_times.
steps_folder=${steps_folder:-.build/steps}
steps_times=()

# one_step NAME COMMAND: runs it with a log of its own.
one_step() {
  local began=$SECONDS status=0
  bash -c "$2" >"$steps_folder/$1.log" 2>&1 </dev/null || status=$?
  echo "$status $((SECONDS - began))" >"$steps_folder/$1.ended"
}

run_steps() {
  local jobs=$1 step name status seconds failed='' running=()
  shift
  mkdir -p "$steps_folder"
  while [ $# -gt 0 ] || [ ${#running[@]} -gt 0 ]; do
    while [ $# -gt 0 ] && [ -z "$failed" ] && [ ${#running[@]} -lt "$jobs" ]; do
      name=${1%%: *}
      rm -f "$steps_folder/$name.ended"
      one_step "$name" "${1#*: }" &
      running+=("$name")
      shift
    done
    [ -z "$failed" ] || set --
    sleep 0.5
    local rest=()
    for name in "${running[@]}"; do
      if [ ! -s "$steps_folder/$name.ended" ]; then
        rest+=("$name")
        continue
      fi
      read -r status seconds <"$steps_folder/$name.ended"
      steps_times+=("$seconds $name")
      if [ "$status" = 0 ]; then
        echo "== $name: passed in $seconds s"
        # What a step says of its tests, and of what it left out.
        grep -hE '(passed|failed) after|[0-9]+ passed, [0-9]+ failed|left out|not tested|not counted' "$steps_folder/$name.log" |
          grep -vE '^([✔◇]|==|…) ?(Test|Suite|[0-9])' | head -30
      else
        echo "== $name: FAILED with status $status after $seconds s; the end of its log:"
        tail -n 120 "$steps_folder/$name.log"
        failed+=" $name"
      fi
    done
    running=(${rest[@]+"${rest[@]}"})
  done
  if [ -n "$failed" ]; then
    echo "Failed:$failed"
    grep -h 'TALLY_SEED=' $(for name in $failed; do echo "$steps_folder/$name.log"; done) | sort -u | head -20
    return 1
  fi
}

print_times() {
  printf '%s\n' "${steps_times[@]}" | sort -rn | awk '{ printf "%6d s  %s\n", $1, $2 }'
  echo "In all $SECONDS s"
}
