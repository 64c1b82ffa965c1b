#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A Slurm job that trains with several processes and goes on where the last job stopped.
#
#     sbatch examples/slurm.sh my.pack my-run [FLAGS-OF-TRAIN...]
#     sbatch --nodes=4 --ntasks-per-node=8 --gpus-per-task=1 examples/slurm.sh my.pack my-run --batch-size 512
#
# The corpus and the run folder must be on a file system that all nodes share. Two minutes before its time is over the job
# gets a SIGTERM: all ranks end after the same step, saved, with exit code 4, and the job queues itself again. A rank
# that fails or is lost ends the job with one message that names it; submit it again and it goes on from the last
# checkpoint, with any number of tasks. Environment:
#
#     MYXTTS=myxtts    the program, built with MPI ('make info' tells)
#     MPI=pmix         how srun starts it: 'srun --mpi=list' shows what there is
#SBATCH --job-name=myxtts
#SBATCH --ntasks=2
#SBATCH --cpus-per-task=1
#SBATCH --time=08:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
#SBATCH --output=myxtts-%j.log
#SBATCH --open-mode=append
set -u

program=${MYXTTS:-myxtts}
corpus=${1:?usage: sbatch slurm.sh CORPUS RUN [FLAGS...]}
folder=${2:?usage: sbatch slurm.sh CORPUS RUN [FLAGS...]}
shift 2

arguments=(--train-data "$corpus" --output "$folder" "$@")
if compgen -G "$folder/checkpoints/step-*.safetensors" >/dev/null; then arguments=(--resume "$folder" "$@"); fi

# --kill-on-bad-exit: when one task ends with an error, none of the others goes on waiting for it.
srun --mpi="${MPI:-pmix}" --kill-on-bad-exit=1 "$program" train "${arguments[@]}"
code=$?
if [ "$code" -eq 4 ] && [ -n "${SLURM_JOB_ID:-}" ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$code"
