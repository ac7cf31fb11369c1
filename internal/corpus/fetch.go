// Package corpus fetches real modules, and builds and tests them with hooks.
package corpus

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// base returns the name that the directory of a module's checkout has. Some tests depend on it.
func base(module string) string {
	path, _, _ := strings.Cut(module, "@")
	elems := strings.Split(path, "/")
	for i := len(elems) - 1; i > 0; i-- {
		if v := elems[i]; len(v) < 2 || v[0] != 'v' || v[1] < '0' || v[1] > '9' {
			return v
		}
	}
	return elems[0]
}

// Fetch returns a directory with a writable copy of a module, "path@version", with its dependencies
// downloaded. The copy stays in the user's cache directory, and is fetched once.
func Fetch(module string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "ftgo", "modules", strings.ReplaceAll(module, "/", "_"), base(module))
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return dir, nil
	}
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	var info struct{ Dir, Error string }
	if jerr := json.Unmarshal(out, &info); jerr != nil || info.Dir == "" {
		return "", fmt.Errorf("%s cannot be fetched: %v %s", module, err, info.Error)
	}
	tmp := dir + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(tmp), 0o777); err != nil {
		return "", err
	}
	if err := os.CopyFS(tmp, os.DirFS(info.Dir)); err != nil {
		return "", err
	}
	// Files of the module cache are read-only.
	err = filepath.WalkDir(tmp, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o777)
		}
		return os.Chmod(path, 0o666)
	})
	if err != nil {
		return "", err
	}
	// The tests of testify need a directory that the module does not hold.
	if strings.Contains(module, "stretchr/testify@") {
		if err := os.MkdirAll(filepath.Join(tmp, "_codegen"), 0o777); err != nil {
			return "", err
		}
	}
	list := exec.Command("go", "list", "-deps", "-test", "./...")
	list.Dir = tmp
	list.Env = append(os.Environ(), "GOWORK=off")
	if out, err := list.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the dependencies of %s cannot be fetched: %w: %s", module, err, out)
	}
	return dir, os.Rename(tmp, dir)
}
