package fencing_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/redquorum/redlock/fencing"
)

func BenchmarkMemoryCheckEqual(b *testing.B) {
	var m fencing.Memory
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if err := m.Check(ctx, "resource", 33); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMemoryCheckRising(b *testing.B) {
	var m fencing.Memory
	ctx := b.Context()
	b.ReportAllocs()
	t := fencing.Token(0)
	for b.Loop() {
		t++
		if err := m.Check(ctx, "resource", t); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMemoryCheckStale(b *testing.B) {
	var m fencing.Memory
	ctx := b.Context()
	if err := m.Check(ctx, "resource", 34); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if m.Check(ctx, "resource", 33) == nil {
			b.Fatal("a stale token passed")
		}
	}
}

func BenchmarkMemoryWrite(b *testing.B) {
	var m fencing.Memory
	ctx := b.Context()
	write := func() error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		if err := m.Write(ctx, "resource", 33, write); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMemoryCheckParallel(b *testing.B) {
	var m fencing.Memory
	ctx := b.Context()
	var goroutine atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		resource := "resource/" + strconv.FormatInt(goroutine.Add(1), 10)
		for pb.Next() {
			if err := m.Check(ctx, resource, 33); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
