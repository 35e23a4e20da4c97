// SPDX-License-Identifier: MIT

// Calls that Go's compiler can improve with a profile: of interfaces, through wrappers of methods
// with a value receiver, of closures and generic functions; and calls that the kernel serves.
//
//	pgo SECONDS [OUT]	also write the profile of Go's own profiler
package main

import (
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

type shape interface{ area(int) int }

type square struct{ side, more, still int }

type circle struct{ radius int }

type point struct{}

// A call by the interface of a *square goes through a wrapper.
func (s square) area(x int) int {
	sum := x
	for i := 0; i < 40; i++ {
		sum += s.side * i % (sum | 1)
	}
	return sum
}

func (c *circle) area(x int) int {
	sum := x
	for i := 0; i < 12; i++ {
		sum ^= c.radius * i % (sum | 1)
	}
	return sum
}

func (point) area(x int) int { return x }

//go:noinline
func measure(shapes []shape, x int) int {
	for _, s := range shapes {
		x += s.area(x)
	}
	return x
}

//go:noinline
func fold[T any](list []T, x int, f func(T, int) int) int {
	for _, v := range list {
		x = f(v, x)
	}
	return x
}

func mixed(v, x int) int {
	for i := 0; i < 6; i++ {
		x += v * i % (x | 1)
	}
	return x
}

//go:noinline
func deferred(x int) (sum int) {
	defer work(x, &sum)
	return 0
}

func work(x int, sum *int) {
	for i := 0; i < 300; i++ {
		*sum += x * i % (*sum | 1)
	}
}

//go:noinline
func served(buffer []byte) {
	for i := 0; i < 4; i++ {
		syscall.Pread(zero, buffer, 0)
	}
}

var zero, sink int

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	// Whether calls of time.Now would be inlined depends on a few samples.
	var done atomic.Bool
	time.AfterFunc(time.Duration(seconds*float64(time.Second)), func() { done.Store(true) })
	if len(os.Args) > 2 {
		out, err := os.Create(os.Args[2])
		if err != nil {
			panic(err)
		}
		pprof.StartCPUProfile(out)
		defer pprof.StopCPUProfile()
	}
	zero, _ = syscall.Open("/dev/zero", syscall.O_RDONLY, 0)
	shapes := []shape{&square{side: 3}, &square{side: 5}, &square{side: 7}, &circle{2}, point{}}
	numbers := []int{1, 2, 3, 4, 5, 6, 7, 8}
	buffer := make([]byte, 1<<16)
	for !done.Load() {
		for i := 0; i < 200; i++ {
			sink += measure(shapes, i) + fold(numbers, i, mixed) + deferred(i)
		}
		served(buffer)
	}
	fmt.Fprintln(os.Stderr, sink != 0)
}
