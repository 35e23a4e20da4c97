// SPDX-License-Identifier: MIT
// Goroutines, channels, maps and the garbage collector: 30 seconds of it.
package main

import (
	"encoding/json"
	"fmt"
	"sort"
	"time"
)

type node struct {
	Left, Right *node
	Name        string
}

func grow(depth int) *node {
	if depth == 0 {
		return nil
	}
	return &node{grow(depth - 1), grow(depth - 1), fmt.Sprint("node", depth)}
}

func depth(n *node) int {
	if n == nil {
		return 0
	}
	return 1 + max(depth(n.Left), depth(n.Right))
}

func max(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func work(end time.Time, out chan<- int) {
	total := 0
	for time.Now().Before(end) {
		tree := grow(8)
		text, _ := json.Marshal(tree)
		names := []string{}
		for i := 0; i < 500; i++ {
			names = append(names, fmt.Sprint(i*7919%503))
		}
		sort.Strings(names)
		total += depth(tree) + len(text) + len(names)
	}
	out <- total
}

func main() {
	out := make(chan int)
	end := time.Now().Add(30 * time.Second)
	for i := 0; i < 2; i++ {
		go work(end, out)
	}
	fmt.Println(<-out, <-out)
}
