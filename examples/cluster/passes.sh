#!/bin/sh
# A run by shards of a Slurm array, pass after pass, until nothing is missing: sh examples/cluster/passes.sh BASE SHARDS
#
#   sdg hypothesize --config quickstart --out runs/base && sh examples/cluster/passes.sh runs/base 4
#
# It ends in BASE.passN. The library is the local run's, byte for byte: with `cp -r runs/base runs/local` before it, and
# `sdg run --out runs/local`, see `diff -r runs/base.passN/library runs/local/library`.
set -eu
base=$1 shards=$2 pass=0 before= here=$(dirname "$0")
cp -r "$base" "$base.pass0"
while units=$(cat "$base.pass$pass"/*.jsonl | wc -l) && [ "$units" != "$before" ]; do
    now=$base.pass$pass pass=$((pass + 1)) before=$units
    sbatch --wait --array=1-"$shards" --output="$now-%a.log" "$here/slurm.sh" "$now"
    sdg merge $(seq -f "$now-%g" 1 "$shards") --out "$base.pass$pass"
done
sdg run --out "$base.pass$pass"
