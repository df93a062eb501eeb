#!/usr/bin/env bash
# For other scripts: runs steps in parallel, and prints how each ended, how long it took, and how much processor time it used.
#
#   steps_folder=FOLDER            where each step's log is kept, and how long it took
#   run_steps JOBS "NAME [after=NAME,…] [behind] [waits]: COMMAND"…
#
# At most JOBS run at a time, in the order in which they are given. A step that comes after others begins when all of them have passed. A
# step that mostly waits (waits) is not counted. A step that is behind uses the processor time that the others leave. A step that fails
# ends the run: none begins after it, and the end of its log is shown. Call print_times when everything has ended.
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

# children_seconds FILE: the processor time of the children that a shell has waited for, in whole seconds, from what `times` has said. It
# is written to a file, since a pipe would have a shell of its own.
children_seconds() {
  awk 'NR == 2 { gsub(",", "."); for (i = 1; i <= 2; i++) { split($i, part, /[ms]/); sum += part[1] * 60 + part[2] } }
    END { printf "%.0f\n", sum }' "$1"
}

# one_step NAME COMMAND NICE: runs it with a log of its own. It is called in a shell of its own, whose only child is the step. Linux shares
# its processors among sessions first, and looks at what is nice only within each: the session is told too, where it can be.
one_step() {
  local began=$SECONDS status=0
  # shellcheck disable=SC2016  # the step's own shell expands them
  $steps_session bash -c 'if [ "$2" -gt 0 ]; then
      renice -n "$2" -p $$ >/dev/null
      if [ -w /proc/self/autogroup ]; then echo "$2" 2>/dev/null >/proc/self/autogroup || true; fi
    fi
    exec bash -c "$1"' step "$2" "$3" >"$steps_folder/$1.log" 2>&1 </dev/null &
  echo $! >"$steps_folder/$1.pid"
  wait $! || status=$?
  times >"$steps_folder/$1.times"
  echo "$status $((SECONDS - began)) $(children_seconds "$steps_folder/$1.times")" >"$steps_folder/$1.ended"
}

# is_ready STEP PASSED: whether all have passed that the step is to come after. PASSED has names with spaces around.
is_ready() {
  local word needed
  for word in ${1%%: *}; do
    [ "${word%%=*}" = after ] || continue
    for needed in $(tr , ' ' <<<"${word#after=}"); do [[ $2 == *" $needed "* ]] || return 1; done
  done
}

# says STEP WORD: whether one of the words after the step's name is that.
says() { [[ " ${1%%: *} " == *" $2 "* ]]; }

run_steps() {
  local jobs=$1 step other name status seconds processor failed='' passed=' ' counted running=() waiting=()
  shift
  mkdir -p "$steps_folder"
  while [ $# -gt 0 ] || [ ${#running[@]} -gt 0 ]; do
    waiting=()
    for step in "$@"; do
      counted=0
      for other in ${running[@]+"${running[@]}"}; do says "$other" waits || counted=$((counted + 1)); done
      if [ -n "$failed" ] || ! is_ready "$step" "$passed" || { [ "$counted" -ge "$jobs" ] && ! says "$step" waits; }; then
        waiting+=("$step")
        continue
      fi
      name=${step%%[: ]*}
      rm -f "$steps_folder/$name.ended" "$steps_folder/$name.pid"
      one_step "$name" "${step#*: }" "$(says "$step" behind && echo 19 || echo 0)" &
      running+=("$step")
    done
    [ -z "$failed" ] || waiting=()
    set -- ${waiting[@]+"${waiting[@]}"}
    if [ ${#running[@]} -eq 0 ] && [ $# -gt 0 ]; then
      echo "no step is called so, or each waits for another: $1" >&2
      return 1
    fi
    sleep 0.5
    local rest=()
    for step in ${running[@]+"${running[@]}"}; do
      name=${step%%[: ]*}
      if [ ! -s "$steps_folder/$name.ended" ]; then
        # A step that is gone without a word has failed.
        if [ -s "$steps_folder/$name.pid" ] && ! kill -0 "$(cat "$steps_folder/$name.pid")" 2>/dev/null; then
          sleep 2
          [ -s "$steps_folder/$name.ended" ] || echo "137 0 0" >"$steps_folder/$name.ended"
        fi
        rest+=("$step")
        continue
      fi
      read -r status seconds processor <"$steps_folder/$name.ended"
      steps_times+=("$seconds $processor $name")
      if [ "$status" = 0 ]; then
        passed+="$name "
        echo "== $name: passed in $seconds s, $processor s of processor, $SECONDS s after the beginning"
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
  echo "seconds, and those of the processors:"
  printf '%s\n' "${steps_times[@]}" | sort -rn |
    awk '{ printf "%6d s %6d s  %s\n", $1, $2, $3; sum += $2 } END { printf "In all %d s of processor\n", sum }'
  echo "In all $SECONDS s"
}
