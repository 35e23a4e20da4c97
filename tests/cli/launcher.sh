#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof as in a tarball: started by a launcher, through a loader of its own. Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

# A sanitizer tells of memory of a loader that it does not know.
export LSAN_OPTIONS=print_suppressions=0
loader=$(readelf -l "$PROF" | sed -n 's/.*program interpreter: \(.*\)]/\1/p')
mkdir -p 'any where'/{bin,lib/prof/loaded}
cp "$(dirname "$PROF")/prof-launcher" 'any where/bin/prof'
ln 'any where/bin/prof' 'any where/lib/prof/prof-view'
cp "$loader" 'any where/lib/prof/loaded/ld-prof.so'
for program in prof prof-view; do
	ln -s "$(dirname "$PROF")/$program" "any where/lib/prof/loaded/$program"
done
ln -s 'any where/bin/prof' link

run ./link --version
is "it runs, through a link, too" "$status$err" 0
like "it finds its neighbours" "$out" 'view, share, push: yes'
run ./link view --help
like "a neighbour runs" "$status$out" '^0Usage: prof view'
run ./link report --no-such-option
is "exit statuses pass" "$status" 2

# The loader would complain.
run env LD_PRELOAD=/nowhere.so ./link version
is "variables for recorded programs are kept from the loader" "$status$err" 0
run env LD_PRELOAD=/nowhere.so any\ where/bin/prof __complete attach --pid 1
is "for neighbours, too" "$status$err" 0

mkdir other
cp 'any where/bin/prof' other/prof
run other/prof version
is "elsewhere it refuses" "$status $err" \
	'125 prof: this program is not bin/prof, lib/prof/prof-view or lib/prof/prof-browse, or /proc is missing'
rm 'any where/lib/prof/loaded/ld-prof.so'
run ./link version
like "without its loader it refuses" "$status $err" '^125 prof: cannot start .*/ld-prof.so: No such file'
done_testing
