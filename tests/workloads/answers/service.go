// SPDX-License-Identifier: MIT

// An HTTP service whose sign() hashes each answer thousands of times.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

//go:noinline
func sign(text string) [32]byte {
	sum := sha256.Sum256([]byte(text))
	for i := 0; i < 5000; i++ {
		sum = sha256.Sum256(sum[:])
	}
	return sum
}

func handle(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%x", sign(r.URL.Path))
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/", handle)
	go http.Serve(listener, nil)
	for end := time.Now().Add(time.Duration(seconds * 1e9)); time.Now().Before(end); {
		response, err := http.Get("http://" + listener.Addr().String() + "/page")
		if err != nil {
			panic(err)
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
}
