package docs_test

import "fmt"

// record is a resource that compares a value that isn't ordered, as antirez proposes:
// whoever begins sets it, and a write counts only if it is still there.
type record struct {
	balance int
	owner   string
}

func (r *record) begin(value string) int {
	r.owner = value
	return r.balance
}

func (r *record) write(value string, balance int) bool {
	if r.owner != value {
		return false
	}
	r.balance = balance
	return true
}

// A value that is unique, and not ordered, in the two orders that a pause can make.
func Example_uniqueValue() {
	// A is paused between its read and its write.
	r := &record{balance: 100}
	a := r.begin("A's")
	b := r.begin("B's")
	fmt.Println("B:", r.write("B's", b+30))
	fmt.Println("A, late:", r.write("A's", a+10), "balance", r.balance)

	// A is paused before it begins, and its lease is over when it does.
	r = &record{balance: 100}
	b = r.begin("B's")
	a = r.begin("A's")
	fmt.Println("B, who holds the lock:", r.write("B's", b+30))
	fmt.Println("A, whose lock is over:", r.write("A's", a+10), "balance", r.balance)
	// Output:
	// B: true
	// A, late: false balance 130
	// B, who holds the lock: false
	// A, whose lock is over: true balance 110
}
