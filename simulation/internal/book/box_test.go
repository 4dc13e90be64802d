package book_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/simulation/box"
)

// stepConstant is the constant of a word of a schedule, whose comment says what it means.
var stepConstant = regexp.MustCompile(`(?m)^\t\w+ +verb += "(\w+)" +// (.*)$`)

// ofATTL is the default of a time. Servers have none, because they have no TTL.
var ofATTL = regexp.MustCompile(`by (?:half a|\w+) TTLs?, or `)

// boxWords is the table of the words of a schedule, but for those of live. Its word is "servers" for those alone that
// redlocksim servers takes, where all clients share the links.
func boxWords(t *testing.T, words []string) string {
	forms := [][2]string{{"a client", "c1 %s"}, {"its process", "%s c1"}, {"a server", "%s A"}, {"a client's link to a server", "%s c1 A"}}
	shared := len(words) > 0
	if shared {
		forms = [][2]string{{}, {}, {"a server", "%s A"}, {"the link to a server", "%s A"}}
	}
	var rows [][]string
	blocks := strings.Split(read(t, "../simulation/box/step.go"), "const (")
	require.Greater(t, len(blocks), len(forms))
	for i, form := range forms {
		var steps []string
		for _, found := range stepConstant.FindAllStringSubmatch(blocks[i+1], -1) {
			word, says := found[1], found[2]
			if shared {
				says, _, _ = strings.Cut(strings.ReplaceAll(ofATTL.ReplaceAllString(says, ""), "c1 ", ""), ", except")
			}
			if !strings.HasPrefix(says, "live: ") && !(shared && (word == "trap" || word == "free")) {
				steps = append(steps, fmt.Sprintf("**"+form[1]+"**: %s", word, says))
			}
		}
		if form[0] != "" {
			rows = append(rows, []string{form[0], strings.Join(steps, "<br>")})
		}
	}
	return table("what | steps", rows)
}

// recordedClient is a lock client that was played, and what its authors write.
type recordedClient struct {
	// Record is the name of its recording, and Command starts its driver.
	Record, Command string
	// File has what it Says of itself: in Go's module cache, in simulation/drivers/node, in this
	// repository, or elsewhere. Admits are what the same file says that it doesn't do.
	File, Says string
	Admits     []struct{ Of, Says string }

	box.Report `json:"-"`
}

// recordedClients are in the order of the page. Copy quotations from their file.
func recordedClients(t *testing.T) []recordedClient {
	clients := readRecorded[[]recordedClient](t, "testdata/clients.json")
	for i := range clients {
		clients[i].Report = readRecorded[box.Report](t, "testdata/clients/"+clients[i].Record+".json")
	}
	return clients
}

// What is quoted is in the file of the version that was played, where that is on this machine.
func TestClientsSayIt(t *testing.T) {
	modules, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	plain := func(text string) string {
		return strings.Join(strings.Fields(strings.NewReplacer("//", "", "*", "", "`", "", "_", "").Replace(text)), " ")
	}
	for _, c := range recordedClients(t) {
		if _, version, ok := strings.Cut(strings.ReplaceAll(c.File, "/@", "/"), "@"); ok { // "/@" is npm's
			require.True(t, strings.HasPrefix(version, c.Version+"/"), "%s was played in version %s", c.File, c.Version)
		}
		for _, root := range []string{strings.TrimSpace(string(modules)), "../simulation/drivers/node", "..", "/"} {
			text, err := os.ReadFile(filepath.Join(root, c.File))
			if err != nil {
				continue
			}
			require.Contains(t, plain(string(text)), plain(c.Says), c.File)
			for _, a := range c.Admits {
				require.Contains(t, plain(string(text)), plain(a.Says), c.File)
			}
		}
	}
}

// boxClients is the table of the clients: what they say, and what broke. Where the lock of the Redis document breaks,
// too, the fault alone is named.
func boxClients(t *testing.T, _ []string) string {
	limits := slices.DeleteFunc(box.Faults(), func(fault string) bool { return len(box.Limits(fault)) == 0 })
	var rows [][]string
	quoted := map[string]bool{}
	quote := func(text string) string {
		if quoted[text] {
			return "as above"
		}
		quoted[text] = true
		return "\u201c" + text + "\u201d"
	}
	for _, c := range recordedClients(t) {
		says := quote(c.Says)
		for _, a := range c.Admits {
			says += fmt.Sprintf("; %s: %s", strings.ToLower(a.Of), quote(a.Says))
		}
		source := "`" + filepath.Base(c.File) + "`"
		if strings.HasPrefix(c.File, "http") {
			source = "[the document](" + c.File + ")"
		}
		shown, own := boxResults(c.Report)
		if slices.Equal(shown, limits) {
			shown = []string{"all"}
		}
		for _, t := range c.Tallies {
			if t.Refused > 0 {
				own = append(own, fmt.Sprintf("late writes refused by token: %s", t.Fault))
			}
		}
		rows = append(rows, []string{strings.TrimSpace(c.Name + " " + c.Version), says + " " + source, strings.Join(shown, ", "), strings.Join(own, "; "), strconv.Itoa(c.Played())})
	}
	return table("client | in its own words | limits, of "+strings.Join(limits, ", ")+" | its own findings | plays", rows)
}

// boxResults lists the faults under which a client shows what the Redis document's lock shows, and its own findings with
// theirs. What didn't come again is left out.
func boxResults(r box.Report) (limits, own []string) {
	places := map[string]int{} // of the own ones, by their faults
	for _, kind := range box.Kinds() {
		var faults []string
		for _, k := range r.Broken {
			switch {
			case k.Kind != kind || k.Again > 0 && k.Repeated == 0:
			case !k.Limit:
				faults = append(faults, k.Fault)
			case !slices.Contains(limits, k.Fault):
				limits = append(limits, k.Fault)
			}
		}
		list := strings.Join(faults, ", ")
		if at, ok := places[list]; ok {
			own[at] = strings.Replace(own[at], ":", ", "+string(kind)+":", 1)
		} else if list != "" {
			places[list] = len(own)
			own = append(own, string(kind)+": "+list)
		}
	}
	slices.SortFunc(limits, func(a, b string) int { return slices.Index(box.Faults(), a) - slices.Index(box.Faults(), b) })
	return limits, own
}

// boxSchedules has each kind of finding that some client shows on its own account, in the shortest schedule that showed
// it again. Kinds with the same schedule share a row.
func boxSchedules(t *testing.T, _ []string) string {
	var rows [][]string
	for _, kind := range box.Kinds() {
		var best *box.Broken
		var row []string
		for _, c := range recordedClients(t) {
			for _, k := range c.Broken {
				if k.Kind == kind && !k.Limit && k.Repeated > 0 && (best == nil || len(k.Shown.Schedule) < len(best.Shown.Schedule)) {
					best, row = k, []string{string(kind), k.Shown.Schedule.String(), fmt.Sprintf("%s, %d of %d", c.Name, k.Repeated, k.Again)}
				}
			}
		}
		if at := slices.IndexFunc(rows, func(r []string) bool { return best != nil && slices.Equal(r[1:], row[1:]) }); at >= 0 {
			rows[at][0] += ", " + string(kind)
		} else if best != nil {
			rows = append(rows, row)
		}
	}
	return table("finding | shortest schedule | of, and again in", rows)
}

// boxReport says what was found, and the command that shows it again. Its words are a recording's name, the fault and the
// kind, as in "02-redsync network: two holders".
func boxReport(t *testing.T, words []string) string {
	of := strings.Join(words, " ")
	for _, c := range recordedClients(t) {
		for _, k := range c.Broken {
			if fmt.Sprintf("%s %s: %s", c.Record, k.Fault, k.Kind) == of {
				tally := c.Tallies[slices.IndexFunc(c.Tallies, func(t *box.Tally) bool { return t.Fault == k.Fault })]
				return fmt.Sprintf("%s: %s (%d of %d plays, again in %d of %d).\n\n```text\nredlocksim box %s -- %s\n```\n",
					c.Version, k.Finding().Text, k.Plays, tally.Plays, k.Repeated, k.Again, k.Flags(), c.Command)
			}
		}
	}
	require.Fail(t, "no recording shows "+of)
	return ""
}
