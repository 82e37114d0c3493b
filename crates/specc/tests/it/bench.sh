run=$(($(cat $1 2>/dev/null || echo 0) + 1)); echo $run >$1
echo '{ "context": {}, "benchmarks": ['
for n in 10 100 1000 10000 100000; do for name in sum hash; do
  draw=$(((run * 7919 + n * 31 + ${#1} * 104729 + ${#name} * 1299709) * 16807 % 2147483647))
  time=$((n * (1000000 + draw % 1000 * $3)))
  if [ $name = hash ] && [ $n -ge 1000 ]; then time=$((time + time / 100 * $2)); fi
  echo "$sep{\"name\": \"$name/$n\", \"run_type\": \"iteration\", \"real_time\": $time, \"time_unit\": \"ns\"}"
  sep=,
done; done
echo ']}'
