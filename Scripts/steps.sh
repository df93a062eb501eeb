#!/usr/bin/env bash
# For other scripts: runs steps beside one another, and says how each ended and how long it took.
#
#   steps_folder=FOLDER            where each step's log is kept, and how long it took
#   run_steps JOBS "NAME: COMMAND"…
#
# A step that fails ends the run: none begins after it, and the end of its log is shown. At the end of all, print_times.
steps_folder=${steps_folder:-.build/steps}
steps_times=()
# Each step has a session of its own where there is such a thing, so that all of it can be ended.
steps_session=$(command -v setsid || true)

# end_steps: ends what is running, which in the background would not notice that the whole is ended.
end_steps() {
  local file pid
  for file in "$steps_folder"/*.pid; do
    [ -s "$file" ] && [ ! -s "${file%.pid}.ended" ] || continue
    pid=$(cat "$file")
    kill -- "-$pid" 2>/dev/null || kill "$pid" 2>/dev/null || true
  done
}

# one_step NAME COMMAND: runs it with a log of its own.
one_step() {
  local began=$SECONDS status=0
  $steps_session bash -c "$2" >"$steps_folder/$1.log" 2>&1 </dev/null &
  echo $! >"$steps_folder/$1.pid"
  wait $! || status=$?
  echo "$status $((SECONDS - began))" >"$steps_folder/$1.ended"
}

run_steps() {
  local jobs=$1 step name status seconds failed='' running=()
  shift
  mkdir -p "$steps_folder"
  while [ $# -gt 0 ] || [ ${#running[@]} -gt 0 ]; do
    while [ $# -gt 0 ] && [ -z "$failed" ] && [ ${#running[@]} -lt "$jobs" ]; do
      name=${1%%: *}
      rm -f "$steps_folder/$name.ended" "$steps_folder/$name.pid"
      one_step "$name" "${1#*: }" &
      running+=("$name")
      shift
    done
    [ -z "$failed" ] || set --
    sleep 0.5
    local rest=()
    for name in "${running[@]}"; do
      if [ ! -s "$steps_folder/$name.ended" ]; then
        # A step that is gone without a word has failed.
        if [ -s "$steps_folder/$name.pid" ] && ! kill -0 "$(cat "$steps_folder/$name.pid")" 2>/dev/null; then
          sleep 2
          [ -s "$steps_folder/$name.ended" ] || echo "137 0" >"$steps_folder/$name.ended"
        fi
        rest+=("$name")
        continue
      fi
      read -r status seconds <"$steps_folder/$name.ended"
      steps_times+=("$seconds $name")
      if [ "$status" = 0 ]; then
        echo "== $name: passed in $seconds s"
        # What a step says of its tests, and of what it left out.
        grep -hE '(passed|failed) after|[0-9]+ passed, [0-9]+ failed|left out|not tested|not counted|run make planted' "$steps_folder/$name.log" |
          grep -vE '^([✔◇]|==|…) ?(Test|Suite|[0-9])' | tail -n 30 || true
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
    for name in $failed; do grep 'TALLY_SEED=' "$steps_folder/$name.log" | sort -u | tail -n 20 || true; done
    return 1
  fi
}

print_times() {
  printf '%s\n' "${steps_times[@]}" | sort -rn | awk '{ printf "%6d s  %s\n", $1, $2 }'
  echo "In all $SECONDS s"
}
