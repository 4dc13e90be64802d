package guardtest

import "fmt"

// wentBack: the mark was lower in the later call than after the earlier one.
type wentBack struct{ earlier, later call }

func (e *wentBack) Error() string {
	return fmt.Sprintf("the mark went back: %v had ended before %v began", e.earlier, e.later)
}

// unexplained: no mark explains this result.
type unexplained struct{ call call }

func (e *unexplained) Error() string {
	return fmt.Sprintf("no mark explains the answer to %v", e.call)
}

func (c call) String() string {
	if c.err == nil {
		return fmt.Sprintf("token %d [%d..%d] passed", uint64(c.token), c.begin, c.end)
	}
	return fmt.Sprintf("token %d [%d..%d] refused (%v)", uint64(c.token), c.begin, c.end, c.err)
}
