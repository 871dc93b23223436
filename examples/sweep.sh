#!/usr/bin/env bash
# A sweep in plain shell: every learning rate with every seed, then the runs side by side.
#
#   examples/sweep.sh searchqa --preset tiny
#
# What is given here goes to every run. With OUT, RATES and SEEDS set, other runs are made.
# `skillopt sweep` does the same over a YAML file, continues where it was killed, and shows which
# differences are more than chance.
set -euo pipefail

OUT=${OUT:-outputs}
RATES=${RATES:-2 8}
SEEDS=${SEEDS:-1 2}
runs=()

for rate in $RATES; do
    for seed in $SEEDS; do
        run="rate-$rate-seed-$seed"
        runs+=("$run")
        # Runs with one cache pay once for what they measure in common: the seed skill's scores,
        # first of all.
        shared=(--set "run.cache_dir=$OUT/cache" --out-root "$OUT" --display none)
        if found=$(ls -d "$OUT"/*/"$run" 2>/dev/null); then
            skillopt resume "$found" "${shared[@]}"
        else
            skillopt train "$@" --run-id "$run" --learning-rate "$rate" --seed "$seed" "${shared[@]}"
        fi
    done
done

echo
echo "By the selection score, the best last:"
skillopt runs list --out-root "$OUT" --sort best
echo
skillopt gate-report --out-root "$OUT" "${runs[@]}"
