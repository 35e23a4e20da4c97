// SPDX-License-Identifier: MIT

// Keeps Go's runtime busy in the way that its argument names, for as many seconds as the next says:
// collecting garbage, growing stacks, changing goroutines, panicking, unwinding.
package main

import (
	"context"
	"os"
	"runtime"
	"runtime/pprof"
	"sort"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const itimerProf = 2 // of setitimer(2)

type tree struct{ l, r *tree }

//go:noinline
func build(n int) *tree {
	if n == 0 {
		return &tree{}
	}
	return &tree{build(n - 1), build(n - 1)}
}

func gc(until time.Time) {
	for time.Now().Before(until) {
		build(12)
	}
}

func sorts(until time.Time) {
	for time.Now().Before(until) {
		a := make([]int, 20000)
		for i := range a {
			a[i] = (i * 7919) % 20011
		}
		sort.Slice(a, func(i, j int) bool { return a[i] < a[j] })
	}
}

func channels(until time.Time) {
	c := make(chan int)
	d := make(chan int)
	go func() {
		for x := range c {
			d <- x + 1
		}
		close(d)
	}()
	for time.Now().Before(until) {
		for i := 0; i < 1000; i++ {
			c <- i
			<-d
		}
	}
	close(c)
}

//go:noinline
func thrower(n int) {
	if n == 0 {
		panic("x")
	}
	defer func() {}()
	thrower(n - 1)
}

func panics(until time.Time) {
	for time.Now().Before(until) {
		func() {
			defer func() { recover() }()
			thrower(20)
		}()
	}
}

//go:noinline
func callersDeep(n int, pcs []uintptr) int {
	if n == 0 {
		return runtime.Callers(0, pcs)
	}
	return callersDeep(n-1, pcs) + 1
}

func callers(until time.Time) {
	pcs := make([]uintptr, 100)
	for time.Now().Before(until) {
		callersDeep(30, pcs)
	}
}

//go:noinline
func recurse(n int) int {
	if n == 0 {
		return 1
	}
	var pad [4]int
	pad[n%4] = n
	return recurse(n-1) + pad[(n+1)%4]
}

func recursion(until time.Time, depth int) {
	for time.Now().Before(until) {
		done := make(chan int)
		go func() { done <- recurse(depth) }()
		<-done
	}
}

func mix(x int) int {
	return x*7919%20011 + x%7
}

//go:noinline
func mixer(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		sum += mix(sum + i)
	}
	return sum
}

func inlines(until time.Time) {
	for time.Now().Before(until) {
		mixer(100000)
	}
}

//go:noinline
func first() { mixer(100000) }

//go:noinline
func second() { mixer(100000) }

// Goroutines that change their labels and their threads: "do: first, with: many labels" and so on.
func labels(until time.Time) {
	var done sync.WaitGroup
	run := func(name string, work func()) {
		defer done.Done()
		for time.Now().Before(until) {
			pprof.Do(context.Background(), pprof.Labels("with", "many labels", "do", name),
				func(context.Context) {
					for i := 0; i < 20; i++ {
						work()
						runtime.Gosched()
					}
				})
			mixer(1000000)
		}
	}
	done.Add(2)
	go run("first", first)
	go run("second", second)
	done.Wait()
}

// Has Go's own profiler write a profile, if the environment names a file for it. It has a timer for
// each thread, and one of the process for other threads, whose signals it ignores here: none of those.
func profile() func() {
	file, err := os.Create(os.Getenv("CPUPROFILE"))
	if err != nil {
		return func() {}
	}
	pprof.StartCPUProfile(file)
	var stopped [4]int64 // struct itimerval
	syscall.Syscall(syscall.SYS_SETITIMER, itimerProf, uintptr(unsafe.Pointer(&stopped)), 0)
	return pprof.StopCPUProfile
}

func main() {
	defer profile()()
	secs, _ := strconv.ParseFloat(os.Args[2], 64)
	until := time.Now().Add(time.Duration(secs * 1e9))
	switch os.Args[1] {
	case "gc":
		gc(until)
	case "sort":
		sorts(until)
	case "chan":
		channels(until)
	case "panic":
		panics(until)
	case "callers":
		callers(until)
	case "recurse":
		recursion(until, 20000)
	case "inline":
		inlines(until)
	case "labels":
		labels(until)
	case "grow":
		recursion(until, 100)
	}
}
