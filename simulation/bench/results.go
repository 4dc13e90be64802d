package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strconv"
	"strings"

	"github.com/redquorum/redlock/simulation/bench/client"
)

// Results are the results of all measurements.
type Results struct {
	Contenders []Entry       `json:"contenders,omitempty"`
	Throughput []Throughput  `json:"throughput,omitempty"`
	Sick       []Sickness    `json:"sick,omitempty"`
	Contended  []Contended   `json:"contended,omitempty"`
	Scale      []Scale       `json:"scale,omitempty"`
	Held       []client.Held `json:"held,omitempty"`
	Against    *Against      `json:"against,omitempty"`

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
	var parts map[string]json.RawMessage // of the file
	var old struct{ Recorded map[string]Setting }
	switch text, err := os.ReadFile(path); {
	case err == nil:
		if err := errors.Join(json.Unmarshal(text, &parts), json.Unmarshal(text, &old)); err != nil {
			return fmt.Errorf("%s exists and has no results of this program: %w", path, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	for part, setting := range old.Recorded {
		if _, measured := r.Recorded[part]; !measured {
			r.Recorded[part] = setting
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &parts); err != nil { // over the file's
		return err
	}
	if text, err = json.MarshalIndent(parts, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// describe adds the contenders.
func (r *Results) describe() {
	r.Contenders = nil
	for _, c := range contenders() {
		r.Contenders = append(r.Contenders, Entry{c.name, c.note, c.servers})
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
	table(w, r.Scale)
	table(w, r.Held)
	if r.Against != nil {
		fmt.Fprintf(w, "\n%s over %s:\n", r.Against.This, r.Against.Other)
		table(w, r.Against.Figures)
	}
}

// table writes a row for each of them.
func table[T any](w io.Writer, all []T) {
	if len(all) == 0 {
		return
	}
	var head []string
	rows := make([][]string, len(all))
	for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
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
