#!/bin/sh
# A run in four shards as a Slurm array, in a folder that all nodes see:
#
#   sdg hypothesize --config quickstart --out runs/base     # the model is asked here, once
#   sbatch --array=1-4 examples/cluster/slurm.sh runs/base
#   sdg merge runs/base-1 runs/base-2 runs/base-3 runs/base-4 --out runs/merged
#
# Each pass does the units of one stage; passes.sh beside this file makes all passes.
#SBATCH --job-name=sdg
#SBATCH --cpus-per-task=1
#SBATCH --mem=4G
#SBATCH --time=04:00:00

set -eu
base=$1
shard=$base-$SLURM_ARRAY_TASK_ID
[ -d "$shard" ] || cp -r "$base" "$shard"
exec sdg run --quiet --out "$shard" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
