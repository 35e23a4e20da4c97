#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The process that sends windows to engines, and faults of these. Needs no root.
#
# May run beside others.
. "$(dirname "$0")/../e2e/lib.sh"

python3 "$root/tests/cli/pusher.py" "$PROF" "$root/tests/fake_engine.py"
