package sqlguard

import (
	"context"
	"fmt"
	"strings"
)

// fit is what a table of marks must be in a dialect.
type fit struct {
	// facts are queries for rows of a fact and its value. Their arguments are schema and table.
	// For a value that is as good as the wanted one they return the wanted one.
	facts []string
	wants []want
}

// want is a fact, the only value with which a table can keep marks, and the clause of ALTER TABLE
// that makes it so, if there is one.
type want struct{ fact, value, alter string }

const (
	inPostgreSQL = " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2"
	// Before version 12 all collations are deterministic, and pg_collation has no such column. JSON
	// needs none.
	ofCollations = "CASE WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_collation k WHERE to_jsonb(k) ->> 'collisdeterministic' = 'false' AND k.oid IN ("
	inMySQL      = " WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?"
)

var fits = map[Dialect]fit{
	PostgreSQL: {
		[]string{
			"SELECT 'kind', CASE c.relkind WHEN 'r' THEN 'table' ELSE 'relkind ' || CAST(c.relkind AS text) END" + inPostgreSQL,
			// After a crash the server empties an unlogged table.
			"SELECT 'persistence', CASE c.relpersistence WHEN 'p' THEN 'LOGGED' WHEN 'u' THEN 'UNLOGGED' ELSE 'TEMPORARY' END" + inPostgreSQL,
			// A VARCHAR that is too short cuts blanks at a name's end, in silence. Other types cut or pad it, or
			// ignore case. As text, 9 is larger than 10.
			"SELECT 'column ' || t.name, CASE WHEN t.name = 'resource' AND t.type LIKE 'character varying%'" +
				" AND (t.atttypmod = -1 OR t.atttypmod >= 4 + 1024) THEN 'text' ELSE t.type END FROM" +
				" (SELECT a.attname AS name, a.atttypmod, format_type(a.atttypid, a.atttypmod) AS type FROM pg_catalog.pg_attribute a" +
				" WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attrelid = (SELECT c.oid" + inPostgreSQL + ")) t",
			// With a nondeterministic collation two names can be equal.
			"SELECT 'collation of resource', " + ofCollations + "SELECT a.attcollation FROM pg_catalog.pg_attribute a" +
				" WHERE a.attrelid = c.oid AND a.attname = 'resource')) THEN 'nondeterministic' ELSE 'deterministic' END" + inPostgreSQL,
			"SELECT 'collation of unique keys', " + ofCollations + "SELECT unnest(CAST(i.indcollation AS oid[])) FROM pg_catalog.pg_index i" +
				" WHERE i.indrelid = c.oid AND i.indisunique)) THEN 'nondeterministic' ELSE 'deterministic' END" + inPostgreSQL,
		},
		[]want{
			{"kind", "table", ""},
			{"persistence", "LOGGED", "SET LOGGED"},
			{"column resource", "text", `ALTER COLUMN resource TYPE TEXT COLLATE "C"`},
			{"collation of resource", "deterministic", `ALTER COLUMN resource TYPE TEXT COLLATE "C"`},
			{"collation of unique keys", "deterministic", ""},
			{"column token", "bigint", "ALTER COLUMN token TYPE BIGINT USING token::bigint"},
		},
	},
	SQLite: {
		[]string{
			// These are SQLite's rules for the affinity of a column. As text, 9 is larger than 10; as
			// numbers, the names 7 and 007 are equal.
			"SELECT 'column ' || lower(name), CASE WHEN lower(name) = 'token' AND type LIKE '%INT%' THEN 'INTEGER'" +
				" WHEN lower(name) = 'resource' AND type NOT LIKE '%INT%' AND (type LIKE '%CHAR%' OR type LIKE '%CLOB%' OR type LIKE '%TEXT%') THEN 'TEXT'" +
				" WHEN type = '' THEN 'without a type' ELSE type END FROM pragma_table_info(?2, ?1)",
			// A unique key with ON CONFLICT REPLACE deletes the marks of other resources.
			"SELECT 'unique key', (SELECT group_concat(lower(coalesce(x.name, 'expression')) || CASE x.coll WHEN 'BINARY' THEN '' ELSE ' COLLATE ' || x.coll END)" +
				" FROM pragma_index_xinfo(i.name, ?1) x WHERE x.key) FROM pragma_index_list(?2, ?1) i WHERE i.\"unique\"",
		},
		[]want{
			{"column resource", "TEXT", ""},
			{"column token", "INTEGER", ""},
			{"unique key", "resource", ""},
		},
	},
	MySQL: {
		[]string{
			"SELECT 'kind', TABLE_TYPE FROM information_schema.TABLES" + inMySQL,
			// Without it nothing commits an Admit, and its mark ends with the connection.
			"SELECT 'autocommit', IF(@@autocommit, 'on', 'off') FROM information_schema.TABLES" + inMySQL,
			"SELECT 'engine', coalesce(ENGINE, 'unknown') FROM information_schema.TABLES" + inMySQL,
			// Without strict mode a column cuts what doesn't fit, in silence, and LAST_INSERT_ID still has
			// the token as it was shown.
			"SELECT concat('column ', lower(COLUMN_NAME)), CASE WHEN DATA_TYPE = 'bigint' THEN 'bigint'" +
				" WHEN DATA_TYPE = 'varbinary' AND CHARACTER_MAXIMUM_LENGTH >= 1024 THEN 'varbinary(1024)'" +
				" ELSE COLUMN_TYPE END FROM information_schema.COLUMNS" + inMySQL,
			// ON DUPLICATE KEY looks at every unique key: with one on token, it would raise another
			// resource's mark.
			"SELECT 'unique key', group_concat(concat(lower(coalesce(COLUMN_NAME, 'expression')), coalesce(concat('(', SUB_PART, ')'), '')) ORDER BY SEQ_IN_INDEX)" +
				" FROM information_schema.STATISTICS" + inMySQL + " AND NON_UNIQUE = 0 GROUP BY INDEX_NAME",
		},
		[]want{
			{"kind", "BASE TABLE", ""},
			{"autocommit", "on", ""},
			{"engine", "InnoDB", "ENGINE=InnoDB"}, // the others have no transactions
			{"unique key", "resource", ""},
			{"column resource", "varbinary(1024)", "MODIFY resource VARBINARY(1024) NOT NULL"},
			{"column token", "bigint", "MODIFY token BIGINT NOT NULL"},
		},
	},
}

// fits refuses a table in which a stale token could pass, or two resources could share a mark.
func (g *Guard) fits(ctx context.Context) error {
	schema, table, _ := strings.Cut(g.config.Table, ".")
	fit := fits[g.config.Dialect]
	found := map[string][]string{}
	for _, query := range fit.facts {
		if err := g.read(ctx, found, query, schema, table); err != nil {
			return fmt.Errorf("sqlguard: look at table %s: %w", g.config.Table, err)
		}
	}
	for _, w := range fit.wants {
		for _, value := range found[w.fact] {
			if value != w.value {
				return g.misfit(w, value)
			}
		}
		if len(found[w.fact]) == 0 {
			w.alter = ""
			return g.misfit(w, "missing")
		}
	}
	return nil
}

// misfit says what is wrong with the table, and how to fix it.
func (g *Guard) misfit(w want, value string) error {
	fix := "name another table, one that Schema makes"
	switch {
	case w.fact == "autocommit":
		fix = "take autocommit=0 out of the connections' DSN and of the server's settings and init_connect"
	case w.alter != "":
		fix = "run ALTER TABLE " + g.table + " " + w.alter + ", or " + fix
	}
	return fmt.Errorf("sqlguard: table %s can't keep marks: its %s is %s, want %s; while no lease is held, %s",
		g.config.Table, w.fact, value, w.value, fix)
}

// read adds the facts of a query.
func (g *Guard) read(ctx context.Context, found map[string][]string, query, schema, table string) error {
	rows, err := g.config.DB.QueryContext(ctx, query, schema, table)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // it is read to the end, or there is an error before
	for rows.Next() {
		var fact, value string
		if err := rows.Scan(&fact, &value); err != nil {
			return err
		}
		found[fact] = append(found[fact], value)
	}
	return rows.Err()
}
