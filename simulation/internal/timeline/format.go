package timeline

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Clock writes a true time in milliseconds, to the microsecond: "11 104.506 ms".
func Clock(t time.Duration) string {
	us := t.Round(time.Microsecond).Microseconds()
	return Grouped(us/1000) + fmt.Sprintf(".%03d ms", us%1000)
}

// Grouped writes a number with a space before each group of three digits.
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && digits[i-1] != '-' && (len(digits)-i)%3 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// length writes a duration to three digits: "12 s", "9.89 s", "1.31 ms", "840 µs".
func length(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + length(-d)
	case d == 0:
		return "0 s"
	case d >= 2*time.Hour:
		return digits(d.Hours()) + " h"
	case d >= 2*time.Minute:
		return digits(d.Minutes()) + " min"
	case d >= time.Second:
		return digits(d.Seconds()) + " s"
	case d >= time.Millisecond:
		return digits(float64(d)/float64(time.Millisecond)) + " ms"
	case d >= time.Microsecond:
		return digits(float64(d)/float64(time.Microsecond)) + " µs"
	default:
		return strconv.FormatInt(int64(d), 10) + " ns"
	}
}

// digits writes x to three digits, without trailing zeros.
func digits(x float64) string {
	s := strconv.FormatFloat(x, 'f', max(0, 2-magnitude(x)), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

func magnitude(x float64) int {
	n := 0
	for ; x >= 10; x /= 10 {
		n++
	}
	return n
}

func signed(d time.Duration) string {
	if d < 0 {
		return length(d)
	}
	return "+" + length(d)
}
