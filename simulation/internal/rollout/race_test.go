//go:build race

package rollout_test

const raced = true
