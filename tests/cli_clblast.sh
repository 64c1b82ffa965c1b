#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What the program, given as $1, says about CLBlast: which devices it multiplies on, in 'myxtts devices' and 'myxtts
# validate', with each value of MYXTTS_CLBLAST. Where OpenCL has no device there is nothing to say; where CLBlast is not
# installed, what asks for it is refused and names the package. tests/test_opencl_clblast.c has the products.
# shellcheck disable=SC2034
opencl=1
. "$(dirname "${BASH_SOURCE[0]}")/support/cli.sh"

unset MYXTTS_CLBLAST
done_with devices
if ! grep -q '^  opencl:0 ' stdout; then
    printf 'skipped: OpenCL has no device here\n'
    finish
    exit
fi
run devices opencl:0 --json
if ! grep -q '"kind":.*"cpu"' stdout; then
    printf 'skipped: opencl:0 is a GPU, which CLBlast serves without being asked to\n'
    finish
    exit
fi

# It serves devices of CPU type only if it is asked to.
for value in '' 0; do
    export MYXTTS_CLBLAST=$value
    done_with devices
    check "MYXTTS_CLBLAST='$value': no word of it" test "$(grep -c CLBlast stdout)" -eq 0
    done_with devices opencl:0 --json
    check "MYXTTS_CLBLAST='$value': no library" grep -q '"products":[^a-z]*"",' stdout
done

export MYXTTS_CLBLAST=yes
refused 1 'MYXTTS_CLBLAST is "yes"' 'set it to 1 .* or to 0' devices

export MYXTTS_CLBLAST=1
done_with devices
if grep -q '^  opencl:0 ' stdout; then
    check 'devices: who multiplies' grep -q '^  opencl:0 .* fp32 by CLBlast ' stdout
    check 'devices: CPU devices do without' test "$(grep -c '^  cpu:0 .*CLBlast' stdout)" -eq 0
    done_with devices opencl:0 --json
    check 'devices --json: who multiplies' grep -q '"products":[^a-z]*"CLBlast",' stdout
    done_with validate --device cpu:0 --batch-size 2 --set training.part=acoustic --set model.width=32 --set model.heads=2 --set model.hidden=64 \
        --set model.encoder_blocks=1 --set model.decoder_blocks=1
    check 'validate: who multiplies' grep -q '^   ✅ opencl:0: .*, products by CLBlast$' stdout
else
    check 'devices: why not' grep -q '^Not available: .*opencl: CLBlast cannot be loaded: .*libclblast.so.1' stdout
    check 'devices: the package' grep -q 'apt-get install libclblast1' stdout
    refused 3 'libclblast.so.1' 'apt-get install libclblast1' devices opencl:0
fi
finish
