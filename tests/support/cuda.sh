# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2154 # set by support/cli.sh
#
# For tests of commands, after support/cli.sh: the program finds the double of CUDA (tests/double) instead of NVIDIA's
# libraries, and keeps what it compiles in the folder of the test.
double=$(dirname "$program")/libcuda_double.so
if [ ! -e "$double" ]; then
    echo "skipped: the tests were not built ($double is not there)"
    exit 77
fi
export MYXTTS_CUDA_DRIVER=$double MYXTTS_CUDA_NVRTC=$double MYXTTS_CUDA_CUBLAS=$double MYXTTS_CUDA_NVML=$double
export MYXTTS_CACHE=$folder/cache
unset CUDA_VISIBLE_DEVICES
