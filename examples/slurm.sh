#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A Slurm job that trains with several processes and continues where the last job stopped.
#
#     sbatch examples/slurm.sh my.pack my-run [FLAGS-OF-TRAIN...]
#     sbatch --nodes=4 --ntasks-per-node=8 --gpus-per-task=1 examples/slurm.sh my.pack my-run --batch-size 512
#
# The corpus and the run folder must be on a file system that all nodes share. Two minutes before its time is over, the job
# receives SIGTERM: all ranks stop after the same step, save a checkpoint and exit with code 4, and the job queues itself
# again. If a rank fails or is lost, the job ends with one message that names the rank; submit the job again to continue
# from the last checkpoint, with any number of tasks. Environment variables:
#
#     MYXTTS=myxtts    the program, built with MPI ('make info' shows whether it is)
#     MPI=pmix         how srun starts it; 'srun --mpi=list' lists the choices
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

# --kill-on-bad-exit: if one task ends with an error, the others do not keep waiting for it.
srun --mpi="${MPI:-pmix}" --kill-on-bad-exit=1 "$program" train "${arguments[@]}"
code=$?
if [ "$code" -eq 4 ] && [ -n "${SLURM_JOB_ID:-}" ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$code"
