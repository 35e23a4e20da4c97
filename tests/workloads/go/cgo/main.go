// SPDX-License-Identifier: MIT

// Calls C, which calls Go, which calls C …, nested, for as many seconds as its argument says.
package main

/*
#include <stdint.h>
extern int goAgain(int);
static int work(int n) { volatile int x = 0; for (int i = 0; i < 3000; i++) x += i * n; return x; }
static int nested(int n) { work(n); if (n > 0) return goAgain(n - 1) + 1; return work(n); }
*/
import "C"

import (
	"os"
	"strconv"
	"time"
)

//export goAgain
func goAgain(n C.int) C.int {
	spin(3000)
	return C.nested(n) + 1
}

var sink int

//go:noinline
func spin(n int) {
	for i := 0; i < n; i++ {
		sink += i
	}
}

func main() {
	secs, _ := strconv.ParseFloat(os.Args[1], 64)
	until := time.Now().Add(time.Duration(secs * 1e9))
	for time.Now().Before(until) {
		C.nested(5)
	}
}
