package book_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/box"
)

func init() {
	generators["box-driver"] = boxDriver
	generators["box-cases"] = boxCases
	generators["box-kinds"] = boxKinds
	generators["box-clients"] = boxClients
	generators["box-schedules"] = boxSchedules
}

// boxDriver is the driver that package box tests.
func boxDriver([]string) (string, error) {
	text, err := os.ReadFile("../simulation/box/testdata/driver.py")
	return "```python\n" + string(text) + "```", err
}

func boxCases([]string) (string, error) {
	var b strings.Builder
	b.WriteString("| fault | schedules |\n| --- | --- |\n")
	for _, fault := range box.Faults() {
		var titles []string
		for _, c := range box.Cases(4) {
			if c.Fault == fault {
				titles = append(titles, c.Title)
			}
		}
		fmt.Fprintf(&b, "| %s | %s |\n", fault, strings.Join(titles, "; "))
	}
	return b.String(), nil
}

// boxKinds is a table of the kinds and their comments.
func boxKinds([]string) (string, error) {
	comments, err := commentsOfKinds()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| finding | what it means |\n| --- | --- |\n")
	for _, kind := range box.Kinds() {
		fmt.Fprintf(&b, "| %s | %s |\n", kind, comments[kind])
	}
	return b.String(), nil
}

// commentsOfKinds reads the comments of the kinds' constants.
func commentsOfKinds() (map[box.Kind]string, error) {
	text, err := os.ReadFile("../simulation/box/kind.go")
	if err != nil {
		return nil, err
	}
	comments := map[box.Kind]string{}
	var said []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if comment, ok := strings.CutPrefix(line, "// "); ok {
			said = append(said, comment)
			continue
		}
		if _, value, ok := strings.Cut(line, " Kind = "); ok {
			_, meaning, _ := strings.Cut(strings.Join(said, " "), ": ")
			comments[box.Kind(strings.Trim(value, `"`))] = strings.ToUpper(meaning[:1]) + meaning[1:]
		}
		said = nil
	}
	return comments, nil
}

// boxReports reads the recorded reports, in the order of their files.
func boxReports() (map[string]box.Report, []string, error) {
	files, err := filepath.Glob("testdata/clients/*.json")
	if err != nil {
		return nil, nil, err
	}
	reports := map[string]box.Report{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		var r box.Report
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		reports[file] = r
	}
	return reports, files, nil
}

// boxClients is the table of clients by faults.
func boxClients([]string) (string, error) {
	reports, files, err := boxReports()
	if err != nil {
		return "", err
	}
	recorded := slices.DeleteFunc(box.Faults(), func(fault string) bool {
		for _, r := range reports {
			if slices.ContainsFunc(r.Tallies, func(t box.Tally) bool { return t.Fault == fault }) {
				return false
			}
		}
		return true
	})
	var b strings.Builder
	b.WriteString("| client | servers | " + strings.Join(recorded, " | ") + " |\n| --- |" + strings.Repeat(" --- |", len(recorded)+1) + "\n")
	for _, file := range files {
		r := reports[file]
		cells := []string{r.Name + " " + r.Version, fmt.Sprint(r.Count)}
		for _, fault := range recorded {
			cell := ""
			for _, t := range r.Tallies {
				if t.Fault == fault {
					cell = boxCell(t)
				}
			}
			cells = append(cells, cell)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String(), nil
}

// boxCell is the result of a fault: the worst kind, and in how many plays of how many.
func boxCell(t box.Tally) string {
	if len(t.Kinds) == 0 {
		return fmt.Sprintf("0 of %d", t.Plays)
	}
	worst := t.Kinds[0]
	return fmt.Sprintf("**%s** %d of %d", worst.Kind, worst.Plays, t.Plays)
}

// boxSchedules is the shortest schedule for each client and kind.
func boxSchedules([]string) (string, error) {
	reports, files, err := boxReports()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, file := range files {
		r := reports[file]
		if _, broke := r.Worst(); !broke {
			continue
		}
		fmt.Fprintf(&b, "<details><summary>%s %s, %d × %s</summary>\n\n| finding | by | shortest schedule | again |\n| --- | --- | --- | --- |\n", r.Name, r.Version, r.Count, r.Servers)
		for _, t := range r.Tallies {
			for _, k := range t.Kinds {
				var steps []string
				for _, step := range k.Shown.Schedule {
					steps = append(steps, step.String())
				}
				fmt.Fprintf(&b, "| %s | %s | %s | %d of %d |\n", k.Kind, t.Fault, strings.Join(steps, "; "), k.Repeated, k.Again)
			}
		}
		b.WriteString("\n</details>\n\n")
	}
	return b.String(), nil
}
