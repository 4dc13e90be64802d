package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/redis/rueidis"
)

// rueidisPool lets redsync use rueidis. Redsync's own adapter has another layer, in a third
// module.
type rueidisPool struct{ client rueidis.Client }

func (p rueidisPool) Get(ctx context.Context) (redsyncredis.Conn, error) {
	return rueidisConn{p.client, ctx}, nil
}

type rueidisConn struct {
	client rueidis.Client
	ctx    context.Context
}

func (c rueidisConn) Get(name string) (string, error) {
	text, err := c.client.Do(c.ctx, c.client.B().Get().Key(name).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return "", nil
	}
	return text, err
}

func (c rueidisConn) Set(name, value string) (bool, error) {
	return true, c.client.Do(c.ctx, c.client.B().Set().Key(name).Value(value).Build()).Error()
}

func (c rueidisConn) SetNX(name, value string, expiry time.Duration) (bool, error) {
	err := c.client.Do(c.ctx, c.client.B().Set().Key(name).Value(value).Nx().PxMilliseconds(expiry.Milliseconds()).Build()).Error()
	if rueidis.IsRedisNil(err) {
		return false, nil
	}
	return err == nil, err
}

func (c rueidisConn) PTTL(name string) (time.Duration, error) {
	ms, err := c.client.Do(c.ctx, c.client.B().Pttl().Key(name).Build()).AsInt64()
	return time.Duration(ms) * time.Millisecond, err
}

func (c rueidisConn) Eval(script *redsyncredis.Script, keysAndArgs ...any) (any, error) {
	words := make([]string, len(keysAndArgs))
	for i, word := range keysAndArgs {
		words[i] = fmt.Sprint(word)
	}
	keys, args := words[:script.KeyCount], words[script.KeyCount:]
	count := strconv.Itoa(script.KeyCount)
	answer, err := c.client.Do(c.ctx, c.client.B().Arbitrary("EVALSHA", script.Hash, count).Keys(keys...).Args(args...).Build()).ToAny()
	if redisErr, ok := rueidis.IsRedisErr(err); ok && redisErr.IsNoScript() {
		answer, err = c.client.Do(c.ctx, c.client.B().Arbitrary("EVAL", script.Src, count).Keys(keys...).Args(args...).Build()).ToAny()
	}
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	return answer, err
}

func (rueidisConn) Close() error { return nil }

func (c rueidisConn) ScriptLoad(script *redsyncredis.Script) error {
	return c.client.Do(c.ctx, c.client.B().ScriptLoad().Script(script.Src).Build()).Error()
}
