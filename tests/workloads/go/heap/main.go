// SPDX-License-Identifier: MIT

// Fills its heap, and prints the anonymous memory that is resident then, in KB.
package main

import (
	"fmt"
	"os"
	"strings"
)

//go:noinline
func fillHeap() [][]byte {
	var all [][]byte
	for i := 0; i < 3000; i++ {
		block := make([]byte, 32768)
		for j := range block {
			block[j] = 1
		}
		all = append(all, block)
	}
	return all
}

func main() {
	all := fillHeap()
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	var kilobytes int
	fmt.Sscan(rest, &kilobytes)
	fmt.Println(kilobytes, len(all))
}
