//go:build unix

package deploy_test

import (
	"cmp"
	"slices"
	"strconv"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/require"
)

// scrapes is what a Prometheus server has after some scrapes of one process: a storage.Queryable in
// memory.
type scrapes struct {
	series map[string]*series
	from   time.Time
	until  time.Time
}

type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

// add is one scrape.
func (s *scrapes) add(at time.Time, families []*dto.MetricFamily) {
	if s.from.IsZero() {
		s.from = at
	}
	s.until = at
	for _, family := range families {
		for _, m := range family.Metric {
			own := map[string]string{"job": "orders", "instance": "10.0.0.1:9464"}
			for _, pair := range m.Label {
				own[pair.GetName()] = pair.GetValue()
			}
			put := func(name string, value float64, more ...string) {
				all := labels.NewBuilder(labels.FromMap(own)).Set(labels.MetricName, name)
				for i := 0; i < len(more); i += 2 {
					all.Set(more[i], more[i+1])
				}
				s.put(all.Labels(), at, value)
			}
			switch {
			case m.Counter != nil:
				put(family.GetName(), m.Counter.GetValue())
			case m.Gauge != nil:
				put(family.GetName(), m.Gauge.GetValue())
			case m.Histogram != nil:
				put(family.GetName()+"_count", float64(m.Histogram.GetSampleCount()))
				put(family.GetName()+"_sum", m.Histogram.GetSampleSum())
				for _, b := range m.Histogram.Bucket {
					put(family.GetName()+"_bucket", float64(b.GetCumulativeCount()), "le", strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64))
				}
				put(family.GetName()+"_bucket", float64(m.Histogram.GetSampleCount()), "le", "+Inf")
			}
		}
	}
}

func (s *scrapes) put(l labels.Labels, at time.Time, value float64) {
	if s.series == nil {
		s.series = map[string]*series{}
	}
	one := s.series[l.String()]
	if one == nil {
		one = &series{labels: l}
		s.series[l.String()] = one
	}
	one.samples = append(one.samples, sample{at.UnixMilli(), value})
}

// query evaluates an expression at each step.
func (s *scrapes) query(t *testing.T, expr string, step time.Duration) promql.Matrix {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000_000, Timeout: time.Minute})
	defer func() { require.NoError(t, engine.Close()) }()
	query, err := engine.NewRangeQuery(t.Context(), s, nil, expr, s.from, s.until, step)
	require.NoError(t, err)
	defer query.Close()
	result := query.Exec(t.Context())
	require.NoError(t, result.Err)
	matrix, err := result.Matrix()
	require.NoError(t, err)
	points := promql.Matrix{} // the query's own are used again
	for _, one := range matrix {
		points = append(points, promql.Series{Metric: one.Metric, Floats: slices.Clone(one.Floats)})
	}
	return points
}

// fires reports whether an alert with this expression would have fired: whether it had a result for
// that long without a break.
func (s *scrapes) fires(t *testing.T, expr string, lasting, step time.Duration) bool {
	t.Helper()
	for _, one := range s.query(t, expr, step) {
		began, last := int64(0), int64(-1)
		for _, p := range one.Floats {
			if last < 0 || p.T-last > step.Milliseconds() {
				began = p.T
			}
			last = p.T
			if p.T-began >= lasting.Milliseconds() {
				return true
			}
		}
	}
	return false
}

func (s *scrapes) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		set := &seriesSet{at: -1}
		for _, one := range s.series {
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.labels.Get(m.Name)) }) {
				set.all = append(set.all, storage.NewListSeries(one.labels, one.samples))
			}
		}
		slices.SortFunc(set.all, func(a, b storage.Series) int { return cmp.Compare(a.Labels().String(), b.Labels().String()) })
		return set
	}}, nil
}

type seriesSet struct {
	all []storage.Series
	at  int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at < len(s.all) }
func (s *seriesSet) At() storage.Series                { return s.all[s.at] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// sample is a chunks.Sample of one number.
type sample struct {
	t int64
	v float64
}

func (s sample) T() int64                      { return s.t }
func (s sample) F() float64                    { return s.v }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }
