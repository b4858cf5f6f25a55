#!/bin/sh
# A run by shards of a Slurm array, pass after pass, until nothing is missing: sh examples/cluster/passes.sh BASE SHARDS
#
#   sdg hypothesize --config quickstart --out runs/base && sh examples/cluster/passes.sh runs/base 4
set -eu
base=$1 shards=$2 pass=0 here=$(dirname "$0")
cp -r "$base" "$base.pass0"
while :; do
    now=$base.pass$pass pass=$((pass + 1))
    sbatch --wait --array=1-"$shards" --output="$now-%a.log" "$here/slurm.sh" "$now"
    folders=$(seq -f "$now-%g" 1 "$shards")
    sdg merge $folders --out "$base.pass$pass" --json | grep -q '"new":[1-9]' || break
done
sdg run --out "$base.pass$pass"
