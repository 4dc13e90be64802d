package instance

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// greet has go-redis find out, while it makes a connection, that the server
// wants a password and there is none. go-redis itself lets such a connection
// pass; the server then ends it at the first command with more than ten
// arguments, mostly before it could be read why, and it would be unknown
// whether that command was carried out.
//
// It costs a round trip for each new connection without a password.
func greet(opt *redis.Options) func(context.Context, *redis.Conn) error {
	next := opt.OnConnect
	if opt.Password != "" || opt.CredentialsProvider != nil || opt.CredentialsProviderContext != nil || opt.StreamingCredentialsProvider != nil {
		return next
	}
	return func(ctx context.Context, conn *redis.Conn) error {
		err := conn.Ping(ctx).Err()
		var answer redis.Error
		// Any other answer will do: a user may lack the right to PING.
		if err != nil && (!errors.As(err, &answer) || kindOf(answer.Error()) == ErrAuth) {
			return err
		}
		if next == nil {
			return nil
		}
		return next(ctx, conn)
	}
}
