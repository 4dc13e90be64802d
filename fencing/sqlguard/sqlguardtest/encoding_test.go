package sqlguardtest

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/sqlguard"
)

// TestEncodings: a resource has one mark, and no two share one, whatever encoding a connection has.
func TestEncodings(t *testing.T) {
	t.Run("PostgreSQL", func(t *testing.T) {
		db := inPostgreSQL(t)
		for _, encoding := range []string{"LATIN1", "WIN1251", "EUC_JP", "SQL_ASCII", "UTF8&default_query_exec_mode=simple_protocol", "LATIN1&default_query_exec_mode=exec"} {
			t.Run(encoding, func(t *testing.T) {
				oneMark(t, db, open(t, "pgx", postgres.url()+"&search_path="+db.schema+"&client_encoding="+encoding))
			})
		}
		// A schema of the caller's that comes before the server's own.
		one := open(t, "pgx", postgres.url()+"&search_path="+db.schema+",pg_catalog")
		for _, function := range []string{"decode(text, text) RETURNS bytea AS $$ SELECT 'x'::bytea $$", "convert_from(bytea, name) RETURNS text AS $$ SELECT 'x'::text $$"} {
			_, err := one.Exec("CREATE FUNCTION " + db.schema + "." + function + " LANGUAGE sql")
			require.NoError(t, err)
		}
		oneMark(t, db, one)
	})
	inMariaDBs(t, func(t *testing.T, db database) {
		for _, set := range []string{
			"SET NAMES latin1", "SET NAMES utf8mb3", "SET NAMES cp1251", "SET NAMES sjis", "SET NAMES binary", "SET CHARACTER SET utf8mb4",
			"SET character_set_client = latin1", "SET character_set_connection = latin1", "SET character_set_connection = utf16",
			"SET character_set_connection = ucs2", "SET collation_connection = utf8mb3_unicode_ci",
		} {
			t.Run(set, func(t *testing.T) {
				one := open(t, "mysql", mariadb.dsn(db.schema))
				one.SetMaxOpenConns(1)
				_, err := one.Exec(set)
				require.NoError(t, err)
				oneMark(t, db, one)
			})
		}
		// What the server does to each connection of an account without SUPER.
		for _, query := range []string{"CREATE OR REPLACE USER plain", "GRANT ALL ON *.* TO plain", "REVOKE SUPER ON *.* FROM plain",
			"SET GLOBAL init_connect = 'SET collation_connection = utf8mb3_unicode_ci'"} {
			db.exec(t, query)
		}
		defer db.exec(t, "SET GLOBAL init_connect = ''")
		oneMark(t, db, open(t, "mysql", "plain@unix("+mariadb.file("s")+")/"+db.schema))
	})
}

// oneMark shows tokens by a connection that is like all others, and by one in question.
func oneMark(t *testing.T, db database, conn *sql.DB) {
	t.Helper()
	usual := db.guard(t)
	odd, err := sqlguard.New(sqlguard.Config{DB: conn, Dialect: db.dialect, Table: db.schema + ".fencing_marks"})
	require.NoError(t, err)
	require.NoError(t, odd.CreateTable(t.Context()))
	db.exec(t, "DELETE FROM fencing_marks")
	names := []string{"account/7", "konto/Müller", "konto/Möller", "é", "кот", "пёс", "☃", "☂", "chat/😀", "chat/😁", "表", "a\\b'c\"?$1"}
	for i, name := range names {
		tok := fencing.Token(100 + 2*i)
		require.NoError(t, usual.Admit(t.Context(), name, tok))
		assert.ErrorIs(t, odd.Check(t.Context(), name, tok-1), fencing.ErrStale, "%q", name)
		tx, err := conn.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		assert.ErrorIs(t, odd.CheckTx(t.Context(), tx, name, tok-1), fencing.ErrStale, "%q", name)
		require.NoError(t, tx.Rollback())
		require.NoError(t, odd.Admit(t.Context(), name, tok+1), "%q", name)
		assert.ErrorIs(t, usual.Check(t.Context(), name, tok), fencing.ErrStale, "%q", name)
	}
	assert.EqualValues(t, len(names), db.number(t, "SELECT count(*) FROM fencing_marks"), "a row for each resource")
	// As operators write it, on a usual connection, and as the versions before wrote them.
	for i, name := range names {
		literal := fmt.Sprintf("'%s'", name)
		if i == len(names)-1 {
			continue // needs escapes
		}
		assert.EqualValues(t, 101+2*i, db.number(t, "SELECT token FROM fencing_marks WHERE resource = "+literal), "%q", name)
	}
	for _, name := range names {
		known, err := odd.Forget(t.Context(), name)
		require.NoError(t, err)
		assert.True(t, known, "%q", name)
	}
}
