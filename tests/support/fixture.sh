#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#     bash tests/support/fixture.sh PROGRAM NAME
#
# Makes a fixture (tones.sh) if it is not there: the setup of tests that need it. Those of former builds of the program go.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/cli.sh
. "$here/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/tones.sh"

mkdir -p "$fixtures"
find "$(dirname "$fixtures")" -mindepth 1 -maxdepth 1 ! -name "${fixtures##*/}" -exec rm -rf {} +
fixture_there "${2:?usage: bash fixture.sh PROGRAM NAME}"
