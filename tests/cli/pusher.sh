#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The process that sends windows to engines, and faults of these. Needs no root.
#
# May run beside others.
. "$(dirname "$0")/../e2e/lib.sh"

# A process without rights cannot look for leaks at its end.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
python3 "$root/tests/cli/pusher.py" "$PROF" "$root/tests/fake_engine.py" "$root/tests/fake_grpc.py"
