#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# go build -pgo: only the two innermost frames of a stack count.
#
# Expected: in a profile in which main.run calls main.mix for all the time, that call is hot, also if
#           the stacks go on with a function that mix was in, such as one of the kernel.
# Seen:     a stack adds weight to the edge between its two innermost frames alone. One more frame,
#           here an interrupt's, and the call of mix is no longer known to be hot: mix, which is too
#           large otherwise, is not inlined. The build says nothing; go tool pprof shows all of the
#           time below main.run in either profile.
# Versions: go 1.26.8, github.com/google/pprof v0.0.0-20250403155104-27863c87afa6 (writes the profiles)
# Date:     2026-11-29
set -euo pipefail

described="without: can inline mix with cost 137
with asm_sysvec_apic_timer_interrupt: cannot inline mix: function too complex: cost 137 exceeds budget 80"

scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
export GOTOOLCHAIN=go1.26.8 GOPATH="$scratch/path" GOCACHE="$scratch/cache" GOFLAGS=-mod=mod

mkdir "$scratch/app" "$scratch/profiles"
printf 'module app\n\ngo 1.26\n' >"$scratch/app/go.mod"
cat >"$scratch/app/main.go" <<'CODE'
package main

import "os"

func mix(v []int, k int) int {
	s := 0
	for i := range v {
		switch {
		case v[i]%3 == 0:
			s += v[i] * k
		case v[i]%5 == 0:
			s -= v[i] + k
		case v[i]%7 == 0:
			s ^= v[i] << 2
		default:
			s += i*k ^ v[i]
		}
		if s > 1<<40 {
			s >>= 3
		}
		if v[i] > k && i%2 == 0 {
			s += v[i]/k - i*v[i]%7
		}
		if v[i] < -k || i%11 == 4 {
			s -= v[i]*k + i%13
		}
		s += v[i]>>1 + k<<2
	}
	return s
}

func run(v []int) int {
	return mix(v, 3)
}

func main() {
	println(run(make([]int, len(os.Args)*100)))
}
CODE

cat >"$scratch/profiles/go.mod" <<'CODE'
module profiles

go 1.26

require github.com/google/pprof v0.0.0-20250403155104-27863c87afa6
CODE
cat >"$scratch/profiles/main.go" <<'CODE'
package main

import (
	"os"

	"github.com/google/pprof/profile"
)

func main() {
	m := &profile.Mapping{ID: 1, Start: 1, Limit: 1 << 40, File: "app", HasFunctions: true}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}},
		Mapping:    []*profile.Mapping{m},
	}
	frame := func(name string, start, line int64) *profile.Location {
		id := uint64(len(p.Function) + 1)
		f := &profile.Function{ID: id, Name: name, SystemName: name, Filename: "main.go", StartLine: start}
		l := &profile.Location{ID: id, Mapping: m, Address: id * 16, Line: []profile.Line{{Function: f, Line: line}}}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, l)
		return l
	}
	stack := []*profile.Location{frame("main.mix", 5, 9), frame("main.run", 32, 33), frame("main.main", 36, 37)}
	if len(os.Args) > 2 {
		stack = append([]*profile.Location{frame(os.Args[2], 0, 0)}, stack...)
	}
	p.Sample = []*profile.Sample{{Location: stack, Value: []int64{1000}}}
	f, err := os.Create(os.Args[1])
	if err != nil || p.Write(f) != nil || f.Close() != nil {
		panic("cannot write")
	}
}
CODE
go -C "$scratch/profiles" build -o writer . 2>/dev/null
"$scratch/profiles/writer" "$scratch/plain.pgo"
"$scratch/profiles/writer" "$scratch/interrupted.pgo" asm_sysvec_apic_timer_interrupt

decision() { # PROFILE
	go -C "$scratch/app" build -pgo="$1" -gcflags=-m=2 -o /dev/null . 2>&1 |
		grep -oE 'can(not)? inline mix.*' | sed 's/ as: .*//' | sort -u
}
seen="without: $(decision "$scratch/plain.pgo")
with asm_sysvec_apic_timer_interrupt: $(decision "$scratch/interrupted.pgo")"
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
