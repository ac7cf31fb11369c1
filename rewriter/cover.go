package rewriter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ftgo/ftgo/rewriter/internal/toolexec"
)

// overlayEnv is the variable that tells the path of the overlay to cover.
const overlayEnv = "FTGO_OVERLAY"

// cover runs cmd/cover. cmd/cover does not know overlays, so cover gives it the overlay's files. It
// also leaves what ftgo adds to a program out of the coverage.
func cover(args []string) error {
	i := slices.Index(args, "-outfilelist")
	overlay := os.Getenv(overlayEnv)
	if i < 0 || i+2 > len(args) || overlay == "" {
		return toolexec.Exec(args)
	}
	replace, err := readOverlay(overlay)
	if err != nil {
		return err
	}
	list, err := os.ReadFile(args[i+1])
	if err != nil {
		return err
	}
	// The file of counters comes first, then one file for each input.
	out := strings.Split(strings.TrimSpace(string(list)), "\n")
	if len(out) != len(args)-i-1 {
		return fmt.Errorf("cmd/cover is to write %d files for %d: this is not a Go release that this ftgo knows", len(out), len(args)-i-2)
	}
	covered := args[: i+2 : i+2]
	outputs := out[:1:1]
	for k, name := range args[i+2:] {
		real, ok := replace[name]
		if !ok {
			real = name
		}
		if filepath.Base(name) != autoFile {
			covered = append(covered, real)
			outputs = append(outputs, out[k+1])
			continue
		}
		src, err := os.ReadFile(real)
		if err != nil {
			return err
		}
		if err := os.WriteFile(out[k+1], src, 0o666); err != nil {
			return err
		}
	}
	if len(outputs) < len(out) {
		if err := os.WriteFile(args[i+1], []byte(strings.Join(outputs, "\n")+"\n"), 0o666); err != nil {
			return err
		}
	}
	if path := toolexec.ImportPath(); isLibrary(path) && strings.Contains("/"+path, "/_ftgo/") {
		if m := slices.Index(covered, "-mode"); m >= 0 {
			covered[m+1] = "regonly" // without counters
		}
	}
	return toolexec.Exec(covered)
}
