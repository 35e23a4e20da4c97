#!/bin/sh
# SPDX-License-Identifier: MIT
# Tells its phases in a marker file, if PROF_MARKERS names a folder for it; prints the file's path.

# A helper maps the file of this shell, which tells a recorder that it is there, and prints how far
# the clock that a shell can read is ahead of the one that markers have.
markers_open() {
	markers=$PROF_MARKERS/marker-$$.txt
	ahead=$(python3 - "$markers" "$$" <<-'PYTHON'
		import mmap, sys, time
		with open(sys.argv[1], "w+b", buffering=0) as file:
		    file.write(f"i {time.monotonic_ns()} begin @{sys.argv[2]}\n".encode())
		    mmap.mmap(file.fileno(), 1, flags=mmap.MAP_PRIVATE,
		              prot=mmap.PROT_READ | mmap.PROT_EXEC)
		print(time.time_ns() - time.monotonic_ns())
	PYTHON
	)
	echo "$markers"
}
[ -z "${PROF_MARKERS-}" ] || markers_open

# Begins a span; the id is any word, unique among those that are open.
span_begin() { # ID NAME
	[ -z "${markers-}" ] || echo "b $(($(date +%s%N) - ahead)) $1 $2" >>"$markers"
}
span_end() { # ID
	[ -z "${markers-}" ] || echo "e $(($(date +%s%N) - ahead)) $1" >>"$markers"
}
instant() { # NAME
	[ -z "${markers-}" ] || echo "i $(($(date +%s%N) - ahead)) $1" >>"$markers"
}

work() { # ROUNDS
	n=$1
	while [ "$n" -gt 0 ]; do
		n=$((n - 1))
	done
}

for i in 0 1 2 3 4; do
	span_begin 1 request
	work 10000
	span_begin 2 "parse input"
	work 20000
	span_end 2
	instant "half way #phases step=$i"
	work 10000
	span_end 1
	work 10000
done
