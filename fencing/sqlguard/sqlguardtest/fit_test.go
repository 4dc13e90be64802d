package sqlguardtest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/sqlguard"
)

// unfit are tables named m that must not keep marks, and what CreateTable says of each.
var unfit = map[sqlguard.Dialect]map[string]string{
	sqlguard.PostgreSQL: {
		"CREATE TABLE m (resource TEXT PRIMARY KEY, token TEXT)":                                                           "column token is text, want bigint",
		"CREATE TABLE m (resource TEXT PRIMARY KEY, token INTEGER)":                                                        "column token is integer, want bigint",
		"CREATE TABLE m (resource TEXT PRIMARY KEY, token NUMERIC(20, 2))":                                                 "column token is numeric(20,2), want bigint",
		"CREATE TABLE m (resource TEXT PRIMARY KEY, mark BIGINT)":                                                          "column token is missing, want bigint",
		"CREATE TABLE m (resource NAME PRIMARY KEY, token BIGINT)":                                                         "column resource is name, want text",
		"CREATE TABLE m (resource VARCHAR(1023) PRIMARY KEY, token BIGINT)":                                                "column resource is character varying(1023), want text",
		"CREATE TABLE m (resource BYTEA PRIMARY KEY, token BIGINT)":                                                        "column resource is bytea, want text",
		"CREATE UNLOGGED TABLE m (resource TEXT PRIMARY KEY, token BIGINT)":                                                "persistence is UNLOGGED, want LOGGED",
		"CREATE TABLE t (resource TEXT, token BIGINT); CREATE VIEW m AS SELECT * FROM t":                                   "kind is relkind v, want table",
		ignoresCase + "CREATE TABLE m (resource TEXT COLLATE ci PRIMARY KEY, token BIGINT)":                                "collation of resource is nondeterministic",
		ignoresCase + "CREATE TABLE m (resource TEXT, token BIGINT); CREATE UNIQUE INDEX m_key ON m (resource COLLATE ci)": "collation of unique keys is nondeterministic",
	},
	sqlguard.SQLite: {
		"CREATE TABLE m (resource TEXT PRIMARY KEY, token TEXT)":                              "column token is TEXT, want INTEGER",
		"CREATE TABLE m (resource TEXT PRIMARY KEY, token FLOAT)":                             "column token is FLOAT, want INTEGER",
		"CREATE TABLE m (resource TEXT PRIMARY KEY, token)":                                   "column token is without a type, want INTEGER",
		"CREATE TABLE m (resource TEXT PRIMARY KEY, token BIGINT AS (7))":                     "column token is missing, want INTEGER",
		"CREATE TABLE m (resource NUMERIC PRIMARY KEY, token BIGINT)":                         "column resource is NUMERIC, want TEXT",
		"CREATE TABLE m (resource TEXT COLLATE NOCASE PRIMARY KEY, token BIGINT)":             "unique key is resource COLLATE NOCASE, want resource",
		"CREATE TABLE m (resource TEXT, token BIGINT)":                                        "unique key is missing, want resource",
		"CREATE TABLE m (resource TEXT PRIMARY KEY, token BIGINT UNIQUE ON CONFLICT REPLACE)": "unique key is token, want resource",
		"CREATE TABLE t (resource TEXT, token BIGINT); CREATE VIEW m AS SELECT * FROM t":      "unique key is missing, want resource",
	},
	sqlguard.MySQL: {
		"CREATE TABLE m (resource VARBINARY(1024) PRIMARY KEY, token DECIMAL(10))":                                  "column token is decimal(10,0), want bigint",
		"CREATE TABLE m (resource VARBINARY(1023) PRIMARY KEY, token BIGINT)":                                       "column resource is varbinary(1023), want varbinary(1024)",
		"CREATE TABLE m (resource VARCHAR(1024) CHARACTER SET latin1 COLLATE latin1_bin PRIMARY KEY, token BIGINT)": "column resource is varchar(1024), want varbinary(1024)",
		"CREATE TABLE m (resource VARBINARY(1024), token BIGINT, PRIMARY KEY (resource(10)))":                       "unique key is resource(10), want resource",
		"CREATE TABLE m (resource VARBINARY(1024) PRIMARY KEY, token BIGINT UNIQUE)":                                "unique key is token, want resource",
		"CREATE TABLE m (resource VARBINARY(1000) PRIMARY KEY, token BIGINT) ENGINE=MyISAM":                         "engine is MyISAM, want InnoDB",
		"CREATE TABLE m (resource VARBINARY(1024), token BIGINT)":                                                   "unique key is missing, want resource",
		"CREATE TABLE m (resource VARBINARY(1024), token BIGINT, PRIMARY KEY (resource, token))":                    "unique key is resource,token, want resource",
		"CREATE VIEW m AS SELECT CAST('r' AS BINARY(1024)) AS resource, 7 AS token":                                 "kind is VIEW, want BASE TABLE",
	},
}

// ignoresCase makes a collation in which "a" equals "A".
const ignoresCase = "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false); "

// TestUnfitTables: CreateTable refuses a table in which a stale token could pass or two resources
// would share a mark. With what the error says, the table can keep marks.
func TestUnfitTables(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		ctx := t.Context()
		g, err := sqlguard.New(sqlguard.Config{DB: db.DB, Dialect: db.dialect, Table: db.schema + ".m"})
		require.NoError(t, err)
		for definition, says := range unfit[db.dialect] {
			t.Run(definition, func(t *testing.T) {
				if strings.HasPrefix(definition, ignoresCase) && db.number(t, "SELECT count(*) FROM pg_collation WHERE collprovider = 'i'") == 0 {
					t.Skip("this PostgreSQL was built without ICU")
				}
				for statement := range strings.SplitSeq(definition, "; ") {
					db.exec(t, statement)
				}
				defer db.drop(t, definition)
				err := g.CreateTable(ctx)
				require.ErrorContains(t, err, "table "+db.schema+".m can't keep marks: its "+says)
				require.ErrorContains(t, err, "name another table")
				for range 3 { // the fixes of a table with several faults come one at a time
					fix := regexp.MustCompile(`run (ALTER TABLE .*), or`).FindStringSubmatch(err.Error())
					if fix == nil {
						return
					}
					db.exec(t, fix[1])
					if err = g.CreateTable(ctx); err == nil {
						break
					}
				}
				require.NoError(t, err)
				require.NoError(t, g.Admit(ctx, "r", 1767225600000042))
				require.ErrorIs(t, g.Check(ctx, "r", 1767225600000041), fencing.ErrStale)
			})
		}
	})
}

func (db database) drop(t *testing.T, definition string) {
	t.Helper()
	if strings.Contains(definition, "VIEW") {
		db.exec(t, "DROP VIEW m")
		db.exec(t, "DROP TABLE IF EXISTS t")
		return
	}
	db.exec(t, "DROP TABLE m")
	if strings.HasPrefix(definition, ignoresCase) {
		db.exec(t, "DROP COLLATION ci")
	}
}

// TestFitTables: tables that the first versions of Schema made, and others as good, can keep marks.
func TestFitTables(t *testing.T) {
	databases(t, func(t *testing.T, db database) {
		ctx := t.Context()
		g, err := sqlguard.New(sqlguard.Config{DB: db.DB, Dialect: db.dialect, Table: db.schema + ".m"})
		require.NoError(t, err)
		for _, definition := range map[sqlguard.Dialect][]string{
			sqlguard.PostgreSQL: {
				`CREATE TABLE m (resource TEXT COLLATE "C" NOT NULL PRIMARY KEY, token BIGINT NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991))`,
				"CREATE TABLE m (resource VARCHAR(1024) UNIQUE, token INT8, at TIMESTAMPTZ DEFAULT now())",
				"CREATE TABLE m (resource VARCHAR UNIQUE, token INT8)",
			},
			sqlguard.SQLite: {
				"CREATE TABLE m (resource TEXT COLLATE BINARY NOT NULL PRIMARY KEY," +
					" token INTEGER NOT NULL CHECK (typeof(token) = 'integer' AND token BETWEEN 1 AND 9007199254740991))",
				"CREATE TABLE m (Resource VARCHAR(1024) UNIQUE, Token BIGINT, at TEXT DEFAULT CURRENT_TIMESTAMP)",
				"CREATE TABLE m (resource TEXT PRIMARY KEY, token INT) STRICT, WITHOUT ROWID",
				"CREATE TABLE m (resource TEXT COLLATE NOCASE, token INT); CREATE UNIQUE INDEX m_key ON m (resource COLLATE BINARY)",
			},
			sqlguard.MySQL: {
				"CREATE TABLE m (resource VARBINARY(1024) NOT NULL PRIMARY KEY," +
					" token BIGINT NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991)) ENGINE=InnoDB ROW_FORMAT=DYNAMIC",
				"CREATE TABLE m (Resource VARBINARY(2000) UNIQUE, Token BIGINT, at TIMESTAMP DEFAULT CURRENT_TIMESTAMP)",
				"CREATE TABLE m (resource VARBINARY(1024) PRIMARY KEY, token BIGINT UNSIGNED, KEY (token)) PARTITION BY KEY (resource) PARTITIONS 3",
			},
		}[db.dialect] {
			t.Run(definition, func(t *testing.T) {
				for statement := range strings.SplitSeq(definition, "; ") {
					db.exec(t, statement)
				}
				defer db.exec(t, "DROP TABLE m")
				require.NoError(t, g.CreateTable(ctx))
				for _, tok := range []fencing.Token{9, 10, 1767225600000042} {
					require.NoError(t, g.Admit(ctx, "r", tok))
					require.NoError(t, g.Check(ctx, "r", tok))
					assert.ErrorIs(t, g.Check(ctx, "r", tok-1), fencing.ErrStale)
					assert.NoError(t, g.Check(ctx, "R", 1), "another resource")
					_, err := g.Forget(ctx, "R")
					assert.NoError(t, err)
					assert.ErrorIs(t, g.Check(ctx, "r", tok-1), fencing.ErrStale, "only R was forgotten")
				}
			})
		}
	})
}
