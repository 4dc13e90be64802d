package mutants

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What a failed test is called and says is read from what it writes.
func TestFailure(t *testing.T) {
	for _, test := range []struct{ name, output, test, says string }{
		{"all is well", "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\n", "", ""},
		{"in a line", "=== RUN   TestA\n    a_test.go:5: an early word\n    a_test.go:7: got 1, want 2\n--- FAIL: TestA (0.00s)\nFAIL\n", "TestA", "got 1, want 2"},
		{"the innermost", `=== RUN   TestA
=== RUN   TestA/sub
    a_test.go:7: 
        	Error Trace:	/somewhere/a_test.go:7
        	            				/somewhere/b_test.go:9
        	Error:      	Not equal: 
        	            	expected: 0x2
        	            	actual  : 0x1
        	Test:       	TestA/sub
        	Messages:   	acquire was granted
--- FAIL: TestA (0.00s)
    --- FAIL: TestA/sub (0.00s)
FAIL
`, "TestA/sub", "Not equal: expected: 0x2 actual : 0x1 acquire was granted"},
		{"a panic", "=== RUN   TestA\n=== RUN   TestA/sub\npanic: runtime error: index out of range\n\ngoroutine 7 [running]:\n", "TestA/sub", "panic: runtime error: index out of range"},
	} {
		name, says := failure(test.output)
		assert.Equal(t, test.test, name, test.name)
		assert.Equal(t, test.says, says, test.name)
	}
}

func TestWrap(t *testing.T) {
	assert.Equal(t, []string{"one two", "three"}, wrap("one two three", 8))
	assert.Equal(t, []string{"TestA/", "sub_of_", "it"}, wrap("TestA/sub_of_it", 7))
	assert.Equal(t, []string{"abcdefg", "h"}, wrap("abcdefgh", 7))
	assert.Equal(t, []string{""}, wrap("", 7))
}
