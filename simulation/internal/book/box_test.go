package book_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/redquorum/redlock/simulation/box"
)

func init() {
	generators["box-cases"] = boxCases
	generators["box-kinds"] = boxKinds
	generators["box-clients"] = boxClients
	generators["box-schedules"] = boxSchedules
}

// boxCases is the table of the schedules by faults.
func boxCases([]string) (string, error) {
	var rows [][]string
	for _, fault := range box.Faults() {
		var titles []string
		for _, c := range box.Cases(4) {
			if c.Fault == fault {
				titles = append(titles, c.Title)
			}
		}
		rows = append(rows, []string{fault, strings.Join(titles, "; ")})
	}
	return table("fault | schedules", rows), nil
}

// kindConstant is the constant of a kind, whose comment says after a colon what it means.
var kindConstant = regexp.MustCompile(`(?m)^\t// [^:]*: ((?:.*\n\t// )*.*)\n\t\w+ +Kind = "(.*)"$`)

// boxKinds is a table of the kinds and their comments.
func boxKinds([]string) (string, error) {
	text, err := os.ReadFile("../simulation/box/kind.go")
	if err != nil {
		return "", err
	}
	meaning := map[string]string{}
	for _, found := range kindConstant.FindAllStringSubmatch(string(text), -1) {
		meaning[found[2]] = strings.ToUpper(found[1][:1]) + strings.ReplaceAll(found[1][1:], "\n\t// ", " ")
	}
	var rows [][]string
	for _, kind := range box.Kinds() {
		if meaning[string(kind)] == "" {
			return "", fmt.Errorf("nothing says what %q means", kind)
		}
		rows = append(rows, []string{string(kind), meaning[string(kind)]})
	}
	return table("finding | what it means", rows), nil
}

// boxReports reads the recorded reports, in the order of their files.
func boxReports() (reports []box.Report, err error) {
	files, err := filepath.Glob("testdata/clients/*.json")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		r, err := readRecorded[box.Report](file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// boxClients is the table of clients by faults. A cell has the worst kind, and in how many plays.
func boxClients([]string) (string, error) {
	reports, err := boxReports()
	if err != nil {
		return "", err
	}
	var rows [][]string
	recorded := map[string]bool{}
	for _, r := range reports {
		for _, t := range r.Tallies {
			recorded[t.Fault] = true
		}
	}
	faults := slices.DeleteFunc(box.Faults(), func(fault string) bool { return !recorded[fault] })
	for _, r := range reports {
		cells := map[string]string{}
		for _, t := range r.Tallies {
			cells[t.Fault] = fmt.Sprintf("0 of %d", t.Plays)
			if len(t.Kinds) > 0 {
				cells[t.Fault] = fmt.Sprintf("**%s** %d of %d", t.Kinds[0].Kind, t.Kinds[0].Plays, t.Plays)
			}
		}
		row := []string{r.Name + " " + r.Version, fmt.Sprint(r.Count)}
		for _, fault := range faults {
			row = append(row, cells[fault])
		}
		rows = append(rows, row)
	}
	return table("client | servers | "+strings.Join(faults, " | "), rows), nil
}

// boxSchedules is the shortest schedule for each client and kind.
func boxSchedules([]string) (string, error) {
	reports, err := boxReports()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, r := range reports {
		var rows [][]string
		for _, t := range r.Tallies {
			for _, k := range t.Kinds {
				var steps []string
				for _, step := range k.Shown.Schedule {
					steps = append(steps, step.String())
				}
				rows = append(rows, []string{string(k.Kind), t.Fault, strings.Join(steps, "; "), fmt.Sprintf("%d of %d", k.Repeated, k.Again)})
			}
		}
		if len(rows) > 0 {
			fmt.Fprintf(&b, "<details><summary>%s %s, %d × %s</summary>\n\n%s\n</details>\n\n", r.Name, r.Version, r.Count, r.Servers, table("finding | by | shortest schedule | again", rows))
		}
	}
	return b.String(), nil
}
