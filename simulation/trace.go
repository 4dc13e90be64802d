package simulation

import "strconv"

// trace is what happened, a line of text for each thing: the true time in
// milliseconds, who, and what. Two runs are the same if their traces are.
type trace struct{ text []byte }

// at begins a line.
func (t *trace) at(now int64, who string) *trace {
	t.text = strconv.AppendInt(t.text, now/million, 10)
	// The digit before the fraction's six is a one, so that zeros are kept; the
	// point takes its place.
	point := len(t.text)
	t.text = strconv.AppendInt(t.text, now%million+million, 10)
	t.text[point] = '.'
	t.text = append(t.text, ' ')
	t.text = append(t.text, who...)
	return t
}

// s adds words to the line.
func (t *trace) s(words ...string) *trace {
	for _, word := range words {
		t.text = append(t.text, ' ')
		t.text = append(t.text, word...)
	}
	return t
}

// named adds a named word to the line.
func (t *trace) named(name, word string) *trace {
	t.text = append(t.text, ' ')
	t.text = append(t.text, name...)
	t.text = append(t.text, '=')
	t.text = append(t.text, word...)
	return t
}

// nth adds the name of the n-th call of a process to one place.
func (t *trace) nth(name string, n uint64) *trace {
	t.text = append(t.text, ' ')
	t.text = append(t.text, name...)
	t.text = append(t.text, '#')
	t.text = strconv.AppendUint(t.text, n, 10)
	return t
}

// n adds a named number to the line.
func (t *trace) n(name string, n int64) *trace {
	t.text = append(t.text, ' ')
	t.text = append(t.text, name...)
	t.text = append(t.text, '=')
	t.text = strconv.AppendInt(t.text, n, 10)
	return t
}

func (t *trace) end() { t.text = append(t.text, '\n') }
