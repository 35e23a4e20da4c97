#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# jfrconv --cpu: nothing of a recording that a JDK made, and no word about it.
#
# Expected: `jfrconv --cpu`, "CPU profile (ExecutionSample)" by its --help, writes the execution
#           samples of a flight recording, or says that it leaves them out.
# Seen:     only samples whose state is async-profiler's STATE_DEFAULT count as CPU time. The JDK's
#           have STATE_RUNNABLE: the file is empty, and the status 0. They come with --wall, added
#           to its native method samples, which are no CPU time.
# Versions: Maven Central's tools.profiler:jfr-converter 4.5, with OpenJDK 17
# Date:     2026-11-29
set -euo pipefail

described="the recording has execution samples: True; --cpu: status 0, 0 bytes; --wall has spin: True"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

mvn -q -Dmaven.repo.local="$scratch/m2" dependency:get -Dartifact=tools.profiler:jfr-converter:4.5 >&2
converter=$(find m2 -name 'jfr-converter-4.5.jar')
cat >Work.java <<'CODE'
public class Work {
	static double spin(long until) {
		double sum = 0;
		while (System.nanoTime() < until)
			sum += Math.sqrt(sum + 1);
		return sum;
	}
	public static void main(String[] arguments) {
		System.out.println(spin(System.nanoTime() + 3_000_000_000L) > 0);
	}
}
CODE
javac Work.java
java -XX:StartFlightRecording=filename=work.jfr,settings=profile Work >&2
samples=$(jfr summary work.jfr | awk '$1 == "jdk.ExecutionSample" { print $2 }')

status=0
java -jar "$converter" --cpu -o collapsed work.jfr cpu.collapsed >&2 || status=$?
java -jar "$converter" --wall -o collapsed work.jfr wall.collapsed >&2
seen=$(python3 - "$samples" "$status" <<'CODE'
import os
import sys

with open("wall.collapsed", encoding="utf-8") as file:
    wall = file.read()
print(f"the recording has execution samples: {int(sys.argv[1]) > 0}; --cpu: status {sys.argv[2]}, "
      f"{os.path.getsize('cpu.collapsed')} bytes; --wall has spin: {'Work.spin' in wall}")
CODE
)
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
