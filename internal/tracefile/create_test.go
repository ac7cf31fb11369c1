//go:build unix

package tracefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// other is a user that no test runs as.
const other = 65534

// sticky makes a directory like /tmp.
func sticky(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tmp")
	check(t, os.Mkdir(dir, 0o777))
	check(t, os.Chmod(dir, 0o777|fs.ModeSticky))
	return dir
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// content creates path, writes to it, and returns what is in the file then.
func content(t *testing.T, path, file string) string {
	t.Helper()
	f, err := Create(path)
	check(t, err)
	_, err = f.WriteString("new")
	check(t, err)
	check(t, f.Close())
	b, err := os.ReadFile(file)
	check(t, err)
	return string(b)
}

func TestCreate(t *testing.T) {
	dir := sticky(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	check(t, os.WriteFile(in("old"), []byte("old content"), 0o600))
	check(t, os.Chmod(in("old"), 0o640))
	check(t, os.Symlink("old", in("link")))
	check(t, os.Symlink(in("fresh"), in("dangling")))
	check(t, os.Mkdir(in("sub"), 0o755))
	check(t, os.Symlink("sub/../sub", in("subs")))
	for _, c := range []struct{ path, file string }{
		{"new", "new"},
		{"old", "old"},
		{"link", "old"},
		{"dangling", "fresh"},
		{"subs/./a", "sub/a"},
		{"subs/../b", "b"},
	} {
		if got := content(t, in(c.path), in(c.file)); got != "new" {
			t.Errorf("%s: %s holds %q", c.path, c.file, got)
		}
	}
	for name, mode := range map[string]fs.FileMode{"new": 0o600, "fresh": 0o600, "old": 0o640} {
		if info, err := os.Stat(in(name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v; want mode %v", name, info.Mode(), err, mode)
		}
	}
	t.Chdir(in("sub"))
	for _, c := range []struct{ path, file string }{{"r", "sub/r"}, {"../link", "old"}, {"../../tmp/c", "c"}} {
		if got := content(t, c.path, in(c.file)); got != "new" {
			t.Errorf("%s: %s holds %q", c.path, c.file, got)
		}
	}
	check(t, os.Symlink("loop", in("loop")))
	for path, want := range map[string]error{
		in("sub"):         syscall.EISDIR,
		in("sub/.."):      syscall.EISDIR,
		in("loop"):        syscall.ELOOP,
		in("nodir/x"):     syscall.ENOENT,
		in("old/x"):       syscall.ENOTDIR,
		in("nodir") + "/": nil,
		"":                nil,
	} {
		f, err := Create(path)
		if err == nil {
			f.Close()
			t.Errorf("%q was created", path)
		} else if want != nil && !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", path, err, want)
		}
	}
}

// A trace can go to what is no regular file.
func TestCreateDevices(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	check(t, syscall.Mkfifo(fifo, 0o600))
	for _, path := range []string{"/dev/null", fifo} {
		f, err := Create(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if _, err := f.WriteString("x"); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		check(t, f.Close())
	}
	// /dev/stdout is a link to such a link. What a pipe's says is no path.
	if info, err := os.Lstat("/proc/self/fd/0"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Skip("no /proc")
	}
	r, w, err := os.Pipe()
	check(t, err)
	defer r.Close()
	link := filepath.Join(t.TempDir(), "link")
	check(t, os.Symlink("/proc/self/fd/"+strconv.Itoa(int(w.Fd())), link))
	f, err := Create(link)
	check(t, err)
	_, err = f.WriteString("through")
	check(t, err)
	check(t, f.Close())
	check(t, w.Close())
	buf := make([]byte, 100)
	if n, err := r.Read(buf); string(buf[:n]) != "through" {
		t.Errorf("the pipe has %q, %v", buf[:n], err)
	}
}

// What another user left in a sticky directory is neither followed nor written.
func TestCreateAmongOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of another user")
	}
	dir := sticky(t)
	home := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	secret := filepath.Join(home, "secret")
	check(t, os.WriteFile(secret, []byte("secret"), 0o600))
	check(t, os.WriteFile(in("theirs"), []byte("theirs"), 0o666))
	check(t, os.Symlink(secret, in("link")))
	check(t, os.Symlink(filepath.Join(home, "absent"), in("dangling")))
	check(t, os.Symlink(home, in("home")))
	check(t, os.Mkdir(in("sub"), 0o777))
	check(t, os.Symlink(secret, in("sub/link")))
	for _, name := range []string{"theirs", "link", "dangling", "home", "sub", "sub/link"} {
		check(t, os.Lchown(in(name), other, other))
	}
	check(t, os.Symlink(in("link"), filepath.Join(home, "chain")))
	for path, at := range map[string]string{
		in("theirs"):                 "theirs",
		in("link"):                   "link",
		in("dangling"):               "dangling",
		in("home/secret"):            "home",
		in("home/x/y"):               "home",
		in("sub/../link"):            "link",
		filepath.Join(home, "chain"): "link",
	} {
		f, err := Create(path)
		if err == nil {
			f.Close()
			t.Errorf("%s was created", path)
		} else if !strings.Contains(err.Error(), in(at)) || !strings.Contains(err.Error(), "user 65534") {
			t.Errorf("%s: %v, want one that names %s and its user", path, err, in(at))
		}
	}
	for file, want := range map[string]string{secret: "secret", in("theirs"): "theirs"} {
		if b, err := os.ReadFile(file); err != nil || string(b) != want {
			t.Errorf("%s holds %q now, %v", file, b, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(home, "absent")); err == nil {
		t.Error("a file was created through a link")
	}
	// The directory's owner may put links and files there, and so may every user in others.
	check(t, os.Chown(dir, other, other))
	for path, file := range map[string]string{in("link"): secret, in("theirs"): in("theirs"), in("sub/link"): secret} {
		if got := content(t, path, file); got != "new" {
			t.Errorf("%s: %q", path, got)
		}
	}
	check(t, os.Chown(dir, 0, 0))
	check(t, os.Chmod(dir, 0o755|fs.ModeSticky))
	if got := content(t, in("link"), secret); got != "new" {
		t.Errorf("where only the owner may write: %q", got)
	}
}
