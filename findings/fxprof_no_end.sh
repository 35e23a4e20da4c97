#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fxprof-processed-profile: a Firefox profile that does not say when it ends.
#
# Expected: meta.profilingStartTime and meta.profilingEndTime, the format's range of a recording, are
#           there, since the writer knows the times of all samples.
# Seen:     the crate, with which samply writes, has neither, only meta.startTime. A reader that takes
#           a missing number for 0 sees a recording of no length; the end has to be found in the
#           samples of every thread, by adding up their "timeDeltas": there is no "time" either.
# Versions: fxprof-processed-profile 0.8.1, preprocessedProfileVersion 55
# Date:     2026-11-28
set -euo pipefail

described="version 55, profilingStartTime: False, profilingEndTime: False, \
time: False, timeDeltas: [10.0, 10.0, 10.0]"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mkdir "$scratch/src"
cat >"$scratch/Cargo.toml" <<'CODE'
[package]
name = "finding"
version = "0.0.0"
edition = "2021"

[dependencies]
fxprof-processed-profile = "=0.8.1"
serde_json = "=1.0.145"
CODE
cat >"$scratch/src/main.rs" <<'CODE'
use fxprof_processed_profile::{
    CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile, SamplingInterval, Timestamp,
};
use std::time::{Duration, SystemTime};

fn ms(time: f64) -> Timestamp {
    Timestamp::from_millis_since_reference(time)
}

fn main() {
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let mut profile = Profile::new("finding", start.into(), SamplingInterval::from_millis(10));
    let process = profile.add_process("finding", 1, ms(0.0));
    let thread = profile.add_thread(process, 1, ms(0.0), true);
    let frame = FrameInfo {
        frame: Frame::Label(profile.intern_string("work")),
        category_pair: CategoryHandle::OTHER.into(),
        flags: FrameFlags::empty(),
    };
    let stack = profile.intern_stack_frames(thread, std::iter::once(frame));
    for time in [10.0, 20.0, 30.0] {
        profile.add_sample(thread, ms(time), stack, CpuDelta::ZERO, 1);
    }
    println!("{}", serde_json::to_string(&profile).unwrap());
}
CODE
CARGO_TARGET_DIR="$scratch/target" cargo run --quiet --manifest-path "$scratch/Cargo.toml" \
	>"$scratch/profile.json"

seen=$(python3 - "$scratch/profile.json" <<'CODE'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    profile = json.load(file)
meta, samples = profile["meta"], profile["threads"][0]["samples"]
print(json.dumps({"meta": meta, "samples": samples}), file=sys.stderr)
print(f"version {meta['preprocessedProfileVersion']}, profilingStartTime: {'profilingStartTime' in meta}, "
      f"profilingEndTime: {'profilingEndTime' in meta}, "
      f"time: {'time' in samples}, timeDeltas: {samples.get('timeDeltas')}")
CODE
)
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
