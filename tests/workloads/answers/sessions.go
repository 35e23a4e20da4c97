// SPDX-License-Identifier: MIT
// sessions SECONDS: a service whose requests take turns, for a mutex that is held for all of the work.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

var mutex sync.Mutex
var sessions = map[string][]byte{}

func findSession(user string) []byte {
	mutex.Lock()
	defer mutex.Unlock()
	sum := sha256.Sum256([]byte(user))
	for i := 0; i < 3000; i++ {
		sum = sha256.Sum256(sum[:])
	}
	sessions[user] = sum[:]
	return sessions[user]
}

func serve(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%x", findSession(r.URL.Query().Get("user")))
}

func request(url string, until time.Time) {
	for time.Now().Before(until) {
		if answer, err := http.Get(url); err == nil {
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
	}
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	until := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	http.HandleFunc("/", serve)
	go http.Serve(listener, nil)
	var clients sync.WaitGroup
	for i := 0; i < 8; i++ {
		clients.Add(1)
		go func(i int) {
			defer clients.Done()
			request(fmt.Sprintf("http://%s/?user=%d", listener.Addr(), i), until)
		}(i)
	}
	clients.Wait()
}
