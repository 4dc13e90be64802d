package timeline

import (
	"fmt"
	"strconv"
	"time"
)

// Clock writes a true time in milliseconds, to the microsecond: "11 104.506 ms".
func Clock(t time.Duration) string {
	us := t.Round(time.Microsecond).Microseconds()
	return Grouped(us/1000) + fmt.Sprintf(".%03d ms", us%1000)
}

// Grouped writes a number with a space before each group of three digits.
func Grouped(n int64) string {
	if -1000 < n && n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%s %03d", Grouped(n/1000), max(n%1000, -n%1000))
}

// units are those of length, with the shortest duration that is written in them.
var units = []struct {
	from, size time.Duration
	name       string
}{
	{2 * time.Hour, time.Hour, "h"}, {2 * time.Minute, time.Minute, "min"}, {time.Second, time.Second, "s"},
	{time.Millisecond, time.Millisecond, "ms"}, {time.Microsecond, time.Microsecond, "µs"}, {1, 1, "ns"},
}

// length writes a duration to three digits: "12 s", "9.89 s", "1.31 ms", "840 µs".
func length(d time.Duration) string {
	for _, u := range units {
		if d.Abs() >= u.from {
			x, _ := strconv.ParseFloat(strconv.FormatFloat(float64(d)/float64(u.size), 'g', 3, 64), 64) // it is a number
			return strconv.FormatFloat(x, 'f', -1, 64) + " " + u.name
		}
	}
	return "0 s"
}

func signed(d time.Duration) string {
	if d < 0 {
		return length(d)
	}
	return "+" + length(d)
}

// percent writes millionths: "6.2013 %".
func percent(ppm int64) string { return strconv.FormatFloat(float64(ppm)/1e4, 'f', -1, 64) + " %" }
