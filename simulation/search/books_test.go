package search

import (
	"github.com/redquorum/redlock/quorum/readwrite"
	"github.com/redquorum/redlock/simulation"
)

// booksWorkload is the mixed workload with a read/write lock. The clients let in one, two and three
// readers. A lease counts as one on each of its places, so a writer beside anybody has a place twice.
func booksWorkload() Workload {
	w := Mixed()
	w.Name, w.Title = "books", "three clients read and write under a read/write lock, and let in different numbers of readers"
	w.Work = inRounds(booksOf, takeBook)
	return w
}

// What a client draws for each round, besides what it draws in a mixed one.
const (
	booksWriting = abouts + iota
	booksOf
)

// bookPlaces are the places that readers use. A writer has others, too, which show nothing more.
var bookPlaces = []string{"k#1", "k#2", "k#3"}

func takeBook(c *simulation.Client, d draws) {
	c.Sleep(d.ms(aboutStart, 400))
	book, err := readwrite.New(c.Coordinator, "k", readwrite.Config{Readers: 1 + c.Index})
	if err != nil {
		panic(err)
	}
	enter, try := book.Read, book.TryRead
	if d.pick(booksWriting, 2) == 0 {
		enter, try = book.Write, book.TryWrite
	}
	if d.pick(aboutWaiting, 4) == 0 {
		enter = try
	}
	if leases, err := c.Gain(enter, bookPlaces...); err == nil { // else the reason is in the log
		use(c, d, leases...)
	}
}
