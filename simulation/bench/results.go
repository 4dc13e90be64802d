package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Results are the results of all measurements.
type Results struct {
	Contenders []Entry      `json:"contenders,omitempty"`
	Throughput []Throughput `json:"throughput,omitempty"`
	Sick       []Sickness   `json:"sick,omitempty"`
	Contended  []Contended  `json:"contended,omitempty"`
	Overload   *Overload    `json:"overload,omitempty"`
	Scale      []Scale      `json:"scale,omitempty"`
	Held       []Held       `json:"held,omitempty"`
	Against    *Against     `json:"against,omitempty"`

	// Recorded says how each part was measured.
	Recorded map[string]Setting `json:"recorded,omitempty"`
}

// Setting is how a part was measured.
type Setting struct {
	Commit  string  `json:"commit,omitempty"`
	Server  string  `json:"redis_version"`
	Go      string  `json:"go"`
	Cores   int     `json:"cores"`
	Rounds  int     `json:"rounds"`
	Seconds float64 `json:"seconds,omitempty"` // of a round; 0 if it ends when its work is done
	// Load is the machine's load average before the part, of the last minute. The parts
	// before it are part of that load.
	Load float64 `json:"load_before"`
}

// keep takes the parts that were not measured from earlier results.
func (r *Results) keep(old Results) {
	if r.Recorded == nil {
		r.Recorded = map[string]Setting{}
	}
	for _, part := range []struct {
		name string
		keep func()
	}{
		{"throughput", func() { r.Throughput = old.Throughput }},
		{"sick", func() { r.Sick = old.Sick }},
		{"contended", func() { r.Contended = old.Contended }},
		{"overload", func() { r.Overload = old.Overload }},
		{"scale", func() { r.Scale = old.Scale }},
		{"held", func() { r.Held = old.Held }},
		{"against", func() { r.Against = old.Against }},
	} {
		if _, measured := r.Recorded[part.name]; measured {
			continue
		}
		part.keep()
		if setting, ok := old.Recorded[part.name]; ok {
			r.Recorded[part.name] = setting
		}
	}
	for _, c := range old.Contenders {
		if !slices.ContainsFunc(r.Contenders, func(have Entry) bool { return have.Name == c.Name }) {
			r.Contenders = append(r.Contenders, c)
		}
	}
	order := map[string]int{}
	for i, c := range contenders() {
		order[c.name] = i
	}
	slices.SortStableFunc(r.Contenders, func(a, b Entry) int { return order[a.Name] - order[b.Name] })
}

// load returns the machine's load average of the last minute; 0 where that is not to be had.
func load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	value, _ := strconv.ParseFloat(first, 64)
	return value
}

// Entry describes a contender.
type Entry struct {
	Name    string `json:"name"`
	Note    string `json:"note"`
	Servers int    `json:"servers"`
}

// writeJSON writes the results to a file. What the file has of other parts stays there.
func (r Results) writeJSON(path string) error {
	switch text, err := os.ReadFile(path); {
	case err == nil:
		var old Results
		if err := json.Unmarshal(text, &old); err != nil {
			return fmt.Errorf("%s exists and has no results of this program: %w", path, err)
		}
		r.keep(old)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	text = numberList.ReplaceAllFunc(text, func(list []byte) []byte {
		return []byte("[" + strings.Join(strings.Fields(strings.Trim(string(list), "[]")), " ") + "]")
	})
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// numberList is a list of numbers, which has a line of the file for each of them.
var numberList = regexp.MustCompile(`\[[-+0-9.eE,\s]+\]`)

// describe adds the contenders that are measured.
func (m measurement) describe(results *Results) {
	if len(results.Contenders) > 0 {
		return
	}
	for _, c := range m.list {
		results.Contenders = append(results.Contenders, Entry{c.name, c.note, c.servers})
	}
}

// markdown writes the results as tables, with the names that the figures have in the file. The
// pages have better ones.
func (r Results) markdown(w io.Writer) {
	for _, s := range r.Recorded { // the parts of one run differ in their rounds alone
		fmt.Fprintf(w, "redis-server %s on loopback, clients and servers on the same %d cores, %s; medians of up to %d rounds, in turns.\n",
			s.Server, s.Cores, s.Go, s.Rounds)
		break
	}
	table(w, r.Contenders)
	table(w, r.Throughput)
	table(w, r.Sick)
	table(w, r.Contended)
	if r.Overload != nil {
		table(w, []Overload{*r.Overload})
	}
	table(w, r.Scale)
	table(w, r.Held)
	if r.Against != nil {
		fmt.Fprintf(w, "\n%s over %s:\n", r.Against.This, r.Against.Other)
		table(w, r.Against.Figures)
	}
}

// table writes a row for each of them, without the figures of single rounds.
func table[T any](w io.Writer, all []T) {
	if len(all) == 0 {
		return
	}
	var head []string
	rows := make([][]string, len(all))
	for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || field.Type.Kind() == reflect.Map || field.Type.Kind() == reflect.Slice {
			continue
		}
		head = append(head, name)
		for i := range all {
			text := fmt.Sprint(reflect.ValueOf(all[i]).FieldByIndex(field.Index))
			if field.Type.Kind() == reflect.Float64 {
				text = digits(reflect.ValueOf(all[i]).FieldByIndex(field.Index).Float())
			}
			rows[i] = append(rows[i], text)
		}
	}
	fmt.Fprintf(w, "\n| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat(" --- |", len(head)))
	for _, row := range rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
}

// digits writes the digits of a figure that mean something.
func digits(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
