package docs_test

import "fmt"

// register is a resource that compares an unordered value, as antirez proposes: each holder sets it
// when it begins, and a write counts only if the value is still there.
type register struct {
	balance int
	owner   string
}

func (r *register) begin(value string) int {
	r.owner = value
	return r.balance
}

func (r *register) write(value string, balance int) bool {
	if r.owner != value {
		return false
	}
	r.balance = balance
	return true
}

// A unique value without an order, with A paused at two different moments.
func Example_uniqueValue() {
	// A is paused between its read and its write.
	r := &register{balance: 100}
	a := r.begin("A's")
	b := r.begin("B's")
	fmt.Println("B:", r.write("B's", b+30))
	fmt.Println("A, late:", r.write("A's", a+10), "balance", r.balance)

	// A is paused before it begins, and its lease has expired when it does.
	r = &register{balance: 100}
	b = r.begin("B's")
	a = r.begin("A's")
	fmt.Println("B, the holder:", r.write("B's", b+30))
	fmt.Println("A, whose lease expired:", r.write("A's", a+10), "balance", r.balance)
	// Output:
	// B: true
	// A, late: false balance 130
	// B, the holder: false
	// A, whose lease expired: true balance 110
}
