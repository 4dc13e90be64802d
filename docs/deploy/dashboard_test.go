//go:build unix

package deploy_test

import (
	"encoding/json"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// noPanel are the metrics that no panel shows, and why.
var noPanel = map[string]string{
	"redlock_wait_tries": "the time of a wait says what a user feels",
	"target_info":        "it is the exporter's own",
}

// panel is one picture of dashboard.json.
type panel struct {
	Title, Type, Description string
	Targets                  []struct{ Expr, LegendFormat string }
}

func panels(t *testing.T) []panel {
	t.Helper()
	text, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var dashboard struct{ Panels []panel }
	require.NoError(t, json.Unmarshal(text, &dashboard))
	require.NotEmpty(t, dashboard.Panels)
	return dashboard.Panels
}

// plain is a query without Grafana's variables.
func plain(expr string) string {
	return strings.NewReplacer("$__rate_interval", "1m", "$job", ".*").Replace(expr)
}

var inLegend = regexp.MustCompile(`{{(\w+)}}`)

// Each query of a panel has a result in one of the troubles at least, with the labels of its legend. So
// its metrics, labels and values are those of quorumotel, as the exporter spells them.
func TestDashboard(t *testing.T) {
	exported := map[string]map[string]bool{} // the labels of each series' metric
	for _, trouble := range troubles {
		for _, one := range recorded(t, trouble).series {
			name := one.labels.Get("__name__")
			if exported[name] == nil {
				exported[name] = map[string]bool{}
			}
			for label := range one.labels.Map() {
				exported[name][label] = true
			}
		}
	}
	shown := map[string]bool{}
	for _, panel := range panels(t) {
		assert.Equal(t, "timeseries", panel.Type, panel.Title)
		assert.NotEmpty(t, panel.Description, panel.Title)
		for _, target := range panel.Targets {
			for metric, labels := range used(t, plain(target.Expr)) {
				shown[metricOf(metric)] = true
				for _, label := range labels {
					assert.True(t, exported[metric][label], "%s: %s has no label %s", panel.Title, metric, label)
				}
			}
			result := results(t, plain(target.Expr))
			assert.NotEmpty(t, result, "%s: no trouble gives %s a value", panel.Title, target.Expr)
			for _, label := range inLegend.FindAllStringSubmatch(target.LegendFormat, -1) {
				assert.True(t, slices.ContainsFunc(result, func(s promql.Series) bool { return s.Metric.Has(label[1]) }), "%s: %s", panel.Title, target.LegendFormat)
			}
		}
	}
	for name := range exported {
		metric := metricOf(name)
		assert.NotEqual(t, shown[metric], noPanel[metric] != "", "%s has to be in a panel, or in noPanel", metric)
	}
}

// used are the metrics of a query, each with the labels that the query needs.
func used(t *testing.T, expr string) map[string][]string {
	t.Helper()
	tree, err := parser.ParseExpr(expr)
	require.NoError(t, err)
	metrics := map[string][]string{}
	parser.Inspect(tree, func(node parser.Node, path []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		for _, matcher := range selector.LabelMatchers {
			metrics[selector.Name] = append(metrics[selector.Name], matcher.Name)
		}
		for _, outer := range path {
			if sum, ok := outer.(*parser.AggregateExpr); ok {
				metrics[selector.Name] = append(metrics[selector.Name], sum.Grouping...)
			}
		}
		return nil
	})
	require.NotEmpty(t, metrics)
	return metrics
}

// results are what a query gives in all troubles, without those that have no value at any time.
func results(t *testing.T, expr string) (all promql.Matrix) {
	t.Helper()
	for _, trouble := range troubles {
		for _, one := range recorded(t, trouble).query(t, expr, scrapeEvery) {
			if slices.ContainsFunc(one.Floats, func(p promql.FPoint) bool { return !math.IsNaN(p.F) }) {
				all = append(all, one)
			}
		}
	}
	return all
}

// metricOf is the metric that a series belongs to, which has several if it is a histogram.
func metricOf(series string) string {
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		series = strings.TrimSuffix(series, part)
	}
	return series
}
