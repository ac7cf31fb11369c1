package tracefile

import "testing"

func TestTaskName(t *testing.T) {
	for _, c := range []struct {
		name string
		room int
		want string
	}{
		{"main.worker", 11, "worker"},
		{"main.TestFoo", 11, "TestFoo"},
		{"main.(*T).run.func2", 14, "(*T).run.func2"},
		{"main.(*T).run.func2", 11, "T.run.func2"},
		{"main.(*T).run.func2", 10, "run.func2"},
		{"main.T.run.func2", 10, "run.func2"},
		{"main.run.func2", 8, "un.func2"},
		{"net/http.(*conn).serve", 18, "http.(*conn).serve"},
		{"net/http.(*conn).serve", 16, "(*conn).serve"},
		{"net/http.(*conn).serve", 11, "conn.serve"},
		{"net/http.(*conn).serve", 9, "serve"},
		{"example.com/mod/v2.serve", 11, "mod.serve"},
		{"example.com/mod/v2.serve", 8, "serve"},
		{"main.(*Set[...]).Run", 11, "Set.Run"},
		{"main.Map[...].func1", 16, "Map[...].func1"},
		{"main.Map[...].func1", 11, "Map.func1"},
		{"main.(*Server).Shutdown-fm", 16, "Server.Shutdown"},
		{"main.glob..func1", 11, "glob..func1"},
		{"main.main.func1", 11, "main.func1"},
		{"main.main.gowrap1", 11, "ain.gowrap1"},
		{"main.init.0.func1", 11, "nit.0.func1"},
		{"mod.TestReadFileSlowly", 11, "FileSlowly"},
		{"mod.TestReadDirSlowly", 11, "DirSlowly"},
		{"main.(*Server).handleConnection.func12", 11, "tion.func12"},
		{"main.größenänderung", 7, "nderung"},
		{"go", 11, "go"},
	} {
		if got := taskName(c.name, true, c.room); got != c.want || len(got) > c.room {
			t.Errorf("%s in %d columns: %q, want %q", c.name, c.room, got, c.want)
		}
	}
	if got := taskName("connection-17", false, 11); got != "connection-" {
		t.Errorf("a name that was given: %q", got)
	}
}

func TestShortPath(t *testing.T) {
	for name, want := range map[string]string{
		"main.main":                          "main.main",
		"net/http.(*conn).serve":             "http.(*conn).serve",
		"example.com/mod/v2.F":               "mod.F",
		"example.com/v2x.F":                  "v2x.F",
		"gopkg.in/yaml.v3.Unmarshal":         "yaml.v3.Unmarshal",
		"example.com/m.F[example.com/n.T]":   "m.F[example.com/n.T]",
		"example.com/mod/v2.(*T).Write.func": "mod.(*T).Write.func",
		"v2.F":                               "v2.F",
	} {
		if got := shortPath(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
