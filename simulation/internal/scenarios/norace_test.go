//go:build !race

package scenarios_test

const raced = false
