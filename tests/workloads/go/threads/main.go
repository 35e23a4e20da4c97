// SPDX-License-Identifier: MIT

// Threads that C made call Go, for as many seconds as the argument says.
package main

/*
#include <pthread.h>
#include <stdint.h>
extern int goWork(int);
static volatile int stop;
static int inC(int n) { volatile int x = 0; for (int i = 0; i < 3000; i++) x += i * n; return goWork(n) + x; }
static void *run(void *unused) { int sum = 0; while (!stop) sum += inC(2); return (void *)(intptr_t)(sum & 1); }
static pthread_t threads[2];
static void start(void) { for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, run, 0); }
static void finish(void) { stop = 1; for (int i = 0; i < 2; i++) pthread_join(threads[i], 0); }
static int again(int n) { return inC(n); }
*/
import "C"

import (
	"os"
	"strconv"
	"time"
)

var sink [64][]byte

//export goWork
func goWork(n C.int) C.int {
	for i := 0; i < 100; i++ {
		sink[i%64] = make([]byte, 100+i)
	}
	if n > 0 {
		return C.again(n - 1)
	}
	return 0
}

func main() {
	secs, _ := strconv.ParseFloat(os.Args[1], 64)
	C.start()
	time.Sleep(time.Duration(secs * 1e9))
	C.finish()
}
