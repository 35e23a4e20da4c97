// SPDX-License-Identifier: MIT

// Loads a plugin, argument 1, and calls it for as many seconds as argument 2 says.
package main

import (
	"os"
	"plugin"
	"strconv"
	"time"
)

func main() {
	loaded, err := plugin.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	work, err := loaded.Lookup("Work")
	if err != nil {
		panic(err)
	}
	secs, _ := strconv.ParseFloat(os.Args[2], 64)
	until := time.Now().Add(time.Duration(secs * 1e9))
	for time.Now().Before(until) {
		work.(func() int)()
	}
}
