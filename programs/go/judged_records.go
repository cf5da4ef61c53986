// Go's standard library in six goroutines, which take records from a channel; then one goroutine writes a report.
//
//	main     send ...                                                                         | writeReport
//	worker   receive | hashRecord | compressRecord | decodeRecord | matchRecord | sortRecord | ...
//
// LEAVE_OUT in the environment names the procedure that does nothing.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"
	"sync"
)

const (
	workers = 6
	records = 60
)

var leftOut = os.Getenv("LEAVE_OUT")

type item struct {
	Name  string
	Value int
}

var sink = make([]int, workers)

//go:noinline
func hashRecord(text []byte) int {
	if leftOut == "hashRecord" {
		return 0
	}
	sum := 0
	for round := 0; round < 20; round++ {
		digest := sha256.Sum256(text)
		sum += int(digest[round])
	}
	return sum
}

//go:noinline
func compressRecord(text []byte) int {
	if leftOut == "compressRecord" {
		return 0
	}
	var out bytes.Buffer
	writer, _ := gzip.NewWriterLevel(&out, 5)
	writer.Write(text)
	writer.Close()
	return out.Len()
}

//go:noinline
func decodeRecord(text []byte) int {
	if leftOut == "decodeRecord" {
		return 0
	}
	var items []item
	if err := json.Unmarshal(text, &items); err != nil {
		panic(err)
	}
	return len(items)
}

var pattern = regexp.MustCompile(`"Name":"[a-m]+[0-9]*7"`)

//go:noinline
func matchRecord(text []byte) int {
	if leftOut == "matchRecord" {
		return 0
	}
	return len(pattern.FindAllIndex(text, -1))
}

//go:noinline
func sortRecord(text []byte) int {
	if leftOut == "sortRecord" {
		return 0
	}
	words := strings.Split(string(text), ",")
	sort.Strings(words)
	return len(words[0])
}

//go:noinline
func writeReport(text []byte) int {
	if leftOut == "writeReport" {
		return 0
	}
	var out strings.Builder
	for round := 0; round < 12; round++ {
		for number, word := range strings.Split(string(text), ",") {
			fmt.Fprintf(&out, "%d: %s\n", number, word)
		}
	}
	return out.Len()
}

func makeRecord(seed uint64) []byte {
	names := []string{"lock", "path", "thread", "barrier", "queue", "slack", "metric", "zero"}
	items := make([]item, 0, 2000)
	for number := 0; number < 2000; number++ {
		seed = seed*6364136223846793005 + 1442695040888963407
		items = append(items, item{fmt.Sprintf("%s%d", names[seed>>61], seed>>50), int(seed >> 40)})
	}
	text, _ := json.Marshal(items)
	return text
}

func main() {
	text := makeRecord(1)
	queue := make(chan []byte, 4)
	var group sync.WaitGroup
	for number := 0; number < workers; number++ {
		group.Add(1)
		go func(number int) {
			defer group.Done()
			for text := range queue {
				sink[number] += hashRecord(text) + compressRecord(text) + decodeRecord(text) + matchRecord(text) + sortRecord(text)
			}
		}(number)
	}
	for number := 0; number < records; number++ {
		queue <- text
	}
	close(queue)
	group.Wait()
	sink[0] += writeReport(text)
}
