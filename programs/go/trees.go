// Two goroutines that make trees and compute with them, which keeps the garbage collector busy.
//
//	worker 1   makeTree | score 4 | makeTree | score 4 | ...      60 rounds
//	worker 2   makeTree | score 4 | makeTree | score 4 | ...
//
// On two processors score takes 240 ms of the run. The first thread of the process is not the one that ends it, and the runtime's thread that looks
// after the others sleeps up to its end: a run without score does not wait for that.
//
// LEAVE_OUT in the environment names the procedure that does nothing.
package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

var leftOut = os.Getenv("LEAVE_OUT")

type node struct {
	left, right *node
	value       uint64
	room        [4]uint64
}

//go:noinline
func makeTree(depth int) *node {
	if depth == 0 {
		return &node{value: 1}
	}
	return &node{left: makeTree(depth - 1), right: makeTree(depth - 1), value: uint64(depth)}
}

//go:noinline
func score(tree *node) uint64 {
	sum := tree.value
	if leftOut == "score" {
		return sum
	}
	for begin := time.Now(); time.Since(begin) < 4*time.Millisecond; {
		for step := 0; step < 20000; step++ {
			sum = sum*6364136223846793005 + 1442695040888963407
		}
	}
	return sum
}

func main() {
	kept := makeTree(18)
	var workers sync.WaitGroup
	var lock sync.Mutex
	var total uint64
	for worker := 0; worker < 2; worker++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for round := 0; round < 60; round++ {
				sum := score(makeTree(12))
				lock.Lock()
				total += sum
				lock.Unlock()
			}
		}()
	}
	workers.Wait()
	fmt.Println(total, kept.value)
}
