package book_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// plainer are words that the pages avoid, with replacements. Quotations keep their words.
var plainer = map[string]string{
	`\bmend(s|ed|ing)?\b`:  "fix",
	`\btime-outs?\b`:       "timeout",
	`\bfor ever\b`:         "forever",
	`\bby itself\b`:        "on its own",
	`\bowed\b`:             "pending (of deletes)",
	`\bin line\b`:          "in the wait queue",
	`\broll-back\b`:        "rollback",
	`\bhand-overs?\b`:      "hand-off",
	`longest TTL in use`:   "MaxTTL",
	`quarantine's length`:  "quarantine, or MaxTTL",
	`\bis lacking\b`:       "is missing",
	`\bhears?\b|\bdeaf\b`:  "is notified, cannot notify",
	`\bsomebody'?s\b`:      "the actor: the holder, a client",
	`\bthat one's\b`:       "the noun",
	`\bat the most\b`:      "at most",
	`\bturns? out to be\b`: "is",
}

func TestPagesAreInPlainWords(t *testing.T) {
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		prose := quotation.ReplaceAllString(withoutCode(generatedPart.ReplaceAllString(string(text), "")), "")
		prose = strings.Join(strings.Fields(prose), " ")
		for word, better := range plainer {
			for _, at := range regexp.MustCompile(word).FindAllStringIndex(prose, -1) {
				t.Errorf("%s: %q; write %s", page, prose[max(0, at[0]-30):min(len(prose), at[1]+30)], better)
			}
		}
	}
}
