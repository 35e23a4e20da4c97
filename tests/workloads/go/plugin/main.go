// SPDX-License-Identifier: MIT

// A plugin: allocates, grows a stack, waits for it.
package main

type tree struct{ l, r *tree }

//go:noinline
func build(n int) *tree {
	if n == 0 {
		return &tree{}
	}
	return &tree{build(n - 1), build(n - 1)}
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

// Work is what the program calls.
func Work() int {
	build(10)
	done := make(chan int)
	go func() { done <- recurse(200) }()
	return <-done
}
